package constrain

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"unicode/utf8"

	"github.com/antigravity-go/antigravity/internal/grammar"
	"github.com/antigravity-go/antigravity/internal/jsonexpr"
	"github.com/antigravity-go/antigravity/internal/regular"
	"github.com/antigravity-go/antigravity/llama"
)

// Choice allows one of several answers, word for word. To compare how likely the model thinks them instead, see
// llama.Session.Rank.
func Choice(t *llama.Tokenizer, options ...string) (llama.Constraint, error) {
	var content []byte
	for _, o := range options {
		content = append(strconv.AppendQuote(content, o), ',')
	}
	return made(compile(context.Background(), t, "choice", content, func(l *jsonexpr.Language, _ *grammar.Grammar) (grammar.Symbol, error) {
		if len(options) == 0 {
			return grammar.Symbol{}, errors.New("there are no options")
		}
		all := make([]regular.Expr, len(options))
		for i, o := range options {
			if !utf8.ValidString(o) {
				return grammar.Symbol{}, fmt.Errorf("option %d, %q, is not UTF-8", i, o)
			}
			all[i] = l.Arena.Literal(o)
		}
		return grammar.Text(l.Arena.Or(all...)), nil
	}))
}
