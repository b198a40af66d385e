package llama

import "slices"

// Thinking says whether a model thinks before it answers, and for how long. The zero value leaves both to the model and to its chat
// template. For a model that does not think any value is right, and changes nothing.
type Thinking struct {
	// Enabled says whether the model thinks; nil: as its template has it. A template learns of it as enable_thinking, or as thinking,
	// if it reads one of these variables. With false, a thought that begins all the same is closed at once.
	Enabled *bool
	// Budget is the most tokens of a thought, without the marks around it; 0: no bound. A thought that has them is closed, and the answer
	// follows.
	Budget int
	// Effort is the word that a template learns as reasoning_effort, if it reads that variable: "low", "medium", "high". "" leaves it
	// undefined. For models that answer in channels (HarmonyCalls), which know these three words and always think, words for less than "low"
	// are "low", words for more than "high" are "high", and Enabled false is "low", too.
	Effort string
}

// off reports whether no thought is wanted.
func (t *Thinking) off() bool { return t.Enabled != nil && !*t.Enabled }

// Thinks reports whether the model's thoughts are told from its answers: whether its chat template, or its vocabulary, has marks for them.
func (t *Tokenizer) Thinks() bool { return t.thinker.format != nil }

// thinkingConstraint returns what an answer of m to a prompt keeps to: the bounds of the thought, and c after the thought. It is c itself
// if there is nothing to bound.
func thinkingConstraint(m *Model, c Constraint, o Thinking, prompt []Token) Constraint {
	k := &m.tokenizer.thinker
	if k.format == nil || c == nil && o.Budget == 0 && !o.off() || slices.ContainsFunc(k.close, m.IsEnd) {
		return c
	}
	open, _ := k.opens(m.tokenizer, prompt)
	answers := k.answers(m.tokenizer, prompt)
	whole, ok := c.(WholeConstraint)
	if ok = ok && whole.Whole() && k.leave != nil; answers && !ok {
		return c
	}
	return &thoughtful{c, m.tokenizer, o, open, k.closed(m.tokenizer, prompt), answers, ok}
}
