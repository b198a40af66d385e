package llama

import (
	"bytes"
	"slices"
	"strings"

	"github.com/antigravity-go/antigravity/internal/thoughts"
)

// A thinker knows the marks around a model's thoughts, and finds out from a prompt whether a thought is open: from tokens, if the marks are
// tokens, since no text of a user has these.

// thinker is what a tokenizer knows of its model's thoughts. It is immutable.
//
// Invariant: ids[i] is the token of the mark texts[i].
type thinker struct {
	format  *thoughts.Format // nil: the model marks no thoughts
	ids     []Token
	texts   []string
	open    []Token // what opens a thought
	close   []Token // what closes it when it has had its budget, with the white space that leads to the answer
	after   []Token // the end of close: what stands between the mark and the answer
	leave   []Token // what closes it if any message may follow; nil: the model has no channels
	channel []Token // the tokens with which the name of the thought's channel may begin; nil: the model has no channels
	without []Token // what opens an answer without a thought; nil: nothing does
}

// newThinker returns the thinker of a tokenizer and its chat template.
func newThinker(t *Tokenizer, template string) thinker {
	added := func(token string) bool { return slices.Contains(t.vocabulary.Added(), token) }
	k := thinker{format: thoughts.Of(template, added)}
	if k.format == nil {
		return k
	}
	for _, mark := range k.format.Marks() {
		if id, ok := t.ID(mark); ok && added(mark) {
			k.ids, k.texts = append(k.ids, id), append(k.texts, mark)
		}
	}
	k.open = k.encode(t, k.format.Open+k.format.Label)
	k.after = k.encode(t, k.format.AfterClose)
	k.close = slices.Concat(k.encode(t, k.format.BeforeClose), k.encode(t, k.format.Close), k.after)
	k.without = k.encode(t, k.format.Begin())
	if k.format.Channel != "" {
		k.leave = k.encode(t, k.format.Close+k.format.Next)
		for n := range k.format.Channel {
			if id, ok := t.ID(k.format.Channel[:n+1]); ok {
				k.channel = append(k.channel, id)
			}
		}
	}
	return k
}

// encode returns the tokens of a text of the format's, in which marks are their tokens.
func (k *thinker) encode(t *Tokenizer, text string) (tokens []Token) {
	for text != "" {
		at, which := len(text), -1
		for i, mark := range k.texts {
			if from := strings.Index(text, mark); from >= 0 && from < at {
				at, which = from, i
			}
		}
		if at > 0 {
			tokens = append(tokens, t.EncodeContinuation(text[:at])...)
		}
		if which < 0 {
			break
		}
		tokens = append(tokens, k.ids[which])
		text = text[at+len(k.texts[which]):]
	}
	return tokens
}

// mark returns the mark that a token is, "" if it is no mark.
func (k *thinker) mark(t Token) string {
	if i := slices.Index(k.ids, t); i >= 0 {
		return k.texts[i]
	}
	return ""
}

// feed gives a token to a splitter. It returns the bytes of the token in the memory of scratch, and no bytes for a mark.
func (k *thinker) feed(t *Tokenizer, s *thoughts.Splitter, token Token, scratch []byte) []byte {
	if mark := k.mark(token); mark != "" && s.Mark(mark) {
		return scratch[:0]
	}
	scratch = t.AppendBytes(scratch[:0], token)
	s.Write(scratch)
	return scratch
}

// openAtEnd is how many of a prompt's last tokens are looked at for a mark that is text.
const openAtEnd = 32

// opens reports whether a prompt leaves a thought open, and whether something of the thought is there. If the marks are tokens, the last
// one of them says so: a user's text has no such tokens. A mark that is text has to stand at the prompt's end, with nothing but white space
// after it.
func (k *thinker) opens(t *Tokenizer, prompt []Token) (open, begun bool) {
	if k.format == nil {
		return false, false
	}
	if k.leave != nil {
		s := k.lastMessage(t, prompt)
		thought, _ := s.Take()
		return s.Thinking(), s.Thinking() && len(bytes.TrimRight(thought, white)) > 0
	}
	if slices.Contains(k.texts, k.format.Open) && slices.Contains(k.texts, k.format.Close) {
		for i, token := range slices.Backward(prompt) {
			if mark := k.mark(token); mark != "" {
				open = mark == k.format.Open
				return open, open && k.begins(t, prompt[i+1:])
			}
		}
		return false, false
	}
	var end []byte
	for _, token := range prompt[max(len(prompt)-openAtEnd, 0):] {
		if mark := k.mark(token); mark != "" {
			end = append(end, mark...)
		} else {
			end = t.AppendBytes(end, token)
		}
	}
	return bytes.HasSuffix(bytes.TrimRight(end, white), []byte(k.format.Open)), false
}

// lastMessage returns a splitter that has read the message with which a prompt ends, of a model that answers in channels.
func (k *thinker) lastMessage(t *Tokenizer, prompt []Token) (s thoughts.Splitter) {
	s.Start(k.format, k.texts, false)
	from := len(prompt)
	for i, token := range slices.Backward(prompt) {
		if mark := k.mark(token); mark != "" && strings.HasPrefix(k.format.Next, mark) {
			from = i
			break
		}
	}
	var b []byte
	for _, token := range prompt[from:] {
		b = k.feed(t, &s, token, b)
	}
	return s
}

// answers reports whether a prompt ends within the answer's text, of a model that answers in channels.
func (k *thinker) answers(t *Tokenizer, prompt []Token) bool {
	if k.leave == nil {
		return false
	}
	s := k.lastMessage(t, prompt)
	return s.Answering()
}

// closed reports whether a prompt ends with a thought that is closed, and with nothing but white space after it, as templates write it for a model
// that is not to think. It finds marks that are tokens alone.
func (k *thinker) closed(t *Tokenizer, prompt []Token) bool {
	var b []byte
	for _, token := range slices.Backward(prompt) {
		if mark := k.mark(token); mark != "" {
			return mark == k.format.Close
		}
		if b = t.AppendBytes(b[:0], token); len(bytes.TrimRight(b, white)) > 0 {
			return false
		}
	}
	return false
}

// begins reports whether something of a thought is in the tokens after the mark that opens it.
func (k *thinker) begins(t *Tokenizer, after []Token) bool {
	var text, b []byte
	for _, token := range after {
		b = t.AppendBytes(b[:0], token)
		if text = append(text, b...); len(text) > len(k.format.Label) && len(bytes.TrimRight(text[len(k.format.Label):], white)) > 0 {
			return true
		}
	}
	text = bytes.TrimPrefix(text, []byte(k.format.Label))
	return len(bytes.TrimRight(text, white)) > 0
}

const white = " \t\r\n"

// closes reports whether an answer closes a thought that a prompt has opened.
func (k *thinker) closes(t *Tokenizer, answer []Token) bool {
	if k.leave != nil {
		i := slices.IndexFunc(answer, func(t Token) bool { return k.mark(t) != "" })
		return i >= 0 && k.mark(answer[i]) == k.format.Close
	}
	var s thoughts.Splitter
	var b []byte
	s.Start(k.format, k.texts, true)
	for _, token := range answer {
		b = k.feed(t, &s, token, b)
		if !s.Thinking() {
			return true
		}
	}
	return false
}

// goOn returns a prompt that goes on with a thought, as if the model had thought it: with what opens a thought, unless the end of the prompt
// does, the text of the thought and, if closed is set, what closes it. It is for answers with a given beginning: without it the beginning
// would be a part of the thought that some templates open. A prompt that opens no thought is returned as it is if the text is empty, and so
// is any prompt for a model that marks no thoughts.
func (k *thinker) goOn(t *Tokenizer, prompt []Token, text string, closed bool) []Token {
	open, _ := k.opens(t, prompt)
	if k.format == nil || !open && text == "" && (!closed || k.without == nil || k.answers(t, prompt)) {
		return prompt
	}
	prompt = slices.Clip(prompt)
	if !open && text == "" {
		return append(prompt, k.without...)
	}
	if !open {
		prompt = append(append(prompt, k.open...), k.encode(t, k.format.BeforeClose)...)
	}
	if text != "" {
		prompt = append(prompt, t.EncodeContinuation(text)...)
	}
	if closed {
		prompt = append(prompt, k.close...)
	}
	return prompt
}
