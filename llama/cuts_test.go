package llama_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"sort"
	"testing"

	"github.com/antigravity-go/antigravity/internal/effort"
	"github.com/antigravity-go/antigravity/llama"
)

// knower is a Drafter that proposes tokens of an answer that it knows, only one in three of them right.
type knower struct {
	answer []llama.Token
	from   int
}

func (g *knower) Draft(dst, context []llama.Token) []llama.Token {
	at := len(context) - g.from
	for i := range 3 {
		if at+i < 0 || at+i >= len(g.answer) {
			break
		}
		token := g.answer[at+i]
		if (at+i)%3 == 2 {
			token ^= 1
		}
		dst = append(dst, token)
	}
	return dst
}

// rested is what must not depend on how steps were cut: the fewest tokens that Truncate accepts, the bytes of Save, and both again after
// that Truncate.
func rested(t *testing.T, s *llama.Session) string {
	t.Helper()
	state := func() [32]byte {
		var b bytes.Buffer
		if err := s.Save(&b); err != nil {
			t.Fatal(err)
		}
		return sha256.Sum256(b.Bytes())
	}
	accepts := func(n int) bool {
		f, err := s.Fork()
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		err = f.Truncate(n)
		var param *llama.ParamError
		if err != nil && !errors.As(err, &param) {
			t.Fatal(err)
		}
		return err == nil
	}
	least := func() int {
		return 1 + sort.Search(len(s.Tokens()), func(i int) bool { return accepts(i + 1) })
	}
	text := fmt.Sprintf("%d %x", least(), state())
	if err := s.Truncate(least()); err != nil {
		t.Fatal(err)
	}
	return text + fmt.Sprintf(", then %d %x", least(), state())
}

// TestCuts computes conversations of a model with sliding windows in steps of many kinds, with and without drafts: what Truncate accepts
// and what Save writes are the same.
func TestCuts(t *testing.T) {
	effort.Turn(t, 8)
	m := familyModel(t, "mistral", nil)
	tokens := make([]llama.Token, 300)
	for i := range tokens {
		tokens[i] = llama.Token(3 + i*7%60)
	}
	params := llama.Params{MaxTokens: 20, Temperature: 0}
	for _, n := range []int{15, 16, 17, 128, 143, 144, 145, 146, 147, 271, 272, 273, 274, 280} {
		prompted, answered := "", ""
		var answer []llama.Token
		for _, chunk := range []int{1, 7, 16, 64, 128, 256} {
			if chunk > n && chunk > 16 {
				continue
			}
			s := newSession(t, m, &llama.SessionOptions{Chunk: chunk})
			if err := s.Prefill(t.Context(), tokens[:n]); err != nil {
				t.Fatal(err)
			}
			f, err := s.Fork()
			if err != nil {
				t.Fatal(err)
			}
			if got := rested(t, f); prompted == "" {
				prompted = got
			} else if got != prompted {
				t.Errorf("%d tokens in chunks of %d: %s\nand in others %s", n, chunk, got, prompted)
			}
			p := params
			if answer != nil {
				p.Draft = &knower{answer, n}
			}
			piece, err := llama.Collect(s.Generate(t.Context(), nil, p))
			if err != nil {
				t.Fatal(err)
			}
			if got := rested(t, s); answered == "" {
				answered, answer = got, slices.Clone(piece.Tokens)
			} else if got != answered {
				t.Errorf("%d tokens in chunks of %d and an answer of %d with drafts: %s\nand without drafts %s", n, chunk, len(piece.Tokens), got, answered)
			}
		}
	}
}
