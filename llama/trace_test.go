package llama_test

import (
	"cmp"
	"errors"
	"math"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/antigravity-go/antigravity/backend/backendtest"
	"github.com/antigravity-go/antigravity/backend/cpu"
	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/pebble"
)

// diary records the calls of a model's Trace.
type diary struct {
	mu      sync.Mutex
	passes  []llama.PassInfo
	steps   []llama.StepInfo
	choices []llama.ChooseInfo
	drafts  []llama.DraftInfo
	evicted []llama.EvictInfo
	moves   []llama.MoveInfo
}

// note returns a function that appends to a list of the diary.
func note[T any](d *diary, list *[]T) func(T) {
	return func(v T) {
		d.mu.Lock()
		defer d.mu.Unlock()
		*list = append(*list, v)
	}
}

// tracedPebble returns Pebble, and its diary.
func tracedPebble(t *testing.T) (*llama.Model, *diary) {
	t.Helper()
	d := &diary{}
	m, err := pebble.Load(&llama.LoadOptions{Trace: &llama.Trace{
		Pass: note(d, &d.passes), Step: note(d, &d.steps), Choose: note(d, &d.choices), Draft: note(d, &d.drafts), Evict: note(d, &d.evicted), Move: note(d, &d.moves),
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m, d
}

// period is something that a session did.
type period struct {
	what  string
	began time.Time
	took  time.Duration
}

// successive reports periods that overlap.
func successive(t *testing.T, who string, list []period) {
	t.Helper()
	slices.SortStableFunc(list, func(a, b period) int { return cmp.Or(a.began.Compare(b.began), cmp.Compare(a.took, b.took)) })
	for i, p := range list[:max(len(list)-1, 0)] {
		if next := list[i+1]; p.began.Add(p.took).After(next.began) {
			t.Errorf("%s: %s of %v ends %v after the beginning of %s", who, p.what, p.took, p.began.Add(p.took).Sub(next.began), next.what)
		}
	}
}

// TestTraceTellsWhatSessionsDo lets three sessions answer at once, one of them with drafts and one with evictions, with a Trace and without.
func TestTraceTellsWhatSessionsDo(t *testing.T) {
	m, d := tracedPebble(t)
	const sessions, prompt, tokens = 3, 150, 40
	endless := llama.LogitMaskFunc(func(_ []llama.Token, logits []float32) error { // so that no answer ends at its first token
		for i := range logits {
			if m.IsEnd(llama.Token(i)) {
				logits[i] = float32(math.Inf(-1))
			}
		}
		return nil
	})
	generate := func(m *llama.Model, i int) (got []llama.Token, s *llama.Session) {
		o := &llama.SessionOptions{Chunk: 64}
		params := llama.Params{MaxTokens: tokens, Temperature: 0.8, Seed: uint64(i), Mask: endless}
		switch i {
		case 1:
			params.Temperature, params.Draft = 0, llama.PromptLookup(llama.LookupOptions{})
		case 2:
			o.Eviction = policyOf(t, "sliding", 100)
		}
		s = newSession(t, m, o)
		answer, err := llama.Collect(s.Generate(t.Context(), stream(prompt + i)[i:], params))
		if err != nil {
			t.Error(err)
		}
		return answer.Tokens, s
	}
	var all sync.WaitGroup
	var answers [sessions][]llama.Token
	var of [sessions]*llama.Session
	for i := range sessions {
		all.Go(func() { answers[i], of[i] = generate(m, i) })
	}
	all.Wait()
	rows, passRows, done := 0, 0, map[uint64][]period{}
	var passes []period
	for i, p := range d.passes {
		if p.Number != uint64(i+1) || p.Steps < 1 || p.Steps > sessions || p.Err != nil {
			t.Errorf("%+v is pass %d", p, i+1)
		}
		passRows += p.Answers + p.Prompts
		passes = append(passes, period{"a pass", p.Began.Add(-p.Waited), p.Waited + p.Took})
	}
	successive(t, "the model", passes)
	prompts, chosen, evictions := map[uint64]int{}, map[uint64]int{}, map[uint64]int{}
	for _, s := range d.steps {
		rows += s.Rows
		if !s.Answer {
			prompts[s.Session] += s.Rows
		}
		pass := d.passes[s.Pass-1]
		if !s.Began.Add(s.Waited).Equal(pass.Began) || pass.Began.Add(pass.Took).After(s.Began.Add(s.Took)) || s.Slots < 1 || s.Bytes < 1 || s.Err != nil {
			t.Errorf("%+v is no part of %+v", s, pass)
		}
		done[s.Session] = append(done[s.Session], period{"a step", s.Began, s.Took})
	}
	if rows != passRows || rows == 0 {
		t.Errorf("%d rows of steps, %d of passes", rows, passRows)
	}
	for _, c := range d.choices {
		if !c.End {
			chosen[c.Session]++
		}
		done[c.Session] = append(done[c.Session], period{"a choice", c.Began, c.Took})
	}
	for _, e := range d.evicted {
		evictions[e.Session] += e.Slots
		if e.LeftSlots < 1 || e.LeftSlots > 100 || e.LeftBytes < 1 {
			t.Errorf("%+v", e)
		}
		done[e.Session] = append(done[e.Session], period{"an eviction", e.Began, e.Duration})
	}
	for _, f := range d.drafts {
		if f.Computed > f.Proposed {
			t.Errorf("%+v", f)
		}
		done[f.Session] = append(done[f.Session], period{"a draft", f.Began, f.Took})
	}
	if len(done) != sessions || len(d.drafts) == 0 {
		t.Errorf("%d sessions, %d drafts", len(done), len(d.drafts))
	}
	for n, list := range done {
		successive(t, "a session", list)
		if prompts[n] != prompt {
			t.Errorf("session %d: %d tokens of the prompt, want %d", n, prompts[n], prompt)
		}
	}
	wantChosen, wantEvicted := 0, 0
	for i := range sessions {
		if want, _ := generate(pebbleModel(t), i); !slices.Equal(answers[i], want) {
			t.Errorf("answer %d is %v with a Trace, %v without", i, answers[i], want)
		}
		wantChosen += len(answers[i])
		wantEvicted += of[i].CacheUsage().EvictedSlots
	}
	gotChosen, gotEvicted := 0, 0
	for n := range done {
		gotChosen, gotEvicted = gotChosen+chosen[n], gotEvicted+evictions[n]
	}
	if gotChosen != wantChosen || gotEvicted != wantEvicted || wantEvicted == 0 {
		t.Errorf("%d choices of %d, %d evicted slots of %d", gotChosen, wantChosen, gotEvicted, wantEvicted)
	}
}

// TestTraceTellsMoves moves a session to a model without a Trace on a device that fails.
func TestTraceTellsMoves(t *testing.T) {
	m, d := tracedPebble(t)
	fault := &backendtest.Fault{Err: errDevice, In: []string{"Attend"}}
	other := otherModel(t, backendtest.NewDevice(cpu.New(1), fault.Before))
	defer other.Close()
	s := newSession(t, m, nil)
	answer(t, s, func(i int) {
		if i == 4 {
			if _, err := s.Move(t.Context(), other); err != nil {
				t.Fatal(err)
			}
			fault.Arm(20)
		}
	})
	if len(d.moves) != 2 {
		t.Fatalf("%d moves, want there and back: %+v", len(d.moves), d.moves)
	}
	there, back := d.moves[0], d.moves[1]
	if there.Session != 1 || there.Because != nil || there.Bytes < 1 || there.Position < 1 || there.Duration <= 0 || there.To != back.From {
		t.Errorf("there: %+v", there)
	}
	if back.Session != 1 || !errors.Is(back.Because, errDevice) || back.To != there.From || back.Began.Before(there.Began.Add(there.Duration)) {
		t.Errorf("back: %+v", back)
	}
	failed := slices.ContainsFunc(d.steps, func(s llama.StepInfo) bool { return errors.Is(s.Err, errDevice) })
	if !failed || d.steps[len(d.steps)-1].Start+1 != s.Position() {
		t.Errorf("the failure is told: %v; the last step is %+v", failed, d.steps[len(d.steps)-1])
	}
}

func TestTraceAllocatesNothing(t *testing.T) {
	var passes, steps int
	m, err := pebble.Load(&llama.LoadOptions{Trace: &llama.Trace{Pass: func(llama.PassInfo) { passes++ }, Step: func(llama.StepInfo) { steps++ }}})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	s := newSession(t, m, nil)
	one := []llama.Token{5}
	next := func() {
		if err := s.Prefill(t.Context(), one); err != nil {
			t.Fatal(err)
		}
	}
	for range 300 { // room in the token list, and scratch memory
		next()
	}
	if n := testing.AllocsPerRun(100, next); n != 0 {
		t.Errorf("%v allocations a token", n)
	}
	if passes != steps || passes < 300 {
		t.Errorf("%d passes, %d steps", passes, steps)
	}
}
