package constrain

import (
	"github.com/antigravity-go/antigravity/internal/calls"
	"github.com/antigravity-go/antigravity/internal/grammar"
)

// inChannels returns the symbol of answers of messages in channels, as OpenAI's open models write them (harmony):
//
//	answer  = thought answer | preamble answer | text | call
//	thought = "<|channel|>analysis<|message|>" … "<|end|><|start|>assistant"
//	text    = "<|channel|>final<|message|>" …
//	call    = "<|channel|>commentary to=functions.f <|constrain|>json<|message|>" {…}
//
// Thoughts and preambles are any text. If a call is required, there is no text to the user, and if the text has a form, it stands alone after
// the thoughts. each are the ways of calling a function: without them there are no calls.
func (w *callWriter) inChannels(text grammar.Symbol, each grammar.Alternatives) grammar.Symbol {
	ch, free := w.family.Channels, grammar.Text(w.language.Text)
	answer := w.grammar.Add(nil)
	message := func(a calls.Around, within grammar.Symbol, then ...grammar.Symbol) []grammar.Symbol {
		return append(append(append(w.parts(a.Before), within), w.parts(a.After)...), then...)
	}
	all := append(grammar.Alternatives{message(ch.Thought, free, grammar.Call(answer, 0))}, each...)
	if !w.required() {
		all = append(all, message(ch.Text, text))
		if w.options.Answer == nil {
			all = append(all, message(ch.Preamble, free, grammar.Call(answer, 0)))
		}
	}
	w.grammar.Define(answer, all)
	return grammar.Call(answer, 0)
}

// Whole reports whether the constraint is one of whole answers: of their thoughts, too, and of the marks around messages.
func (c *constraint) Whole() bool {
	return c.form == toolsForm && calls.Format(c.made.CallFormat()).Family().Channels != nil
}
