package llama

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/antigravity-go/antigravity/asm"
	"github.com/antigravity-go/antigravity/backend/backendtest"
	"github.com/antigravity-go/antigravity/backend/cpu"
	"github.com/antigravity-go/antigravity/eviction"
	"github.com/antigravity-go/antigravity/internal/effort"
	"github.com/antigravity-go/antigravity/internal/fixture"
	"github.com/antigravity-go/antigravity/internal/fixture/families"
	"github.com/antigravity-go/antigravity/internal/safetensors"
	"github.com/antigravity-go/antigravity/llama/internal/engine"
	"github.com/antigravity-go/antigravity/tensor"
)

// headed are the fixtures of models with a head that predicts further tokens.
var headed = []string{"mtp-qwen35", "mtp-glm4moe", "mtp-deepseek-v3"}

// TestHeadsEqualTransformers compares the logits of heads with what transformers' parts compute, from its states, and what the heads propose in sessions
// with the largest of these logits: of folders, and of GGUF files.
func TestHeadsEqualTransformers(t *testing.T) {
	for _, name := range headed {
		dir := fixture.Path(t, "families/"+name)
		for form, path := range map[string]string{"folder": dir, "GGUF": families.GGUF(t, dir)} {
			t.Run(name+" "+form, func(t *testing.T) {
				m, err := Load(path, &LoadOptions{Weights: tensor.F32})
				if err != nil {
					t.Fatal(err)
				}
				defer m.Close()
				if !m.DraftsItself() {
					t.Fatal("no head was found")
				}
				golden := readFloats(t, filepath.Join(dir, "golden.safetensors"))
				input := families.ReadGolden[Token](t, filepath.Join(dir, "golden.safetensors")).Input
				for _, n := range []int{9, 24, 48} {
					want := golden["mtp_logits."+strconv.Itoa(n)]
					e := families.RelativeError(headLogits(t, m, input[1:n], golden["hidden"]), want)
					t.Logf("%d tokens: relative error %.2g", n, e)
					if e > 1e-4 {
						t.Errorf("%d tokens: relative error %.2g", n, e)
					}
					best := Token(slices.Index(want, slices.Max(want)))
					if got := proposed(t, m, input[:n], 3); len(got) != 3 || got[0] != best {
						t.Errorf("%d tokens: %v is proposed, and must begin with %d", n, got, best)
					}
				}
			})
		}
	}
}

// headLogits returns the logits of a model's head after some tokens, each with the state of the token before it.
func headLogits(t *testing.T, m *Model, tokens []Token, states []float32) []float32 {
	t.Helper()
	w := m.weights.Ahead()
	memory, err := w.NewMemory(&engine.MemoryOptions{KV: tensor.F32, Capacity: len(tokens)})
	if err != nil {
		t.Fatal(err)
	}
	defer memory.Free()
	final, err := tensor.FromFloats(states[:len(tokens)*m.config.HiddenSize], len(tokens), m.config.HiddenSize)
	if err != nil {
		t.Fatal(err)
	}
	defer final.Free()
	var l engine.Logits
	defer l.Free()
	j := engine.Job{Request: engine.Request{Memory: memory, Tokens: toInt32(tokens), Final: final}}
	if j.Output, err = l.Output(w, 1, 0, 0); err != nil {
		t.Fatal(err)
	}
	if err := m.head.Run(&j); err != nil {
		t.Fatal(err)
	}
	l.Computed(&j.Output)
	if err := l.Read(w); err != nil {
		t.Fatal(err)
	}
	return l.Host
}

// proposed returns what the head of a session's model proposes after tokens. The model has computed all of them but the last one.
func proposed(t *testing.T, m *Model, tokens []Token, n int) []Token {
	t.Helper()
	s, err := m.NewSession(&SessionOptions{KV: tensor.F32})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	c := &s.sequence
	if err := c.following.want(c, true); err != nil {
		t.Fatal(err)
	}
	if err := s.Prefill(t.Context(), tokens[:len(tokens)-1]); err != nil {
		t.Fatal(err)
	}
	return selfDraft{}.draftInside(c, make([]Token, 0, n), tokens)
}

// readFloats reads the tensors of floats of a file.
func readFloats(t *testing.T, path string) map[string][]float32 {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := safetensors.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][]float32{}
	for _, stored := range f.Tensors() {
		list := make([]float32, len(stored.Data)/4)
		for i := range list {
			list[i] = math.Float32frombits(binary.LittleEndian.Uint32(stored.Data[4*i:]))
		}
		all[stored.Name] = list
	}
	return all
}

// TestHeadFollows lets a head follow conversations of random steps, with guesses right and wrong, and of Truncates. It must propose what the head of a
// session proposes that got all tokens at once.
func TestHeadFollows(t *testing.T) {
	for i, name := range headed {
		t.Run(name, func(t *testing.T) {
			m, err := Load(fixture.Path(t, "families/"+name), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			random := rand.New(rand.NewPCG(uint64(i), 1))
			s, err := m.NewSession(&SessionOptions{KV: tensor.F32})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			c := &s.sequence
			if err := c.following.want(c, true); err != nil {
				t.Fatal(err)
			}
			some := func(n int) (list []Token) {
				for range n {
					list = append(list, Token(random.IntN(m.config.VocabSize)))
				}
				return list
			}
			for round := range effort.Of(60, 120, 1000) {
				switch n := len(c.tokens); {
				case n < 3 || random.IntN(8) == 0 && n < 120:
					err = s.Prefill(t.Context(), some(1+random.IntN(20)))
				case n > 120 || random.IntN(8) == 0:
					err = s.Truncate(random.IntN(n-1) + 1)
				default: // a step with guesses, right and wrong
					err = errors.Join(c.answer(some(1+random.IntN(4)), 0, 0))
					for range random.IntN(len(c.ahead) + 1) {
						c.accept()
					}
					err = errors.Join(err, c.settle())
				}
				if err != nil {
					t.Fatal(err)
				}
				if random.IntN(2) == 0 {
					continue
				}
				context := append(slices.Clone(c.tokens), some(1)...)
				got, want := selfDraft{}.draftInside(c, make([]Token, 0, 3), context), proposed(t, m, context, 3)
				if !slices.Equal(got, want) || len(want) != 3 {
					t.Fatalf("round %d, %d tokens: %v is proposed, and must be %v", round, len(context), got, want)
				}
			}
		})
	}
}

// guided is SelfDraft with most of the proposals replaced by what the conversation went on with before: of random weights, the head's own are hardly ever right.
type guided struct {
	selfDraft
	went   []Token
	random *rand.Rand
	asked  *atomic.Int64
}

func (g guided) draftInside(c *sequence, dst, context []Token) []Token {
	had := len(dst)
	dst = g.selfDraft.draftInside(c, dst, context)
	g.asked.Add(int64(len(dst) - had))
	if n := len(context); n <= len(g.went) && slices.Equal(context, g.went[:n]) {
		for i := had; i < len(dst) && n < len(g.went); i, n = i+1, n+1 {
			if g.random.IntN(6) > 0 {
				dst[i] = g.went[n]
			}
		}
	}
	return dst
}

// TestSelfDraftChangesNothing answers with drafts of heads and without, greedily and not, in sessions side by side that are forked and cut, with quantised
// and evicted caches.
func TestSelfDraftChangesNothing(t *testing.T) {
	for _, name := range headed {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			processor := cpu.New(0)
			defer processor.Close()
			var slow atomic.Bool
			device := backendtest.NewDevice(processor, func(call string, operand *tensor.Tensor) error {
				if (call == "Convolve" || call == "MatMulExperts") && slow.Load() { // which a head has less of: so that drafts pay, as they do with larger models
					time.Sleep(300 * time.Microsecond)
				}
				return nil
			})
			m, err := Load(fixture.Path(t, "families/"+name), &LoadOptions{Backend: device})
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			before := m.MemoryUsage()
			policy, err := eviction.ByName("sliding", eviction.Options{Budget: 32})
			if err != nil {
				t.Fatal(err)
			}
			all := []*SessionOptions{{}, {KV: tensor.F32}, {KV: tensor.F16, Chunk: 3}, {Eviction: policy, Capacity: 64}}
			if m.config.HeadDim%32 == 0 {
				all = append(all, &SessionOptions{KV: tensor.Q8_0})
			}
			params := []Params{{MaxTokens: 14}, {MaxTokens: 14, Temperature: 1, Seed: 7}}
			prompt := []Token{7, 9, 11, 200, 3, 3, 9, 11}
			type played struct {
				tokens []Token
				state  string
			}
			play := func(o *SessionOptions, draft func(turn int) Drafter) (turns []played, stats Stats) {
				s, err := m.NewSession(o)
				if err != nil {
					t.Error(err)
					return nil, stats
				}
				defer func() { s.Close() }()
				for turn := range 6 {
					p := params[turn%2]
					p.Draft = draft(turn)
					got, err := Collect(s.Generate(t.Context(), prompt[:1+turn], p))
					var state bytes.Buffer
					if err = errors.Join(err, s.Save(&state)); err != nil {
						t.Error(err)
						return turns, stats
					}
					stats.DraftedTokens, stats.AcceptedTokens = stats.DraftedTokens+got.Stats.DraftedTokens, stats.AcceptedTokens+got.Stats.AcceptedTokens
					turns = append(turns, played{s.Tokens(), state.String()})
					switch {
					case turn == 1:
						f, err := s.Fork()
						if err != nil {
							t.Error(err)
							return turns, stats
						}
						s.Close()
						s = f
					case turn == 3 && s.CacheLen() == s.Position():
						if err := s.Truncate(s.Position() - 5); err != nil {
							t.Error(err)
							return turns, stats
						}
					}
				}
				return turns, stats
			}
			var drafted, accepted, asked atomic.Int64
			var company sync.WaitGroup
			for i, o := range all {
				if !effort.Share(i, 3) {
					continue
				}
				slow.Store(false)
				want, _ := play(o, func(int) Drafter { return nil })
				slow.Store(true)
				for twin := range 2 {
					company.Go(func() {
						random := rand.New(rand.NewPCG(uint64(i), uint64(twin)))
						got, stats := play(o, func(turn int) Drafter {
							if turn == 4 {
								return nil
							}
							return guided{went: want[turn].tokens, random: random, asked: &asked}
						})
						if !slices.Equal(got[len(got)-1].tokens, want[len(want)-1].tokens) {
							t.Errorf("%+v: %v with drafts, %v without", *o, got[len(got)-1].tokens, want[len(want)-1].tokens)
						}
						for turn := range got {
							if got[turn].state != want[turn].state {
								t.Errorf("%+v: another state after turn %d", *o, turn)
							}
						}
						drafted.Add(int64(stats.DraftedTokens))
						accepted.Add(int64(stats.AcceptedTokens))
					})
				}
				company.Wait()
			}
			t.Logf("the head proposed %d tokens; %d were computed, and %d of them accepted", asked.Load(), drafted.Load(), accepted.Load())
			if asm.Tier() != "generic" && (asked.Load() == 0 || drafted.Load() > 100 && accepted.Load() == 0) {
				t.Error("that is no trial of drafts")
			}
			if after := m.MemoryUsage(); after.Caches != 0 || before.Caches != 0 {
				t.Errorf("caches take %d bytes when all sessions are closed, %d before", after.Caches, before.Caches)
			}
		})
	}
}

// TestHeadAllocatesNothing lets a head propose tokens after each step of an answer.
func TestHeadAllocatesNothing(t *testing.T) {
	for _, name := range headed {
		m, err := Load(fixture.Path(t, "families/"+name), &LoadOptions{Threads: 1})
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		s, err := m.NewSession(nil)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		c := &s.sequence
		if err := c.following.want(c, true); err != nil {
			t.Fatal(err)
		}
		if err := s.Prefill(t.Context(), []Token{1, 2, 3}); err != nil {
			t.Fatal(err)
		}
		c.tokens = slices.Grow(c.tokens, 1000)
		run := make([]Token, 1, 1+mostOwn)
		step := func() {
			run = append(run[:0], Token(len(c.tokens)%m.config.VocabSize))
			context := append(c.tokens, run...)
			run = selfDraft{}.draftInside(c, run, context)
			if err := errors.Join(c.answer(run, 1, 0), c.settle()); err != nil {
				t.Fatal(err)
			}
		}
		for range 20 {
			step()
		}
		if n := testing.AllocsPerRun(50, step); n > 0 {
			t.Errorf("%s: %v allocations a step", name, n)
		}
	}
}

// TestSelfDraftInPools answers in a pool, several conversations at once that begin alike, with and without a head's drafts, and under a constraint.
func TestSelfDraftInPools(t *testing.T) {
	for _, name := range headed {
		m, err := Load(fixture.Path(t, "families/"+name), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		answers := func(draft func(prompt []Token) Drafter) (list [][]Token) {
			pool, err := m.NewPool(nil)
			if err != nil {
				t.Fatal(err)
			}
			defer pool.Close()
			list = make([][]Token, 6)
			for turn := range 2 {
				var company sync.WaitGroup
				for i := range list {
					company.Go(func() {
						prompt := append([]Token{7, 9, 11, 200, 3, 3, 9}, list[i]...)
						prompt = append(prompt, Token(i), Token(turn))
						p := Params{MaxTokens: 12, Temperature: float32(i % 2), Seed: uint64(i), Draft: draft(prompt)}
						if i%3 == 2 {
							p.Constraint = evens{m.config.VocabSize}
						}
						got, err := Collect(pool.Generate(t.Context(), prompt, p))
						if err != nil {
							t.Error(err)
						}
						list[i] = append(list[i], got.Tokens...)
					})
				}
				company.Wait()
			}
			return list
		}
		want := answers(func([]Token) Drafter { return nil })
		for _, d := range []Drafter{SelfDraft(), MultiDrafter(SelfDraft(), PromptLookup(LookupOptions{}))} {
			if got := answers(func([]Token) Drafter { return d }); !reflect.DeepEqual(got, want) {
				t.Errorf("%s: %v with drafts, %v without", name, got, want)
			}
		}
	}
}

// evens is a Constraint that allows tokens with even ids.
type evens struct{ vocabulary int }

func (e evens) Start() Matcher { return e }

func (e evens) Allowed(set *TokenSet) error {
	for t := 0; t < e.vocabulary; t += 2 {
		set.Add(Token(t))
	}
	return nil
}

func (e evens) Clone() Matcher { return e }

func (evens) Accept(Token) error         { return nil }
func (evens) Forced(dst []Token) []Token { return dst }

// TestDamagedHeads loads models with heads that lack a tensor or have one of another shape: the model is whole without, and says why.
func TestDamagedHeads(t *testing.T) {
	for change, edit := range map[string]func(list []safetensors.Tensor) []safetensors.Tensor{
		"missing": func(list []safetensors.Tensor) []safetensors.Tensor {
			return slices.DeleteFunc(list, func(x safetensors.Tensor) bool { return x.Name == "mtp.norm.weight" })
		},
		"another shape": func(list []safetensors.Tensor) []safetensors.Tensor {
			for i := range list {
				if x := &list[i]; x.Name == "mtp.fc.weight" {
					x.Shape = []int{x.Shape[1], x.Shape[0]}
				}
			}
			return list
		},
		"no head": func(list []safetensors.Tensor) []safetensors.Tensor {
			return slices.DeleteFunc(list, func(x safetensors.Tensor) bool { return strings.HasPrefix(x.Name, "mtp.") })
		},
	} {
		dir := t.TempDir()
		if err := os.CopyFS(dir, os.DirFS(fixture.Path(t, "families/mtp-qwen35"))); err != nil {
			t.Fatal(err)
		}
		families.EditTensors(t, dir, edit)
		m, err := Load(dir, nil)
		if err != nil {
			t.Fatal(err)
		}
		if m.Close(); m.DraftsItself() {
			t.Errorf("%s: the head was loaded", change)
		}
		r, err := Inspect(dir)
		if err != nil {
			t.Fatal(err)
		}
		said := slices.ContainsFunc(r.Ignored, func(i Ignored) bool { return i.What == "the head that predicts further tokens" })
		if said != (change != "no head") || len(r.Problems) > 0 {
			t.Errorf("%s: ignored are %v, problems %v", change, r.Ignored, r.Problems)
		}
	}
}
