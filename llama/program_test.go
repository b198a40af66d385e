package llama_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/antigravity-go/antigravity/backend/cpu"
	"github.com/antigravity-go/antigravity/eviction"
	"github.com/antigravity-go/antigravity/internal/effort"
	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/tensor"
)

// plainOptions are options of sessions with slots that the account of a program can count.
func plainOptions(t testing.TB) []*llama.SessionOptions {
	return []*llama.SessionOptions{
		{Capacity: 90, Chunk: 16},
		{KV: tensor.Q4_0, Capacity: 90, Chunk: 7},
		{Eviction: policyOf(t, "sliding", 40), Positions: llama.ReanchorSinks},
		{Eviction: policyOf(t, "sliding", 24), KV: tensor.Q4_0},
		{Eviction: policyOf(t, "snapkv", 32)},
		{Eviction: policyOf(t, "h2o", 24), KV: tensor.Q8_0},
		{Eviction: policyOf(t, "tova", 20), Chunk: 3},
		{Eviction: policyOf(t, "keydiff", 30), Capacity: 100, EvictAfterPrompt: true, Chunk: 16},
		{Eviction: policyOf(t, "expected", 1)},
	}
}

// program plays calls of a session against a plain account of what it must hold. Calls are read off bytes.
type program struct {
	testing.TB
	models  [2]*llama.Model // one model on two devices
	options *llama.SessionOptions
	session *llama.Session
	code    []byte

	tokens  []llama.Token
	slots   int
	evicted int  // tokens at the last eviction
	current bool // there are logits
}

// byte takes the next byte, 0 behind the end.
func (p *program) byte() int {
	if len(p.code) == 0 {
		return 0
	}
	b := p.code[0]
	p.code = p.code[1:]
	return int(b)
}

// some makes tokens.
func (p *program) some() []llama.Token {
	n, first := p.byte()%64, p.byte()
	return stream(first + n)[first:]
}

// budget returns the policy's, 0 without one.
func (p *program) budget() int {
	if p.options.Eviction == nil {
		return 0
	}
	return p.options.Eviction.Budget()
}

// room returns how many tokens fit.
func (p *program) room() int {
	room := 1 << 30
	if p.options.Positions == llama.Strict {
		room = p.models[0].Config().ContextLength - len(p.tokens)
	}
	if p.budget() == 0 || p.options.EvictAfterPrompt {
		room = min(room, p.options.Capacity-p.slots)
	}
	return room
}

// add counts tokens that came together, and the evictions on the way.
func (p *program) add(t []llama.Token) {
	chunk := p.options.Chunk
	if chunk == 0 {
		chunk = 256
	}
	budget := p.budget()
	if budget > 0 && !p.options.EvictAfterPrompt {
		chunk = min(chunk, max(budget/4, 1))
	}
	for len(t) > 0 {
		n := min(chunk, len(t))
		p.tokens, p.slots, p.current = append(p.tokens, t[:n]...), p.slots+n, true
		t = t[n:]
		if budget > 0 && p.slots >= budget+min(max(budget/8, 1), 64) && (len(t) == 0 || !p.options.EvictAfterPrompt) {
			p.slots, p.evicted = budget, len(p.tokens)
		}
	}
}

// want checks a call's error against what the account foresees: nil, an error to be wrapped, or any error.
func (p *program) want(what string, got, want error) {
	p.Helper()
	switch {
	case want == errAny && got == nil, want != errAny && !errors.Is(got, want):
		p.Fatalf("%s: %v, want %v", what, got, want)
	}
}

var errAny = errors.New("an error")

// when returns err if wrong, else nil.
func when(wrong bool, err error) error {
	if wrong {
		return err
	}
	return nil
}

// calls are what a program can do.
var calls = []func(p *program){
	func(p *program) {
		t := p.some()
		full := len(t) > p.room()
		p.want("prefill", p.session.Prefill(p.Context(), t), when(full, llama.ErrContextFull))
		if !full {
			p.add(t)
		}
	},
	func(p *program) {
		t := p.some()
		full := len(t) > p.room()
		scores, err := p.session.Score(p.Context(), t)
		p.want("score", err, when(full, llama.ErrContextFull))
		if full {
			return
		}
		if len(scores) != len(t) {
			p.Fatalf("%d scores of %d tokens", len(scores), len(t))
		}
		if len(t) > 0 { // otherwise nothing is computed, not even logits that are missing
			p.current = len(p.tokens) > 0
		}
		p.add(t)
	},
	func(p *program) {
		ctx, cancel := context.WithCancel(p.Context())
		cancel()
		t := append(p.some(), 1)
		want := context.Canceled
		if len(t) > p.room() {
			want = llama.ErrContextFull
		}
		p.want("cancelled", p.session.Prefill(ctx, t), want)
	},
	(*program).generate,
	func(p *program) {
		n := p.byte() - 1
		wrong := n < 0 || n > len(p.tokens) || n > 0 && n < p.evicted
		p.want("truncate", p.session.Truncate(n), when(wrong, errAny))
		if wrong || n == len(p.tokens) {
			return
		}
		p.slots, p.tokens, p.current = p.slots-(len(p.tokens)-n), p.tokens[:n], false
		if n == 0 {
			p.slots, p.evicted = 0, 0
		}
	},
	func(p *program) {
		target := p.byte()%70 - 1
		wrong := target < 1 && p.options.Eviction != nil || p.options.Eviction == nil && target < p.slots
		result, err := p.session.Evict(target)
		p.want("evict", err, when(wrong, errAny))
		if !wrong && target < p.slots {
			if result.Slots != p.slots-target || result.Reason != eviction.ByRequest || result.Bytes <= 0 {
				p.Fatalf("%d slots to %d: %+v", p.slots, target, result)
			}
			p.slots, p.evicted = target, len(p.tokens)
		}
	},
	func(p *program) {
		state := save(p, p.session)
		restored, err := p.models[p.byte()%2].Restore(bytes.NewReader(state), p.options)
		p.want("restore", err, nil)
		p.replace(restored)
	},
	func(p *program) {
		fork, err := p.session.Fork()
		p.want("fork", err, nil)
		p.replace(fork)
	},
	func(p *program) {
		_, err := p.session.Move(p.Context(), p.models[p.byte()%2])
		p.want("move", err, nil)
	},
	(*program).close,
}

// generate answers, is sometimes broken off, and sometimes moved on the way.
func (p *program) generate() {
	params := llama.Params{MaxTokens: 1 + p.byte()%20, Temperature: 1, Seed: uint64(p.byte())}
	prompt, stop, move := p.some(), p.byte(), p.byte()
	full, empty := len(prompt) > p.room(), len(prompt)+len(p.tokens) == 0
	if !full && !empty {
		p.add(prompt)
		p.current = true
	}
	n := 0
	for piece, err := range p.session.Generate(p.Context(), prompt, params) {
		switch {
		case full:
			p.want("generate", err, llama.ErrContextFull)
			return
		case empty:
			p.want("generate", err, errAny)
			return
		}
		p.want("generate", err, nil)
		if !slices.Equal(p.session.Tokens(), p.tokens) {
			p.Fatal("a token is part of the conversation before it was delivered")
		}
		if piece.Stop == llama.ContextFull && p.room() > 0 {
			p.Fatalf("the context is full, with room for %d", p.room())
		}
		if _, err := p.session.Evict(1); !errors.Is(err, llama.ErrBusy) {
			p.Fatalf("a call inside another's loop: %v", err)
		}
		if move%8 == n {
			_, err := p.session.Move(p.Context(), p.models[move/8%2])
			p.want("move in a loop", err, nil)
		}
		n++
		p.add(piece.Tokens)
		if stop%32 == n {
			break
		}
	}
}

// close closes the session, which then refuses everything, and begins another.
func (p *program) close() {
	p.want("close", p.session.Close(), nil)
	p.want("close again", p.session.Close(), nil)
	_, scored := p.session.Score(p.Context(), nil)
	_, evicted := p.session.Evict(1000)
	_, forked := p.session.Fork()
	_, moved := p.session.Move(p.Context(), p.models[0])
	for what, err := range map[string]error{
		"prefill": p.session.Prefill(p.Context(), nil), "score": scored, "evict": evicted, "fork": forked, "move": moved,
		"truncate": p.session.Truncate(len(p.tokens)), "save": p.session.Save(new(bytes.Buffer)),
	} {
		p.want(what+" after close", err, llama.ErrClosed)
	}
	for _, err := range p.session.Generate(p.Context(), nil, llama.Params{}) {
		p.want("generate after close", err, llama.ErrClosed)
	}
	p.begin()
}

// begin makes an empty session.
func (p *program) begin() {
	s, err := p.models[0].NewSession(p.options)
	p.want("new", err, nil)
	p.session, p.tokens, p.slots, p.evicted, p.current = s, nil, 0, 0, false
}

// replace goes on with a copy of the session, which must give the same logits.
func (p *program) replace(s *llama.Session) {
	was := p.session
	p.session = s
	p.compare()
	if p.room() > 0 {
		for _, s := range []*llama.Session{was, s} {
			p.want("prefill of a copy", s.Prefill(p.Context(), []llama.Token{5}), nil)
		}
		p.add([]llama.Token{5})
		if !slices.Equal(logitsOf(was), logitsOf(s)) {
			p.Fatal("a copy gives other logits")
		}
	}
	p.want("close", was.Close(), nil)
}

// compare holds the session against the account.
func (p *program) compare() {
	p.Helper()
	s := p.session
	if !slices.Equal(s.Tokens(), p.tokens) || s.Position() != len(p.tokens) || s.CacheLen() != p.slots {
		p.Fatalf("%d tokens, position %d, %d slots; want %d tokens, %d slots",
			len(s.Tokens()), s.Position(), s.CacheLen(), len(p.tokens), p.slots)
	}
	if asked := len(p.code)%2 == 0; asked && (logitsOf(s) != nil) != p.current { // where nobody asks they stay on the device
		p.Fatalf("logits %t, want %t", !p.current, p.current)
	}
	usage := s.CacheUsage()
	if (usage.Bytes > 0) != (p.slots > 0) || usage.PeakBytes < usage.Bytes {
		p.Fatalf("%d slots: %+v", p.slots, usage)
	}
	var caches int64
	for _, m := range p.models {
		caches += m.MemoryUsage().Caches
	}
	if caches < usage.Bytes+usage.RecordBytes {
		p.Fatalf("the models count %d bytes of caches, the session %+v", caches, usage)
	}
}

// compareLogits holds the logits against those of a session that did nothing but read the tokens.
func (p *program) compareLogits() {
	p.Helper()
	if p.evicted > 0 || p.options.Eviction != nil || !p.current {
		return
	}
	fresh := newSession(p, p.models[0], p.options)
	defer fresh.Close()
	p.want("prefill anew", fresh.Prefill(p.Context(), p.tokens), nil)
	if !slices.Equal(logitsOf(fresh), logitsOf(p.session)) {
		p.Fatalf("after %d tokens the logits are not those of a session that did nothing else", len(p.tokens))
	}
}

// play runs a program. Its first byte chooses the options.
func play(t testing.TB, models [2]*llama.Model, code []byte) {
	options := plainOptions(t)
	p := &program{TB: t, models: models, code: code}
	p.options = options[p.byte()%len(options)]
	p.begin()
	defer func() { p.session.Close() }()
	for len(p.code) > 0 {
		calls[p.byte()%len(calls)](p)
		p.compare()
	}
	p.compareLogits()
}

// twoDevices returns Pebble on two.
func twoDevices(t testing.TB) [2]*llama.Model {
	return [2]*llama.Model{otherModel(t, cpu.New(2)), otherModel(t, cpu.New(1))}
}

// TestPrograms plays random programs with every kind of session.
func TestPrograms(t *testing.T) {
	effort.Turn(t, 8)
	models := twoDevices(t)
	for i := range plainOptions(t) {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			for seed := range uint64(effort.Of(1, 2, 8)) {
				random := rand.New(rand.NewPCG(uint64(i), seed))
				code := []byte{byte(i)}
				for range 60 {
					code = append(code, byte(random.Uint32()))
				}
				play(t, models, code)
			}
		})
	}
}

func FuzzPrograms(f *testing.F) {
	models := twoDevices(f)
	for i := range plainOptions(f) {
		f.Add([]byte{byte(i), 0, 60, 1, 4, 30, 1, 0, 3, 5, 1, 0, 0}) // Score(nil) after Truncate
		f.Add([]byte{byte(i), 0, 60, 1, 4, 50, 0, 60, 1, 3, 5, 1, 0, 0, 9, 2, 6, 1, 0, 50, 7, 8, 1, 3, 9, 9, 9, 4, 2, 5, 20, 4, 70})
	}
	f.Fuzz(func(t *testing.T, code []byte) {
		if len(code) > 100 {
			return
		}
		play(t, models, code)
	})
}
