package llama_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/backend/backendtest"
	"github.com/antigravity-go/antigravity/backend/cpu"
	"github.com/antigravity-go/antigravity/backend/host"
	"github.com/antigravity-go/antigravity/internal/effort"
	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/tensor"
)

// A life is a conversation of random calls. What it writes down, answers, probabilities and saved states, depends on its seed alone: not on
// the sessions that are computed with it, nor on a drafter's guesses. Some answers are constrained, with tokens that are forced.
type life struct {
	models  []*llama.Model   // one model on several devices
	stats   *[3]atomic.Int64 // tokens drafted, accepted and forced, in all lives
	forms   []*form          // constraints of some answers
	seed    uint64
	drafts  bool
	company bool // others are about: wait at random, and be cancelled
}

// options returns the session's options.
func (l *life) options(t testing.TB) *llama.SessionOptions {
	all := append(plainOptions(t), nil, nil, nil, nil,
		&llama.SessionOptions{Eviction: policyOf(t, "pyramidkv", 40)},
		&llama.SessionOptions{Eviction: policyOf(t, "sliding", 32), Chunk: 5},
		&llama.SessionOptions{KV: tensor.F32}, &llama.SessionOptions{KV: tensor.Q8_0})
	all = slices.DeleteFunc(all, func(o *llama.SessionOptions) bool {
		return o != nil && o.KV.Quantized() && l.models[0].Config().HeadDim%o.KV.BlockLen() != 0
	})
	return all[int(l.seed)%len(all)]
}

// wrongGuess makes every wrongGuess-th proposal of a guesser wrong.
const wrongGuess = 5

// guesser proposes how the conversation went on when it was first computed, with some mistakes.
type guesser struct {
	went   []llama.Token // all tokens of the conversation
	random *rand.Rand
}

func (g *guesser) Draft(dst, context []llama.Token) []llama.Token {
	n := len(context)
	if n > len(g.went) || !slices.Equal(context, g.went[:n]) {
		return append(dst, 1, 2, 3)
	}
	for _, t := range g.went[n:min(n+1+g.random.IntN(12), len(g.went))] {
		if g.random.IntN(wrongGuess) == 0 {
			t = llama.Token(g.random.IntN(251))
		}
		dst = append(dst, t)
	}
	return dst
}

// live plays the life, and returns the digest of what it wrote down after each call. The guesser of an earlier life with the same
// seed is asked for drafts; guesses is filled with what a later one may propose.
func (l *life) live(t testing.TB, guesses map[int][]llama.Token) (diary []string, err error) {
	random := rand.New(rand.NewPCG(l.seed, 1))
	chance := rand.New(rand.NewPCG(l.seed, uint64(time.Now().UnixNano()))) // of what must make no difference
	s, err := l.models[0].NewSession(l.options(t))
	if err != nil {
		return nil, err
	}
	defer func() { s.Close() }()
	for call := range 7 {
		sum := sha256.New()
		if l.company {
			time.Sleep(time.Duration(chance.IntN(3000)) * time.Microsecond)
		}
		room := min(s.Capacity()-s.Position(), 60)
		switch what := random.IntN(8); {
		case room < 30:
			err = s.Truncate(0)
		case what < 3 || s.Position() == 0: // an answer
			err = l.answer(s, sum, random, chance, guesses, call)
		case what == 3:
			var scores []float32
			scores, err = s.Score(context.Background(), shortStream(20 + random.IntN(20))[random.IntN(20):])
			fmt.Fprint(sum, scores)
		case what == 4:
			err = s.Prefill(context.Background(), shortStream(60)[random.IntN(30):][:room/2])
		case what == 5: // go on with a copy
			var f *llama.Session
			if f, err = s.Fork(); err == nil {
				s.Close()
				s = f
			}
		case what == 6:
			if l.company && len(l.models) > 1 {
				_, err = s.Move(context.Background(), l.models[1+chance.IntN(len(l.models)-1)])
			}
		default:
			err = s.Truncate(random.IntN(s.Position() + 1))
			var refused *llama.ParamError // of what the call goes back to some was evicted: which calls are refused depends on the tokens alone
			if errors.As(err, &refused) {
				fmt.Fprint(sum, err)
				err = nil
			}
		}
		if l.company && err == nil && chance.IntN(3) == 0 { // a prompt that is given up leaves no trace
			err = l.giveUp(t, s, chance)
		}
		if err != nil {
			return diary, fmt.Errorf("call %d: %w", call, err)
		}
		if err := s.Save(sum); err != nil {
			return diary, fmt.Errorf("save after call %d: %w", call, err)
		}
		diary = append(diary, fmt.Sprintf("%x", sum.Sum(nil)[:8]))
	}
	return diary, nil
}

// answer generates an answer, or the beginning of one.
func (l *life) answer(s *llama.Session, sum hash.Hash, random, chance *rand.Rand, guesses map[int][]llama.Token, call int) error {
	p := llama.Params{Seed: random.Uint64(), MaxTokens: 1 + random.IntN(20)}
	switch random.IntN(4) {
	case 0:
		p.Temperature, p.TopK = 1, 30
	case 1:
		p.Temperature, p.TopP, p.RepeatPenalty = 1.2, 0.9, 1.1
	case 2:
		p.Logprobs = 2
	}
	if n := len(l.forms); n > 0 {
		if i := random.IntN(2 * n); i < n {
			p.Constraint = l.forms[i]
		}
	}
	prompt := shortStream(40)[random.IntN(20):][:1+random.IntN(15)]
	leave := random.IntN(25)
	if went := guesses[call]; l.drafts && went != nil {
		p.Draft = &guesser{went, chance}
	}
	i := 0
	for piece, err := range s.Generate(context.Background(), prompt, p) {
		if err != nil {
			return err
		}
		fmt.Fprint(sum, piece.Text, piece.Tokens, piece.Logprobs, piece.Stop)
		if l.stats != nil {
			l.stats[0].Add(int64(piece.Stats.DraftedTokens))
			l.stats[1].Add(int64(piece.Stats.AcceptedTokens))
			l.stats[2].Add(int64(piece.Stats.ForcedTokens))
		}
		if l.company && chance.IntN(6) == 0 {
			runtime.Gosched()
		}
		if i++; i == leave {
			break
		}
	}
	if guesses[call] == nil {
		guesses[call] = s.Tokens()
	}
	return nil
}

// giveUp begins a prompt, cancels it, and truncates the session to its position before. If that is not exact, or not possible, it does
// nothing.
func (l *life) giveUp(t testing.TB, s *llama.Session, chance *rand.Rand) error {
	had := s.Position()
	if o := l.options(t); had == 0 || o != nil && o.Eviction != nil || s.Capacity()-had < 20 {
		return nil
	}
	logits, err := s.Logits() // Truncate loses them
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(chance.IntN(2000))*time.Microsecond)
	defer cancel()
	var before bytes.Buffer
	if err := s.Save(&before); err != nil {
		return err
	}
	err = s.Prefill(ctx, shortStream(18))
	if err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	if s.Position() == had { // nothing of the chunk stays: not even the logits are lost
		var after bytes.Buffer
		if err := s.Save(&after); err != nil || !bytes.Equal(before.Bytes(), after.Bytes()) {
			return fmt.Errorf("a cancelled prompt left something behind: %w", err)
		}
		return nil
	}
	if logits == nil {
		return s.Truncate(had)
	}
	last := s.Tokens()[had-1:][:1]
	if err := s.Truncate(had - 1); err != nil { // and computes the last token again, for its logits
		return err
	}
	return s.Prefill(context.Background(), last)
}

// TestCompanyChangesNoByte plays lives alone, one after the other and without drafts, and then all at once, with drafts, moves to
// other devices and cancellations.
func TestCompanyChangesNoByte(t *testing.T) {
	t.Parallel()
	companyChangesNoByte(t, effort.Of(5, 24, 100), true, func(b backend.Backend) *llama.Model { return otherModel(t, b) })
}

// TestCompanyOfFamilies is TestCompanyChangesNoByte for models with states that are taken back, with drafts by a journal, and for models
// with layers that share caches of several sizes.
func TestCompanyOfFamilies(t *testing.T) {
	effort.Turn(t, 8)
	for i, family := range unlikeFamilies {
		if !effort.Share(i, 2) {
			continue
		}
		t.Run(family, func(t *testing.T) {
			t.Parallel()
			companyChangesNoByte(t, effort.Of(5, 24, 100), false, func(b backend.Backend) *llama.Model {
				return familyModel(t, family, &llama.LoadOptions{Backend: b})
			})
		})
	}
}

// companyChangesNoByte plays some lives of a model on several devices; texts says that it has a tokenizer.
func companyChangesNoByte(t *testing.T, lives int, texts bool, load func(b backend.Backend) *llama.Model) {
	if testing.Short() {
		lives = 8
	}
	processor := cpu.New(0)
	defer processor.Close()
	var slow atomic.Bool
	device := backendtest.NewDevice(processor, func(call string, _ *tensor.Tensor) error {
		if call == "Gather" && slow.Load() { // once in each pass: so that drafts pay, as they do with a larger model
			time.Sleep(4 * time.Millisecond)
		}
		return nil
	})
	models := []*llama.Model{load(device), load(host.NewReference())}
	var forms []*form
	if texts {
		forms = []*form{
			record(t, models[0]), newForm(t, models[0], part{set: letters, least: 20, most: 60}, part{text: " and that is the end of the story"}),
			newForm(t, models[0], part{text: "the sum is "}, part{set: digits, least: 1, most: 9}),
		}
	}
	diaries, guesses := make([][]string, lives), make([]map[int][]llama.Token, lives)
	for i := range diaries {
		guesses[i] = map[int][]llama.Token{}
		var err error
		if diaries[i], err = (&life{models: models, forms: forms, seed: uint64(i)}).live(t, guesses[i]); err != nil {
			t.Fatalf("life %d alone: %v", i, err)
		}
	}
	var stats [3]atomic.Int64
	for _, drafts := range []bool{false, true} {
		slow.Store(drafts)
		var all sync.WaitGroup
		for i := range lives {
			all.Go(func() {
				l := &life{models: models, stats: &stats, forms: forms, seed: uint64(i), drafts: drafts, company: true}
				diary, err := l.live(t, guesses[i])
				if err != nil || !slices.Equal(diary, diaries[i]) {
					t.Errorf("life %d (%+v), drafts %t: in company\n%v, alone\n%v: %v", i, l.options(t), drafts, diary, diaries[i], err)
				}
			})
		}
		all.Wait()
	}
	// How much is drafted depends on how long passes take, and so on the machine's other work. Of enough guesses some are right, and some are wrong.
	drafted, accepted := stats[0].Load(), stats[1].Load()
	t.Logf("%d tokens were drafted, and %d of them accepted; %d were forced", drafted, accepted, stats[2].Load())
	if drafted >= 10*wrongGuess && (accepted == 0 || accepted == drafted) {
		t.Error("that is no trial of drafts")
	}
	if texts && stats[2].Load() == 0 {
		t.Error("no token was forced")
	}
}
