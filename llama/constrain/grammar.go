package constrain

import (
	"context"
	"fmt"
	"slices"

	"github.com/antigravity-go/antigravity/internal/gbnf"
	"github.com/antigravity-go/antigravity/internal/grammar"
	"github.com/antigravity-go/antigravity/internal/jsonexpr"
	"github.com/antigravity-go/antigravity/internal/tokenmask"
	"github.com/antigravity-go/antigravity/llama"
)

// Grammar allows the texts of a grammar in GBNF, llama.cpp's notation:
//
//	root ::= "yes" | "no, because " reason
//	reason ::= [^\n]{1,80}
//
// The rule root is the whole text. A grammar that is not valid, that has a rule without an end, or that is left-recursive is an error with
// the rule and the line. A token that is no text is written as in <|python_tag|> or, by its number, <[128010]>.
func Grammar(t *llama.Tokenizer, source string) (llama.Constraint, error) {
	return GrammarContext(context.Background(), t, source)
}

// GrammarContext is Grammar for grammars that strangers write: it begins nothing once ctx has ended, and returns ctx's error.
func GrammarContext(ctx context.Context, t *llama.Tokenizer, source string) (llama.Constraint, error) {
	return made(compile(ctx, t, "grammar", []byte(source), func(_ *jsonexpr.Language, g *grammar.Grammar) (grammar.Symbol, error) {
		return gbnf.Compile(source, g, func(written string) (string, error) { return token(t, written) })
	}))
}

// token returns the characters that stand in a grammar for an added token, given by its text or, in <[ ]>, its number.
func token(t *llama.Tokenizer, written string) (string, error) {
	var id llama.Token
	if _, err := fmt.Sscanf(written, "<[%d]>", &id); err != nil {
		known := false
		if id, known = t.ID(written); !known {
			return "", fmt.Errorf("the vocabulary has no token %s", written)
		}
	}
	if !slices.Contains(t.AddedTokens(), id) {
		return "", fmt.Errorf("token %s is text, or not in the vocabulary: write what it says, in quotes", written)
	}
	return tokenmask.Mark(int32(id)), nil
}
