package llama

// Drafter proposes tokens that may come next, so that the model computes several tokens of an answer in one step where they turn
// out to be right. A draft never changes the answer: each token is chosen as it is without one, and a proposal is taken where it
// equals the token that was chosen. A bad proposal costs time, a good one saves it.
type Drafter interface {
	// Draft appends to dst the tokens that it expects after context, the likeliest continuation in order, and returns dst; it may
	// append none. The answer has use for as many as dst has room for, cap(dst)-len(dst); further ones are left out. context is the
	// whole conversation, prompt and answer so far, the token that was chosen last included.
	//
	// Draft is called on the goroutine that ranges over the answer, not necessarily at every token, and must keep neither slice.
	// Tokens that are not in the vocabulary end the proposal. The time that Draft takes is added to that of a step; it should
	// allocate nothing but what dst grows by.
	//
	// Sessions that were given the same Drafter may call it at the same time, as PromptLookup's allows. A Drafter that does not allow
	// it serves one session.
	Draft(dst, context []Token) []Token
}
