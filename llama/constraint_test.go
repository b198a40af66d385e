package llama_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/antigravity-go/antigravity/asm"
	"github.com/antigravity-go/antigravity/backend/backendtest"
	"github.com/antigravity-go/antigravity/backend/cpu"
	"github.com/antigravity-go/antigravity/internal/effort"
	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/tensor"
)

// part is a stretch of a form: least to most characters of a set, or a text as it stands.
type part struct {
	text        string
	set         string
	least, most int
}

// form is a Constraint that allows the texts that consist of its parts, one after the other. It is an automaton over bytes; a set must
// not contain what may follow it.
//
// Invariant: the automaton's states are the places of byte sets, one for each character that may come, and the end.
type form struct {
	bytes  [][]byte // of each token; empty for special ones
	places []place
	chosen bool // nothing is forced

	mu      sync.Mutex
	allowed map[int][]uint64      // by the state
	forced  map[int][]llama.Token // by the state
	encode  func(string) []llama.Token
}

type place struct {
	set  string
	skip int // the place after the part, if its characters are optional; 0: they are not
}

func newForm(t testing.TB, m *llama.Model, parts ...part) *form {
	t.Helper()
	tokenizer := m.Tokenizer()
	f := &form{bytes: make([][]byte, tokenizer.VocabSize()), allowed: map[int][]uint64{}, forced: map[int][]llama.Token{}, encode: tokenizer.EncodeContinuation}
	for i := range f.bytes {
		if token := llama.Token(i); !tokenizer.Special(token) {
			f.bytes[i] = tokenizer.AppendBytes(nil, token)
		}
	}
	for _, p := range parts {
		for _, c := range []byte(p.text) {
			f.places = append(f.places, place{set: string([]byte{c})})
		}
		end := len(f.places) + p.most
		for i := range p.most {
			one := place{set: p.set}
			if i >= p.least {
				one.skip = end
			}
			f.places = append(f.places, one)
		}
	}
	return f
}

// step returns the state after a byte; ok is false if it must not come.
func (f *form) step(state int, c byte) (next int, ok bool) {
	for state < len(f.places) {
		if strings.IndexByte(f.places[state].set, c) >= 0 {
			return state + 1, true
		}
		if state = f.places[state].skip; state == 0 {
			break
		}
	}
	return 0, false
}

// walk returns the state after some bytes.
func (f *form) walk(state int, text []byte) (next int, ok bool) {
	for _, c := range text {
		if state, ok = f.step(state, c); !ok {
			return 0, false
		}
	}
	return state, len(text) > 0
}

// ends reports whether a text may end.
func (f *form) ends(state int) bool {
	for state < len(f.places) {
		if state = f.places[state].skip; state == 0 {
			return false
		}
	}
	return true
}

// matches reports whether the text is one of the form, or a beginning of one.
func (f *form) matches(text string) (whole, begins bool) {
	state, ok := f.walk(0, []byte(text))
	ok = ok || text == ""
	return ok && f.ends(state), ok
}

func (f *form) Start() llama.Matcher { return &formMatcher{form: f} }

type formMatcher struct {
	form  *form
	state int
}

func (m *formMatcher) Allowed(set *llama.TokenSet) error {
	f := m.form
	f.mu.Lock()
	defer f.mu.Unlock()
	words, ok := f.allowed[m.state]
	if !ok {
		fresh := llama.NewTokenSet(set.Size())
		for i, text := range f.bytes {
			if _, ok := f.walk(m.state, text); ok {
				fresh.Add(llama.Token(i))
			}
		}
		words = fresh.Words()
		f.allowed[m.state] = words
	}
	copy(set.Words(), words)
	set.SetEnd(f.ends(m.state))
	return nil
}

func (m *formMatcher) Accept(t llama.Token) error {
	next, ok := m.form.walk(m.state, m.form.bytes[t])
	if !ok {
		return fmt.Errorf("%q does not fit", m.form.bytes[t])
	}
	m.state = next
	return nil
}

func (m *formMatcher) Forced(dst []llama.Token) []llama.Token {
	f := m.form
	if f.chosen {
		return dst
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	tokens, ok := f.forced[m.state]
	if !ok {
		var text []byte
		for state := m.state; state < len(f.places) && len(f.places[state].set) == 1 && f.places[state].skip == 0; state++ {
			text = append(text, f.places[state].set...)
		}
		tokens = f.encode(string(text))
		f.forced[m.state] = tokens
	}
	return append(dst, tokens...)
}

func (m *formMatcher) Clone() llama.Matcher {
	c := *m
	return &c
}

const (
	digits  = "0123456789"
	letters = "abcdefghijklmnopqrstuvwxyz "
)

// record is a form as a program may want it: names that are forced, and values that are chosen.
func record(t testing.TB, m *llama.Model) *form {
	return newForm(t, m, part{text: `{"name": "`}, part{set: letters, least: 1, most: 12}, part{text: `", "occupation": "`},
		part{set: letters, least: 2, most: 9}, part{text: `", "age": `}, part{set: digits, least: 1, most: 3}, part{text: "}"}, part{set: "\n", most: 2})
}

// constrained returns an answer with the constraint.
func constrained(t testing.TB, s *llama.Session, c llama.Constraint, p llama.Params) llama.Piece {
	t.Helper()
	p.Constraint = c
	piece, err := llama.Collect(s.Generate(t.Context(), stream(20), p))
	if err != nil {
		t.Fatal(err)
	}
	return piece
}

// asMask is a constraint's tokens by other means: a mask.
type asMask struct {
	matcher llama.Matcher
	set     *llama.TokenSet
	ends    []llama.Token
	seen    int
}

func newMask(m *llama.Model, c llama.Constraint) *asMask {
	return &asMask{c.Start(), llama.NewTokenSet(m.Tokenizer().VocabSize()), m.Config().EOS, 0}
}

func (a *asMask) Apply(generated []llama.Token, logits []float32) error {
	for _, t := range generated[a.seen:] {
		if err := a.matcher.Accept(t); err != nil {
			return err
		}
	}
	a.seen = len(generated)
	if err := a.matcher.Allowed(a.set); err != nil {
		return err
	}
	for i := range logits {
		if !a.set.Has(llama.Token(i)) && !(a.set.End() && slices.Contains(a.ends, llama.Token(i))) {
			logits[i] = float32(math.Inf(-1))
		}
	}
	return nil
}

// choices are ways to choose.
func choices() map[string]llama.Params {
	return map[string]llama.Params{
		"greedy": {}, "hot": {Temperature: 1.5}, "top-k": {Temperature: 1.2, TopK: 5}, "many": {Temperature: 1.2, TopK: 1000, MinP: 0.001},
		"top-p": {Temperature: 1, TopP: 0.9, MinP: 0.01}, "nearly greedy": {Temperature: 0.001},
		"penalties":         {Temperature: 1, TopK: 40, RepeatPenalty: 1.3, FrequencyPenalty: -0.5, PresencePenalty: 0.2},
		"log-probabilities": {Temperature: 1, Logprobs: 2}, "mask": {Temperature: 1, Mask: everything{}},
	}
}

// TestConstraintAllowsNothingElse answers in every way of choosing: what comes fits the form, and without forced tokens it is what a mask
// that forbids all others would have made of it, on a device that keeps its logits, too.
func TestConstraintAllowsNothingElse(t *testing.T) {
	effort.Turn(t, 8)
	m := pebbleModel(t)
	distant := otherModel(t, newDistant())
	forced, chosen := record(t, m), record(t, m)
	chosen.chosen = true
	for name, p := range choices() {
		for p.Seed = range uint64(2) {
			p.MaxTokens = 60
			s := newSession(t, m, nil)
			got := constrained(t, s, forced, p)
			whole, begins := forced.matches(got.Text)
			if !begins || whole != (got.Stop == llama.EndOfTurn) && got.Stop != llama.MaxTokens {
				t.Errorf("%s: %q (%v)", name, got.Text, got.Stop)
			}
			if got.Stats.ForcedTokens == 0 || got.Stats.ForcedTokens == got.Stats.GeneratedTokens {
				t.Errorf("%s: %d of %d tokens were forced", name, got.Stats.ForcedTokens, got.Stats.GeneratedTokens)
			}
			if n := len(got.Logprobs); p.Logprobs > 0 && n != len(got.Tokens) {
				t.Errorf("%d log-probabilities of %d tokens", n, len(got.Tokens))
			}
			if far := constrained(t, newSession(t, distant, nil), forced, p); !slices.Equal(far.Tokens, got.Tokens) || far.Stop != got.Stop {
				t.Errorf("%s: on another device %q, here %q", name, far.Text, got.Text)
			}
			free := constrained(t, newSession(t, m, nil), chosen, p)
			masked := p
			masked.Mask = newMask(m, chosen)
			want := constrained(t, newSession(t, m, nil), nil, masked)
			if !slices.Equal(free.Tokens, want.Tokens) || free.Stop != want.Stop || !reflect.DeepEqual(free.Logprobs, want.Logprobs) || free.Stats.ForcedTokens != 0 {
				t.Errorf("%s: chose %q (%v), with a mask %q (%v)", name, free.Text, free.Stop, want.Text, want.Stop)
			}
			s.Close()
		}
	}
}

// TestForcedTokensAreNotDrawn goes on after a forced text as after a prompt that ends with it, with the same random numbers.
func TestForcedTokensAreNotDrawn(t *testing.T) {
	effort.Turn(t, 8)
	m := pebbleModel(t)
	anything := part{set: letters + digits + strings.ToUpper(letters) + ".,:;!?'\"\n-", most: 300}
	const text = "Once upon a time there was a fox"
	begin := m.Tokenizer().EncodeContinuation(text)
	for name, p := range choices() {
		if p.FrequencyPenalty != 0 { // depends on the generated tokens
			continue
		}
		p.MaxTokens, p.Seed = 20, 7
		rest := p
		rest.Constraint = newForm(t, m, anything)
		want, err := llama.Collect(newSession(t, m, nil).Generate(t.Context(), slices.Concat(stream(20), begin), rest))
		if err != nil {
			t.Fatal(err)
		}
		p.MaxTokens += len(begin)
		got := constrained(t, newSession(t, m, nil), newForm(t, m, part{text: text}, anything), p)
		if got.Text != text+want.Text || got.Stats.ForcedTokens != len(begin) {
			t.Errorf("%s: %q, want %q; %d tokens were forced", name, got.Text, text+want.Text, got.Stats.ForcedTokens)
		}
		if p.Logprobs > 0 && !reflect.DeepEqual(got.Logprobs[len(begin):], want.Logprobs) {
			t.Errorf("%v, want %v", got.Logprobs[len(begin):], want.Logprobs)
		}
	}
}

// passes is a device that counts the passes computed on it.
func passes(n *atomic.Int64) *backendtest.Device {
	return backendtest.NewDevice(cpu.New(1), func(call string, _ *tensor.Tensor) error {
		if call == "Gather" {
			n.Add(1)
		}
		return nil
	})
}

// TestForcedTokensShareAStep counts passes: those of a run of forced tokens are computed with the token before them, up to a number.
func TestForcedTokensShareAStep(t *testing.T) {
	var count atomic.Int64
	m := otherModel(t, passes(&count))
	long := strings.Repeat("a fox and a hare, ", 20)
	for _, c := range []struct {
		name  string
		parts []part
		most  func(chosen, forced int) int // passes
	}{
		{"all forced", []part{{text: "once upon a time"}}, func(int, int) int { return 1 }},
		{"forced after chosen", []part{{set: digits, least: 1, most: 1}, {text: " foxes and hares"}}, func(int, int) int { return 1 }},
		{"a record", record(t, m).parts(), func(chosen, _ int) int { return chosen + 1 }},
		{"very long", []part{{text: long}, {set: digits, least: 1, most: 1}, {text: long}}, func(chosen, forced int) int { return chosen + 1 + (forced+31)/32 }},
	} {
		s := newSession(t, m, nil)
		if err := s.Prefill(t.Context(), stream(20)); err != nil {
			t.Fatal(err)
		}
		count.Store(0)
		got, err := llama.Collect(s.Generate(t.Context(), nil, llama.Params{Constraint: newFormOf(t, m, c.parts)}))
		if err != nil {
			t.Fatal(err)
		}
		chosen := got.Stats.GeneratedTokens - got.Stats.ForcedTokens
		if n := int(count.Load()); n > c.most(chosen, got.Stats.ForcedTokens) || got.Stats.ForcedTokens < 2 {
			t.Errorf("%s: %d passes for %d chosen and %d forced tokens", c.name, n, chosen, got.Stats.ForcedTokens)
		}
	}
}

func newFormOf(t testing.TB, m *llama.Model, parts []part) *form { return newForm(t, m, parts...) }

// parts returns the form's characters as parts.
func (f *form) parts() (parts []part) {
	for i := 0; i < len(f.places); i++ {
		p := part{set: f.places[i].set, most: 1}
		if f.places[i].skip == 0 {
			p.least = 1
		}
		parts = append(parts, p)
	}
	return parts
}

// TestForcedRunsEndAnywhere ends answers within forced tokens, by every means, and compares with what a session would hold that was
// given these tokens.
func TestForcedRunsEndAnywhere(t *testing.T) {
	effort.Turn(t, 8)
	m := pebbleModel(t)
	c := newForm(t, m, part{text: "one two three four five six seven"}, part{set: digits, least: 1, most: 1}, part{text: " eight nine ten eleven twelve"})
	var all llama.Piece
	for name, options := range map[string]*llama.SessionOptions{
		"plain": {}, "sliding": {Eviction: policyOf(t, "sliding", 24)}, "snapkv": {Eviction: policyOf(t, "snapkv", 24)}, "q4_0": {KV: tensor.Q4_0},
	} {
		all = constrained(t, newSession(t, m, options), c, llama.Params{})
		check := func(what string, s *llama.Session, got llama.Piece) {
			t.Helper()
			n := len(got.Tokens)
			if !slices.Equal(s.Tokens(), slices.Concat(stream(20), got.Tokens)) || !slices.Equal(got.Tokens, all.Tokens[:n]) {
				t.Fatalf("%s, %s: the conversation is %v after %v", name, what, s.Tokens(), got.Tokens)
			}
			want := newSession(t, m, options)
			if err := want.Prefill(t.Context(), stream(20)); err != nil {
				t.Fatal(err)
			}
			for _, token := range got.Tokens {
				if err := want.Prefill(t.Context(), []llama.Token{token}); err != nil {
					t.Fatal(err)
				}
			}
			if !slices.Equal(logitsOf(s), logitsOf(want)) || !slices.Equal(goOn(t, s, 3), goOn(t, want, 3)) {
				t.Errorf("%s, %s: after %d tokens it goes on differently", name, what, n)
			}
			s.Close()
			want.Close()
		}
		for n := 1; n < len(all.Tokens); n += stride(3) {
			s := newSession(t, m, options)
			got := constrained(t, s, c, llama.Params{MaxTokens: n})
			if got.Stop != llama.MaxTokens || len(got.Tokens) != n {
				t.Errorf("%s, MaxTokens %d: %d tokens, %v", name, n, len(got.Tokens), got.Stop)
			}
			check("MaxTokens", s, got)

			s = newSession(t, m, options)
			var left llama.Piece
			for piece, err := range s.Generate(t.Context(), stream(20), llama.Params{Constraint: c}) {
				if err != nil {
					t.Fatal(err)
				}
				if left.Tokens = append(left.Tokens, piece.Tokens...); len(left.Tokens) == n {
					break
				}
			}
			check("break", s, left)

			s = newSession(t, m, options)
			ctx, cancel := context.WithCancel(t.Context())
			left = llama.Piece{}
			for piece, err := range s.Generate(ctx, stream(20), llama.Params{Constraint: c}) {
				if left.Tokens = append(left.Tokens, piece.Tokens...); len(left.Tokens) == n {
					cancel()
				}
				if err != nil && !errors.Is(err, context.Canceled) {
					t.Fatal(err)
				}
			}
			cancel()
			if len(left.Tokens) != n {
				t.Errorf("%s: cancelled after token %d, %d came", name, n, len(left.Tokens))
			}
			check("cancelled", s, left)
		}
		for _, stop := range []string{"three", "seven", " nin", "elev"} {
			s := newSession(t, m, options)
			got := constrained(t, s, c, llama.Params{Stop: []string{stop}})
			if before, _, found := strings.Cut(all.Text, stop); got.Stop != llama.StopString || !found || got.Text != before {
				t.Errorf("%s, stop %q: %q (%v)", name, stop, got.Text, got.Stop)
			}
			check("stop", s, got)
		}
	}
	all = constrained(t, newSession(t, m, nil), c, llama.Params{})
	for room := 1; room <= len(all.Tokens); room++ {
		s := newSession(t, m, &llama.SessionOptions{Capacity: 20 + room})
		got := constrained(t, s, c, llama.Params{})
		want := llama.ContextFull
		if room == len(all.Tokens) {
			want = llama.EndOfTurn
		}
		if got.Stop != want || !slices.Equal(got.Tokens, all.Tokens[:room]) || s.CacheLen() != 20+room {
			t.Errorf("room for %d tokens: %d tokens, %v", room, len(got.Tokens), got.Stop)
		}
		s.Close()
	}
}

// TestConstrainedDraftsAreCut proposes some tokens that are not allowed, also after forced ones: the answer stays what it is, and nothing
// is computed that cannot be accepted.
func TestConstrainedDraftsAreCut(t *testing.T) {
	var count atomic.Int64
	slow := backendtest.NewDevice(cpu.New(1), func(call string, _ *tensor.Tensor) error {
		if call == "Gather" {
			count.Add(1)
			time.Sleep(3 * time.Millisecond) // so that drafts pay
		}
		return nil
	})
	m := otherModel(t, slow)
	long := newForm(t, m, part{set: digits, least: 4, most: 4}, part{text: strings.Repeat("a fox and a hare, ", 10)}, part{set: digits, least: 4, most: 4})
	for name, c := range map[string]*form{"record": record(t, m), "long": long} {
		p := llama.Params{Temperature: 1, Seed: 3}
		want := constrained(t, newSession(t, m, nil), c, p)
		s := newSession(t, m, nil)
		went := &follower{went: slices.Concat(stream(20), want.Tokens), wrong: llama.Token(m.Tokenizer().Encode("Z")[0])}
		p.Draft = went
		spared := false
		for range 4 { // the session learns how long a step takes
			count.Store(0)
			if err := s.Truncate(0); err != nil {
				t.Fatal(err)
			}
			got := constrained(t, s, c, p)
			if !slices.Equal(got.Tokens, want.Tokens) || got.Stop != want.Stop || got.Stats.ForcedTokens != want.Stats.ForcedTokens {
				t.Fatalf("%s: with drafts %q, without %q", name, got.Text, want.Text)
			}
			if got.Stats.DraftedTokens != got.Stats.AcceptedTokens { // the wrong ones are not computed
				t.Errorf("%s: %d of %d drafted tokens were accepted", name, got.Stats.AcceptedTokens, got.Stats.DraftedTokens)
			}
			spared = spared || got.Stats.DraftedTokens > 0 && int(count.Load()) < got.Stats.GeneratedTokens/2
		}
		if went.asked == 0 || !spared && asm.Tier() != "generic" { // with portable kernels drafts do not pay
			t.Errorf("%s: drafts did not spare steps: %d passes", name, count.Load())
		}
	}
}

// TestRefusedDraftsAreNotForced has a refused draft before many forced tokens: these are no draft that was accepted.
func TestRefusedDraftsAreNotForced(t *testing.T) {
	m := otherModel(t, backendtest.NewDevice(cpu.New(1), func(call string, _ *tensor.Tensor) error {
		if call == "Gather" {
			time.Sleep(3 * time.Millisecond)
		}
		return nil
	}))
	c := newForm(t, m, part{set: digits, least: 1, most: 1}, part{set: "xyz", least: 1, most: 1}, part{text: strings.Repeat(" a fox and a hare,", 10)})
	p := llama.Params{MaxTokens: 80}
	second := constrained(t, newSession(t, m, nil), c, p).Text[1]
	s := newSession(t, m, nil)
	for range 20 { // the session learns how long a step takes, and to trust drafts
		if err := s.Prefill(t.Context(), stream(1)); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Truncate(0); err != nil {
		t.Fatal(err)
	}
	p.Draft = &follower{wrong: m.Tokenizer().EncodeContinuation(string("yzx"[second-'x']))[0]}
	got := constrained(t, s, c, p)
	if got.Stats.DraftedTokens == 0 && asm.Tier() != "generic" || got.Stats.AcceptedTokens != 0 {
		t.Errorf("%q: %d of %d drafted tokens were accepted", got.Text, got.Stats.AcceptedTokens, got.Stats.DraftedTokens)
	}
}

// follower proposes how a conversation went on, and behind that a token that does not fit.
type follower struct {
	went  []llama.Token
	wrong llama.Token
	asked int
}

func (f *follower) Draft(dst, context []llama.Token) []llama.Token {
	f.asked++
	if n := len(context); n <= len(f.went) && slices.Equal(context, f.went[:n]) {
		return append(append(dst, f.went[n:min(n+6, len(f.went))]...), f.wrong, f.wrong)
	}
	return append(dst, f.wrong)
}

// scripted is a Constraint and its Matcher as a test wants them; a nil function allows everything.
type scripted struct {
	allowed func(n int, set *llama.TokenSet) error // n tokens are accepted
	accept  func(n int, t llama.Token) error
	forced  func(n int, dst []llama.Token) []llama.Token
	start   func() llama.Matcher
	n       int
}

func (s *scripted) Start() llama.Matcher {
	if s.start != nil {
		return s.start()
	}
	return s.Clone()
}

func (s *scripted) Clone() llama.Matcher {
	c := *s
	return &c
}

func (s *scripted) Allowed(set *llama.TokenSet) error {
	if s.allowed != nil {
		return s.allowed(s.n, set)
	}
	for i := range set.Size() {
		set.Add(llama.Token(i))
	}
	return nil
}

func (s *scripted) Accept(t llama.Token) error {
	if s.accept != nil {
		if err := s.accept(s.n, t); err != nil {
			return err
		}
	}
	s.n++
	return nil
}

func (s *scripted) Forced(dst []llama.Token) []llama.Token {
	if s.forced != nil {
		return s.forced(s.n, dst)
	}
	return dst
}

// TestMatchersThatErr ends answers with the error of a matcher, or for what it does: the tokens that were delivered stay.
func TestMatchersThatErr(t *testing.T) {
	m := pebbleModel(t)
	broken := errors.New("broken")
	some := func(set *llama.TokenSet) {
		for i := range llama.Token(1000) {
			set.Add(i)
		}
	}
	for _, c := range []struct {
		name   string
		c      scripted
		tokens int
		want   string
	}{
		{"Allowed errs", scripted{allowed: func(n int, set *llama.TokenSet) error {
			if some(set); n == 3 {
				return broken
			}
			return nil
		}}, 3, "Params.Constraint: broken"},
		{"Accept errs", scripted{accept: func(n int, _ llama.Token) error {
			if n == 2 {
				return broken
			}
			return nil
		}}, 2, "Params.Constraint: broken"},
		{"nothing is allowed", scripted{allowed: func(n int, set *llama.TokenSet) error {
			if set.Clear(); n < 4 {
				some(set)
			}
			return nil
		}}, 4, "no token"},
		{"an end token is forced", scripted{forced: func(n int, dst []llama.Token) []llama.Token {
			if n == 2 {
				dst = append(dst, m.Config().EOS[0])
			}
			return dst
		}}, 1, "Params.Constraint: token"},
		{"a token that is not there is forced", scripted{forced: func(_ int, dst []llama.Token) []llama.Token { return append(dst, 5, 1<<20) }}, 0, "Params.Constraint: token 1048576"},
		{"what is forced is not accepted", scripted{
			forced: func(_ int, dst []llama.Token) []llama.Token { return append(dst, 5) },
			accept: func(int, llama.Token) error { return broken },
		}, 0, "Params.Constraint: broken"},
		{"no matcher", scripted{start: func() llama.Matcher { return nil }}, 0, "Params.Constraint: Start"},
		{"end tokens alone, and no end", scripted{allowed: func(_ int, set *llama.TokenSet) error {
			for _, e := range m.Config().EOS {
				set.Add(e)
			}
			return nil
		}}, 0, "no token"},
		{"a mask forbids what is allowed", scripted{allowed: func(n int, set *llama.TokenSet) error {
			if n > 0 {
				set.Clear()
				set.Add(5)
			}
			some(set)
			return nil
		}}, 0, "left to choose"},
	} {
		s := newSession(t, m, nil)
		p := llama.Params{Constraint: &c.c, MaxTokens: 20}
		if strings.HasPrefix(c.name, "a mask") {
			p.Mask = llama.LogitMaskFunc(func(_ []llama.Token, logits []float32) error {
				for i := range 1000 {
					logits[i] = float32(math.Inf(-1))
				}
				return nil
			})
		}
		got, err := llama.Collect(s.Generate(t.Context(), stream(20), p))
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.HasPrefix(c.want, "Params.Constraint: broken") && !errors.Is(err, broken) {
			t.Errorf("%s: %v", c.name, err)
		}
		if len(got.Tokens) != c.tokens || !slices.Equal(s.Tokens(), slices.Concat(stream(20), got.Tokens)) || got.Stats.GeneratedTokens != c.tokens {
			t.Errorf("%s: %d tokens, want %d", c.name, len(got.Tokens), c.tokens)
		}
		if goOn(t, s, 2) == nil {
			t.Errorf("%s: the session does not go on", c.name)
		}
		s.Close()
	}
}

// TestConstraintEnds ends an answer without a choice if it can only end, and never if it must not end.
func TestConstraintEnds(t *testing.T) {
	m := pebbleModel(t)
	c := newForm(t, m, part{set: digits, least: 3, most: 3})
	c.chosen = true
	drawn := 0
	got := constrained(t, newSession(t, m, nil), c, llama.Params{Mask: llama.LogitMaskFunc(func([]llama.Token, []float32) error {
		drawn++
		return nil
	})})
	if got.Stop != llama.EndOfTurn || len(got.Text) != 3 || drawn != len(got.Tokens) {
		t.Errorf("%q (%v), chosen %d times for %d tokens", got.Text, got.Stop, drawn, len(got.Tokens))
	}
	empty := constrained(t, newSession(t, m, nil), newForm(t, m), llama.Params{})
	if empty.Stop != llama.EndOfTurn || len(empty.Tokens) != 0 || empty.Stats.GeneratedTokens != 0 {
		t.Errorf("an empty form: %q (%v)", empty.Text, empty.Stop)
	}
	// A mask that wants the end at every token gets it only if it may come.
	wish := llama.LogitMaskFunc(func(_ []llama.Token, logits []float32) error {
		for _, e := range m.Config().EOS {
			logits[e] = 1e6
		}
		return nil
	})
	wished := constrained(t, newSession(t, m, nil), newForm(t, m, part{set: letters, least: 5, most: 50}), llama.Params{Mask: wish})
	if n := len(wished.Text); wished.Stop != llama.EndOfTurn || n < 5 {
		t.Errorf("%q (%v)", wished.Text, wished.Stop)
	}
}

// TestConstrainedLogitsAreTheModels asks for logits inside the loop: they are those without the constraint.
func TestConstrainedLogitsAreTheModels(t *testing.T) {
	effort.Turn(t, 8)
	for _, device := range []*distant{nil, newDistant()} {
		m := pebbleModel(t)
		if device != nil {
			m = otherModel(t, device)
		}
		for name, p := range choices() {
			s, plain := newSession(t, m, nil), newSession(t, pebbleModel(t), nil)
			if err := plain.Prefill(t.Context(), stream(20)); err != nil {
				t.Fatal(err)
			}
			p.Constraint, p.MaxTokens = record(t, m), 25
			for piece, err := range s.Generate(t.Context(), stream(20), p) {
				if err != nil {
					t.Fatal(err)
				}
				if !slices.Equal(logitsOf(s), logitsOf(plain)) {
					t.Fatalf("%s: the logits differ at %q", name, piece.Text)
				}
				if err := plain.Prefill(t.Context(), piece.Tokens); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

// TestConstraintsChangeBetweenAnswers answers twice from the same logits, which the device may have kept, by different constraints.
func TestConstraintsChangeBetweenAnswers(t *testing.T) {
	effort.Turn(t, 8)
	m := otherModel(t, newDistant())
	for name, p := range choices() {
		s := newSession(t, m, nil)
		if err := s.Prefill(t.Context(), stream(20)); err != nil {
			t.Fatal(err)
		}
		for i, set := range []string{digits, letters, "", digits} {
			p.MaxTokens, p.Constraint = 1, nil
			if set != "" {
				c := newForm(t, m, part{set: set, least: 4, most: 10})
				c.chosen, p.Constraint = true, c
			}
			want, err := llama.Collect(newSession(t, pebbleModel(t), nil).Generate(t.Context(), stream(20), p))
			if err != nil {
				t.Fatal(err)
			}
			got, err := llama.Collect(fork(t, s).Generate(t.Context(), nil, p))
			if err != nil || !slices.Equal(got.Tokens, want.Tokens) {
				t.Errorf("%s, answer %d: %q, want %q: %v", name, i, got.Text, want.Text, err)
			}
			for range s.Generate(t.Context(), nil, p) {
				break
			}
			if err := s.Truncate(20); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestConstraintMoves moves a session to and fro inside the loop: the answer goes on with its matcher.
func TestConstraintMoves(t *testing.T) {
	effort.Turn(t, 8)
	a, b := pebbleModel(t), otherModel(t, cpu.New(1))
	c := record(t, a)
	for name, p := range choices() {
		p.MaxTokens = 30
		want := constrained(t, newSession(t, a, nil), c, p)
		for _, every := range []int{1, 4} {
			s, models, i := newSession(t, a, nil), []*llama.Model{b, a}, 0
			p.Constraint = c
			var got []llama.Token
			for piece, err := range s.Generate(t.Context(), stream(20), p) {
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, piece.Tokens...)
				if i++; i%every == 0 {
					if _, err := s.Move(t.Context(), models[i/every%2]); err != nil {
						t.Fatal(err)
					}
				}
			}
			if !slices.Equal(got, want.Tokens) {
				t.Errorf("%s, moved every %d tokens: %v, want %v", name, every, got, want.Tokens)
			}
			s.Close()
		}
	}
}

// TestConstrainedPool asks a pool.
func TestConstrainedPool(t *testing.T) {
	m := pebbleModel(t)
	c := record(t, m)
	p := llama.Params{Constraint: c, Temperature: 1, Seed: 4}
	want := constrained(t, newSession(t, m, nil), c, p)
	pool := newPool(t, m, nil)
	for range 3 {
		if got := poolAnswer(t, pool, stream(20), p); got.Text != want.Text || got.Stats.ForcedTokens != want.Stats.ForcedTokens {
			t.Errorf("%q, want %q", got.Text, want.Text)
		}
	}
}

// overlapping is a model on a device that waits in each step until its matcher has been asked about the next, if it is to be.
func overlapping(t *testing.T, gather func()) *llama.Model {
	return otherModel(t, backendtest.NewDevice(cpu.New(1), func(call string, _ *tensor.Tensor) error {
		if call == "Gather" {
			gather()
		}
		return nil
	}))
}

// TestMatcherIsAskedDuringTheStep has steps take as long as it takes until the matcher is asked, which is over before the loop's body
// runs. Before the first steps it is not known how long they take.
func TestMatcherIsAskedDuringTheStep(t *testing.T) {
	if runtime.GOMAXPROCS(0) == 1 {
		t.Skip("one goroutine at a time")
	}
	asked, computing, inside := make(chan struct{}, 1), make(chan struct{}, 1), atomic.Bool{}
	overlaps := 0
	m := overlapping(t, func() {
		select {
		case computing <- struct{}{}:
		default:
		}
		select {
		case <-asked:
			overlaps++
		case <-time.After(5 * time.Millisecond):
		}
		select {
		case <-computing:
		default:
		}
	})
	c := &scripted{forced: func(n int, dst []llama.Token) []llama.Token {
		if n%7 == 5 {
			dst = append(dst, 5, 6)
		}
		return dst
	}, allowed: func(n int, set *llama.TokenSet) error {
		if n%7 == 0 { // after forced tokens: it takes longer than the step
			time.Sleep(12 * time.Millisecond)
		}
		if inside.Load() {
			t.Error("the matcher is asked while the loop's body runs")
		}
		select {
		case <-computing: // a step is under way, and waits for this
			asked <- struct{}{}
		case <-time.After(time.Millisecond):
		}
		for i := range llama.Token(1000) {
			set.Add(i)
		}
		return nil
	}}
	s := newSession(t, m, nil)
	inside.Store(false)
	before := runtime.NumGoroutine()
	n := 0
	for _, err := range s.Generate(t.Context(), stream(20), llama.Params{Constraint: c, MaxTokens: 30}) {
		if err != nil {
			t.Fatal(err)
		}
		inside.Store(true)
		if n%7 >= 4 { // forced tokens among them
			time.Sleep(15 * time.Millisecond)
		}
		if n++; n == 25 {
			break
		}
		inside.Store(false)
	}
	if overlaps < 10 {
		t.Errorf("of %d steps %d overlapped with a mask", n, overlaps)
	}
	if now := runtime.NumGoroutine(); now > before {
		t.Errorf("%d goroutines, %d before", now, before)
	}
}

// TestMatcherPanics panics in Allowed, during a step and before one: the panic is that of the goroutine that ranges over the answer, which
// leaves the session usable. An Allowed that ends its goroutine during a step ends the answer.
func TestMatcherPanics(t *testing.T) {
	m := overlapping(t, func() { time.Sleep(2 * time.Millisecond) })
	for _, at := range []int{0, 1, 8} {
		for _, exits := range []bool{false, true} {
			if exits && at < 8 {
				continue // it may be the test's goroutine
			}
			s := newSession(t, m, nil)
			if err := s.Prefill(t.Context(), stream(30)); err != nil {
				t.Fatal(err)
			}
			c := &scripted{allowed: func(n int, set *llama.TokenSet) error {
				for i := range llama.Token(1000) {
					set.Add(i)
				}
				if n < at {
					return nil
				}
				if exits {
					runtime.Goexit()
				}
				panic("matcher")
			}}
			var err error
			what := func() (what any) {
				defer func() { what = recover() }()
				_, err = llama.Collect(s.Generate(t.Context(), nil, llama.Params{Constraint: c, MaxTokens: 20}))
				return nil
			}()
			if exits && (what != nil || err == nil || !strings.Contains(err.Error(), "did not return")) || !exits && what != "matcher" {
				t.Errorf("at token %d, exits %t: %v, %v", at, exits, what, err)
			}
			if goOn(t, s, 2) == nil {
				t.Error("the session does not go on")
			}
		}
	}
}
