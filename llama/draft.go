package llama

// Drafter proposes tokens that may come next, so that the model can compute several tokens of an answer in one step. A draft never changes
// the answer: each token is chosen as without a draft, and a proposal is taken if it equals the token that was chosen. A bad proposal costs
// time, a good one saves it.
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
