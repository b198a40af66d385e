package llama

// Constraint says which answers are allowed, token by token. Package constrain makes constraints of choices, regular expressions,
// grammars, JSON Schemas and functions to call; a program may implement its own.
//
// A Constraint is immutable and serves any number of answers at once, on any goroutines.
type Constraint interface {
	// Start returns the matcher of a new answer.
	Start() Matcher
}

// TokenizerConstraint is a Constraint that was made for the vocabulary of one tokenizer, as those of package constrain are. Sessions and pools
// ask it once before an answer and refuse it with a *ParamError if it is for another vocabulary. A Constraint without the method is used
// with any model.
type TokenizerConstraint interface {
	Constraint
	// Fits reports whether the constraint can be used with a tokenizer: whether each token of it has the number and the text that the
	// constraint knows.
	Fits(t *Tokenizer) bool
}

// WholeConstraint is a Constraint that says whether its matchers see the whole answer of a model that answers in channels (see HarmonyCalls):
// thoughts and the marks around messages, too. The matchers of a Constraint without the method see what comes after the thoughts.
type WholeConstraint interface {
	Constraint
	// Whole reports whether the matchers see the whole answer.
	Whole() bool
}

// checkConstraint refuses a constraint that was made for another vocabulary.
func checkConstraint(c Constraint, t *Tokenizer) error {
	if made, ok := c.(TokenizerConstraint); ok && !made.Fits(t) {
		return &ParamError{"Params.Constraint", "made for another tokenizer", "one that was made with this model's Tokenizer, or with one of an equal vocabulary"}
	}
	return nil
}

// Matcher follows one answer and knows which tokens may come next. One goroutine at a time uses it, not always the same one.
type Matcher interface {
	// Allowed replaces what set holds by the tokens that may come next, and notes with SetEnd whether the answer may end here. At
	// least one of the two is possible. set has the vocabulary's size. An error ends the answer with it.
	Allowed(set *TokenSet) error
	// Accept notes that the answer goes on with a token that is not an end token. A token that is not allowed is an error and
	// changes nothing.
	Accept(t Token) error
	// Forced appends to dst the tokens of the text that has no alternative here, as the tokenizer writes that text, and returns dst. It
	// appends nothing if there is a choice, and it changes no state: tokens that are taken are accepted one by one.
	Forced(dst []Token) []Token
	// Clone returns a matcher that goes on from here on its own.
	Clone() Matcher
}

// TokenSet is the choice that a Matcher allows: some tokens of a vocabulary, and whether the answer may end. The zero value is an empty set
// of an empty vocabulary.
type TokenSet struct {
	words []uint64 // a bit for each token: size/64 words, rounded up; bits from size on are 0
	size  int
	end   bool
}

// NewTokenSet returns an empty set of a vocabulary with size entries.
func NewTokenSet(size int) *TokenSet {
	return &TokenSet{words: make([]uint64, (size+63)/64), size: size}
}

// Size returns how many entries the vocabulary has.
func (s *TokenSet) Size() int { return s.size }

// Words returns the set itself: token t is bit t%64 of word t/64. Changes must leave the bits from Size on 0.
func (s *TokenSet) Words() []uint64 { return s.words }

// Has reports whether a token of the vocabulary is in the set.
func (s *TokenSet) Has(t Token) bool {
	return t >= 0 && int(t) < s.size && s.words[t/64]>>(t%64)&1 != 0
}

// Add puts a token of the vocabulary into the set.
func (s *TokenSet) Add(t Token) { s.words[t/64] |= 1 << (t % 64) }

// Remove takes a token of the vocabulary out of the set.
func (s *TokenSet) Remove(t Token) { s.words[t/64] &^= 1 << (t % 64) }

// Clear empties the set and unsets the end.
func (s *TokenSet) Clear() {
	clear(s.words)
	s.end = false
}

// SetEnd notes whether the answer may end.
func (s *TokenSet) SetEnd(may bool) { s.end = may }

// End reports whether the answer may end.
func (s *TokenSet) End() bool { return s.end }
