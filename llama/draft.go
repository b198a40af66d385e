package llama

// Drafter proposes tokens that may come next, so that the model can compute several tokens of an answer in one step. A draft never changes
// the answer: each token is chosen as without a draft, and a proposal is taken if it equals the token that was chosen. A bad proposal costs
// time, a good one saves it.
//
// The session decides how many of the proposed tokens to compute, and whether to ask at all. It measures how long steps and the Drafter take,
// and learns how often proposals are right. What wrong proposals cost is bounded: about one step in a hundred, and half a step when the
// conversation begins.
type Drafter interface {
	// Draft appends to dst the tokens that it expects after context, in order, and returns dst. It may append nothing. Tokens beyond dst's
	// capacity are not used. context is the whole conversation: the prompt and the answer so far, with the token that was chosen last.
	//
	// Draft is called on the goroutine that ranges over the answer, not necessarily at every token, and must keep neither slice.
	// Tokens that are not in the vocabulary end the proposal. The time that Draft takes is added to that of a step; it should
	// allocate nothing but what dst grows by.
	//
	// Sessions with the same Drafter may call it at the same time, which PromptLookup's allows. A Drafter that does not allow it may serve
	// one session only.
	Draft(dst, context []Token) []Token
}

// MultiDrafter returns a Drafter that stands for several. At each step of an answer the session takes the proposal of the one that promises
// most: the most tokens for the time that computing them takes, and asking for them. It learns about each of them on its own, and does not
// ask one that takes long and is seldom right. The order does not matter, except between Drafters that promise the same: then the
// first is taken. SelfDraft is left out for a model that has no head of its own: MultiDrafter(SelfDraft(), PromptLookup(LookupOptions{}))
// suits every model. Called by others than a session, Draft returns the first proposal that is not empty.
func MultiDrafter(drafters ...Drafter) Drafter {
	var m multiDrafter
	for _, d := range drafters {
		if several, ok := d.(multiDrafter); ok {
			m = append(m, several...)
		} else if d != nil {
			m = append(m, d)
		}
	}
	return m
}

// multiDrafter is the Drafter that MultiDrafter returns. Its elements are neither nil nor multiDrafters.
type multiDrafter []Drafter

func (m multiDrafter) Draft(dst, context []Token) []Token {
	had := len(dst)
	for _, d := range m {
		if dst = d.Draft(dst, context); len(dst) > had {
			break
		}
	}
	return dst
}

// draftersOf returns the Drafters that a Drafter stands for; nil stands for no Drafter.
func draftersOf(d Drafter) []Drafter {
	switch d := d.(type) {
	case nil:
		return nil
	case multiDrafter:
		return d
	}
	return []Drafter{d}
}

// insider is a Drafter that proposes by what a session holds of its conversation besides the tokens, as a model's own heads do.
type insider interface {
	Drafter
	// draftInside is Draft for a sequence, with its lock held: context is its tokens, and then those of the step that is about to be computed.
	draftInside(c *sequence, dst, context []Token) []Token
}
