// Package constrain makes a model answer in a form that a program can use: one of several choices, a text of a regular expression or
// of a grammar, JSON that fits a schema or a Go type, calls of functions. Use it whenever a program, and not a person, reads the answer.
//
//	answer, err := constrain.JSONFor[Person](model.Tokenizer())
//	…
//	piece, err := llama.Collect(session.Chat(ctx, history, llama.Params{Constraint: answer}))
//	…
//	err = json.Unmarshal([]byte(piece.Text), &person)
//
// Before each token is chosen, the tokens that would break the form are left out, so that the answer has the form whatever the model would
// rather say. Text without an alternative, such as the name of a property, is not chosen at all: it is computed together with the token
// before it, which is faster than an answer without a constraint.
//
// The form always holds. A keyword of a schema, or a construct of a pattern, that cannot be guaranteed is an *UnsupportedError that names
// it. Two things end an answer before its form is complete: Params.MaxTokens and a full context. Piece.Stop says so.
//
// # How JSON is written
//
// A schema is about values, a constraint about texts. Every text that a constraint allows is the text of a value that fits the schema;
// not every text of every such value is allowed:
//
//   - The members of an object come in any order if its schema lists at most some dozens. They come in the order of the schema if it lists
//     more, with SchemaOptions.Ordered, for a Go type, and in the arguments of functions.
//   - A name that the schema lists comes at most once. A name that it does not list may come again, since there are too many such names to
//     remember. Most parsers then take the last member. For a parser that refuses repeated names, set additionalProperties to false. No name
//     counts twice towards minProperties.
//   - Between two parts of a text there is nothing, one blank or tab, or a line feed and up to 64 blanks or tabs: an answer cannot go on
//     with white space for ever. For a Go type, and in the arguments of functions, there is nothing, or a blank after each colon and
//     comma: see Spaces.
//   - Strings with at most a length demanded of them may be written with any escapes; an escape counts as the character that it stands for.
//     Names of members, and strings with a pattern, a format or listed values, are written in one way: with an escape only for the quote,
//     the backslash and control characters.
//   - A number that is begun can be ended: its text so far begins a plain number of the schema's range, and has no more digits
//     than float64s differ in. An exponent comes only from 1e16 on and below 1e-4. Whole numbers have neither a fraction nor an
//     exponent, and are within ±2⁵³ if the schema has no bounds.
//   - Patterns are regular expressions of ECMA-262 that match anywhere in a string, as JSON Schema has it. A pattern that is not regular
//     (with a reference to a group, say) is an UnsupportedError.
//   - Formats are kept, not taken as remarks. Where all that an RFC allows would be no regular language or of little use, a format is what
//     programs use of it: numbers have at most nine digits, hostname has no encoded labels (xn--), idn-hostname has letters of the large scripts, a quoted local part of
//     an e-mail address has no backslashes.
//
// Constraints are compiled for the vocabulary of one tokenizer, and serve every model with an equal vocabulary: with any other, sessions
// and pools refuse them with a *llama.ParamError. They are immutable, safe for concurrent use, and serve any number
// of answers at once. The ones made last are kept with the tokenizer, so that making the same one again costs next to nothing.
package constrain

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"sync/atomic"

	"github.com/antigravity-go/antigravity/internal/grammar"
	"github.com/antigravity-go/antigravity/internal/jsonexpr"
	"github.com/antigravity-go/antigravity/internal/scope"
	"github.com/antigravity-go/antigravity/internal/tokenmask"
	"github.com/antigravity-go/antigravity/llama"
)

// constraint is a llama.Constraint: the texts of a language.
type constraint struct {
	language *tokenmask.Language
	made     *llama.Tokenizer    // the constraint holds for its vocabulary
	form     string              // what it was made of
	left     []*UnsupportedError // what of a schema it does not keep
	kept     *cache              // the cache that it was put into
	measured atomic.Int64        // its bytes when the cache was trimmed for it
}

// Start returns the matcher of a new answer.
func (c *constraint) Start() llama.Matcher { return &matcher{of: c, text: c.language.Start()} }

// Fits reports whether t has the vocabulary that the constraint was made for.
func (c *constraint) Fits(t *llama.Tokenizer) bool {
	return t == c.made || fingerprint(t) == fingerprint(c.made)
}

// matcher is a llama.Matcher.
type matcher struct {
	of     *constraint
	text   *tokenmask.Matcher
	forced []int32 // memory of Forced
}

func (m *matcher) Allowed(set *llama.TokenSet) error {
	set.Clear()
	end, err := m.text.Allowed(set.Words())
	set.SetEnd(end)
	m.of.kept.grown(m.of)
	return m.explain(err)
}

func (m *matcher) Accept(t llama.Token) error { return m.explain(m.text.Accept(int32(t))) }

func (m *matcher) Forced(dst []llama.Token) []llama.Token {
	m.forced = m.text.Forced(m.forced[:0])
	for _, t := range m.forced {
		dst = append(dst, llama.Token(t))
	}
	return dst
}

func (m *matcher) Clone() llama.Matcher { return &matcher{of: m.of, text: m.text.Clone()} }

// compile returns the constraint of a grammar that build makes, or the one that was made of the same kind and content in the same scope of ctx
// before. what names it in errors. An error of ctx ends the making.
func compile(ctx context.Context, t *llama.Tokenizer, what string, content []byte, build func(l *jsonexpr.Language, g *grammar.Grammar) (grammar.Symbol, error)) (*constraint, error) {
	v := vocabularyOf(t)
	key := keyOf(scope.Of(ctx), what, content)
	if c := v.compiled.get(key); c != nil {
		return c, nil
	}
	l := v.base.Clone()
	g := grammar.New(l.Arena)
	err := ctx.Err()
	var start grammar.Symbol
	if err == nil {
		start, err = build(l, g)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	if v.leadingSpace { // the first token of a text may carry a space that is not part of the text
		start = grammar.Call(g.Add(grammar.Alternatives{{grammar.Text(l.Arena.Optional(l.Arena.Literal(" "))), start}}), 0)
	}
	g.Start = start
	language, err := tokenmask.NewLanguage(v.Vocabulary, g, v.encode)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	c := &constraint{language: language, made: t, form: what, kept: &v.compiled}
	v.compiled.put(key, c)
	return c, nil
}

// keyOf returns the key of a constraint: a hash of parts that each begin with their length, so that no scope has a key of another's.
func keyOf(scope, what string, content []byte) [sha256.Size]byte {
	var all []byte
	for _, part := range [][]byte{[]byte(scope), []byte(what), content} {
		all = append(binary.AppendUvarint(all, uint64(len(part))), part...)
	}
	return sha256.Sum256(all)
}

// made returns a constraint as the interface. It is nil if there is an error.
func made(c *constraint, err error) (llama.Constraint, error) {
	if err != nil {
		return nil, err
	}
	return c, nil
}
