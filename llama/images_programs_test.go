package llama

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"iter"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/antigravity-go/antigravity/internal/effort"
	"github.com/antigravity-go/antigravity/internal/fixture"
	"github.com/antigravity-go/antigravity/tensor"
)

// text returns some random tokens of the vocabulary's.
func (s *seeingFixture) text(r *rand.Rand, n int) (list []Token) {
	for range n {
		list = append(list, Token(r.IntN(s.model.config.VocabSize)))
	}
	return list
}

// prompt returns a random prompt of texts and images.
func (s *seeingFixture) prompt(r *rand.Rand) []Token {
	list := s.text(r, 1+r.IntN(6))
	for range r.IntN(3) {
		list = append(append(list, s.images[r.IntN(len(s.images))].Tokens()...), s.text(r, r.IntN(5))...)
	}
	return list
}

// logitsOf returns the logits after tokens in a new session.
func (s *seeingFixture) logitsOf(t *testing.T, o SessionOptions, tokens []Token) []float32 {
	t.Helper()
	fresh, err := s.model.NewSession(&o)
	if err != nil {
		t.Fatal(err)
	}
	defer fresh.Close()
	if err := fresh.Prefill(t.Context(), tokens); err != nil {
		t.Fatal(err)
	}
	logits, err := fresh.needLogits()
	if err != nil {
		t.Fatal(err)
	}
	return slices.Clone(logits)
}

// TestImagesInRandomPrograms lets sessions with images go forth and back, and compares their logits with those of new sessions, bit for bit.
func TestImagesInRandomPrograms(t *testing.T) {
	effort.Turn(t, 8)
	for n, name := range seeingNames {
		for i, o := range []SessionOptions{{KV: tensor.F32, Chunk: 7}, {KV: tensor.F16}, {KV: tensor.F32, Chunk: 64, Capacity: 300}} {
			if !effort.Share(n+i, 3) {
				continue
			}
			t.Run(fmt.Sprint(name, " ", i), func(t *testing.T) {
				s := newSeeingFixture(t, name)
				for seed := range uint64(effort.Of(2, 12, 40)) {
					s.program(t, rand.New(rand.NewPCG(seed, uint64(i))), o)
				}
			})
		}
	}
}

// program is one random program.
func (s *seeingFixture) program(t *testing.T, r *rand.Rand, o SessionOptions) {
	session, err := s.model.NewSession(&o)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { session.Close() }()
	var did []string
	for range 8 {
		if room := session.Capacity() - session.Position(); room < 150 {
			if err := session.Truncate(0); err != nil {
				t.Fatal(err)
			}
		}
		switch what := r.IntN(6); what {
		case 0, 1:
			did = append(did, "prefill")
			err = session.Prefill(t.Context(), s.prompt(r))
		case 2:
			tokens := session.Tokens()
			keep := session.sequence.images.whole(s.model.config.Together, r.IntN(len(tokens)+1))
			tokens = append(tokens[:keep:keep], s.text(r, 1)...)
			if keep > 0 && int(tokens[keep-1]) >= s.model.config.VocabSize {
				did = append(did, "sync within an image")
			}
			did = append(did, fmt.Sprint("sync ", keep, " of ", session.Position()))
			_, err = session.Sync(t.Context(), s.completed(tokens))
		case 3:
			did = append(did, "fork")
			var f *Session
			if f, err = session.Fork(); err == nil {
				session.Close()
				session = f
			}
		case 4:
			did = append(did, "save")
			var b bytes.Buffer
			if err = session.Save(&b); err != nil {
				break
			}
			var restored *Session
			options := o
			if restored, err = s.model.Restore(&b, &options); err == nil {
				session.Close()
				session = restored
			}
		case 5:
			did = append(did, "answer")
			if session.Position() > 0 {
				session.greedy(t, 1+r.IntN(3))
			}
		}
		if err != nil {
			t.Fatalf("%s: %v", did, err)
		}
		if session.Position() == 0 {
			continue
		}
		got, err := session.needLogits()
		if err != nil {
			t.Fatalf("%s: %v", did, err)
		}
		if want := s.logitsOf(t, o, session.Tokens()); !slices.Equal(got, want) {
			t.Fatalf("%s: logits are others than those of a new session", did)
		}
	}
}

// completed takes an image's first rows from the end of tokens, or from before the last one, if rows of the image are missing.
func (s *seeingFixture) completed(tokens []Token) []Token {
	n := len(tokens) - 1
	for n > 0 && int(tokens[n-1]) >= s.model.config.VocabSize {
		if a, row := s.model.seen.find(tokens[n-1]); row == a.features.Rows()-1 && n == len(tokens)-1 {
			return tokens
		}
		n--
	}
	return append(tokens[:n:n], tokens[len(tokens)-1])
}

// TestSavedImagesAreFoundAgain restores a conversation with another model of the same weights, which has given other ids: the answer goes on as it would
// have, and the image that is shown again is the conversation's.
func TestSavedImagesAreFoundAgain(t *testing.T) {
	effort.Turn(t, 8)
	for _, name := range seeingNames {
		t.Run(name, func(t *testing.T) {
			s, other := newSeeingFixture(t, name), newSeeingFixture(t, name)
			session, err := s.model.NewSession(nil)
			if err != nil {
				t.Fatal(err)
			}
			defer session.Close()
			if err := session.Prefill(t.Context(), s.prompts[1].tokens); err != nil {
				t.Fatal(err)
			}
			var b bytes.Buffer
			if err := session.Save(&b); err != nil {
				t.Fatal(err)
			}
			restored, err := other.model.Restore(bytes.NewReader(b.Bytes()), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer restored.Close()
			if got, want := restored.greedy(t, 8), session.greedy(t, 8); !slices.Equal(got, want) {
				t.Errorf("the restored conversation goes on with %d, the saved one with %d", got, want)
			}
			for cut := range b.Len() {
				if cut%(b.Len()/40) != 0 {
					continue
				}
				if r, err := other.model.Restore(bytes.NewReader(b.Bytes()[:cut]), nil); err == nil {
					r.Close()
					t.Fatalf("%d of %d bytes were restored", cut, b.Len())
				}
			}
		})
	}
}

// TestImagesInCompany answers prompts that share texts and images in a pool, at the same time and one after the other: each answer is that of a session alone,
// and what a conversation has computed is not computed again.
func TestImagesInCompany(t *testing.T) {
	effort.Turn(t, 8)
	for i, name := range seeingNames {
		if !effort.Share(i, 2) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			s, r := newSeeingFixture(t, name), rand.New(rand.NewPCG(1, uint64(i)))
			pool, err := s.model.NewPool(&PoolOptions{Session: SessionOptions{KV: tensor.F32}, MaxSessions: 4})
			if err != nil {
				t.Fatal(err)
			}
			defer pool.Close()
			shared := append(s.text(r, 5), s.images[0].Tokens()...)
			var prompts [][]Token
			for range 6 {
				prompts = append(prompts, append(slices.Clone(shared), s.prompt(r)...))
			}
			answer := func(pieces iter.Seq2[Piece, error]) (list []Token) {
				for p, err := range pieces {
					if err != nil {
						t.Error(err)
						return nil
					}
					list = append(list, p.Tokens...)
				}
				return list
			}
			params := Params{MaxTokens: 6}
			var group sync.WaitGroup
			got := make([][]Token, len(prompts))
			for i, prompt := range prompts {
				group.Go(func() { got[i] = answer(pool.Generate(t.Context(), prompt, params)) })
			}
			group.Wait()
			for i, prompt := range prompts {
				alone, err := s.model.NewSession(&SessionOptions{KV: tensor.F32})
				if err != nil {
					t.Fatal(err)
				}
				want := answer(alone.Generate(t.Context(), prompt, params))
				alone.Close()
				if !slices.Equal(got[i], want) {
					t.Errorf("answer %d is %d in company, and %d alone", i, got[i], want)
				}
			}
			before := pool.Stats()
			next := slices.Concat(prompts[0], got[0], s.text(r, 3))
			answer(pool.Generate(t.Context(), next, params))
			if computed := pool.Stats().ComputedTokens - before.ComputedTokens; computed > 16 {
				t.Errorf("the next turn computed %d tokens of its prompt of %d", computed, len(next))
			}
		})
	}
}

// TestAttachEndsWithTheModel closes a model while pictures are being seen: each is seen, or the error is ErrClosed.
func TestAttachEndsWithTheModel(t *testing.T) {
	m, err := Load(fixture.Path(t, "families/vl-qwen3vl"), nil)
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	begun := make(chan struct{}, 8)
	for i := range cap(begun) {
		group.Go(func() {
			for side := 40; ; side++ {
				shown, err := ImageOf(image.NewRGBA(image.Rect(0, 0, side, 40+i)))
				if err != nil {
					t.Error(err)
					return
				}
				if _, err := m.Attach(t.Context(), shown, 0); err != nil {
					if !errors.Is(err, ErrClosed) {
						t.Error(err)
					}
					return
				}
				if side == 41 {
					begun <- struct{}{}
				}
			}
		})
	}
	for range cap(begun) {
		<-begun
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
	group.Wait()
}

// TestForgottenImagesAreErrors gives a session the ids of an attachment that nobody holds any more, and of rows in another order.
func TestForgottenImagesAreErrors(t *testing.T) {
	s := newSeeingFixture(t, "vl-gemma4-dense")
	session, err := s.model.NewSession(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	whole := s.images[0].Tokens()
	for name, tokens := range map[string][]Token{
		"of nobody": {Token(s.model.config.VocabSize + s.model.seen.count)}, "of rows from the second on": whole[1:], "of rows but the last": whole[:len(whole)-1],
		"twice": {whole[0], whole[0]}, "of two images at once": {whole[0], s.images[1].first}, "negative": {-1},
	} {
		var wrong *ParamError
		if err := session.Prefill(t.Context(), tokens); !errors.As(err, &wrong) || session.Position() != 0 {
			t.Errorf("tokens %s: %v, and %d tokens are in the conversation", name, err, session.Position())
		}
	}
	if err := session.Prefill(t.Context(), whole); err != nil {
		t.Fatal(err)
	}
	var wrong *ParamError
	if err := session.Truncate(5); !errors.As(err, &wrong) {
		t.Errorf("an image was cut in two: %v", err)
	}
}
