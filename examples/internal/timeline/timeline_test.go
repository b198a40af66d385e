package timeline

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/antigravity-go/antigravity/backend"
	_ "github.com/antigravity-go/antigravity/backend/cpu"
	"github.com/antigravity-go/antigravity/eviction"
	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/pebble"
	"github.com/antigravity-go/antigravity/tensor"
)

// answers lets some sessions with a small budget read a prompt and answer, all at once, and returns their tokens and what their caches
// gave up.
func answers(t *testing.T, process *Process) (tokens [][]llama.Token, usage []llama.CacheUsage) {
	t.Helper()
	o := backend.Options{Threads: 2}
	var load llama.LoadOptions
	if process != nil {
		o.Record, load.Trace = process.Record(), process.Trace()
	}
	b, err := backend.Open("cpu", o)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	load.Backend = b
	m, err := pebble.Load(&load)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	const sessions = 3
	tokens, usage = make([][]llama.Token, sessions), make([]llama.CacheUsage, sessions)
	var open []*llama.Session
	for range sessions {
		policy, err := eviction.NewSlidingWindow(60, 4)
		if err != nil {
			t.Fatal(err)
		}
		s, err := m.NewSession(&llama.SessionOptions{Eviction: policy, Chunk: 32})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		open = append(open, s)
	}
	if process != nil {
		process.timeline.Begin("answers")
		defer process.timeline.End()
	}
	var all sync.WaitGroup
	for i, s := range open {
		all.Go(func() {
			prompt := m.Tokenizer().EncodeSpecial(fmt.Sprint("Tell me about the numbers ", i, strings.Repeat(" and one more", 20)), true)
			answer, err := llama.Collect(s.Generate(t.Context(), prompt, llama.Params{MaxTokens: 30}))
			if err != nil {
				t.Error(err)
			}
			tokens[i], usage[i] = answer.Tokens, s.CacheUsage()
		})
	}
	all.Wait()
	return tokens, usage
}

// TestTracedAnswersAreTheSame answers with a timeline and without: the answers must have the same tokens, and the trace must have the
// evictions that the sessions count.
func TestTracedAnswersAreTheSame(t *testing.T) {
	want, _ := answers(t, nil)
	line := New(0)
	process := line.Process("pebble")
	got, usage := answers(t, process)
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%v, want %v", got, want)
	}
	var text bytes.Buffer
	events, err := line.Write(&text, map[string]string{"model": "pebble"})
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		TraceEvents []struct {
			Name string
			Ph   string
			Args map[string]any
		}
	}
	if err := json.Unmarshal(text.Bytes(), &file); err != nil {
		t.Fatal(err)
	}
	evictions, slots, shares, chosen := 0, 0, 0, 0
	for _, e := range file.TraceEvents {
		switch {
		case strings.HasPrefix(e.Name, "evict ("):
			evictions++
			slots += int(e.Args["slots given up"].(float64))
		case e.Args["pieces"] != nil:
			shares++
		case strings.HasPrefix(e.Name, "choose"):
			chosen++
		}
	}
	wantEvictions, wantSlots, wantChosen := 0, 0, len(slices.Concat(want...))
	for _, u := range usage {
		wantEvictions, wantSlots = wantEvictions+u.Evictions, wantSlots+u.EvictedSlots
	}
	if evictions != wantEvictions || slots != wantSlots || evictions == 0 {
		t.Errorf("%d evictions of %d slots in the trace, %d of %d counted by the sessions", evictions, slots, wantEvictions, wantSlots)
	}
	if shares == 0 || chosen != wantChosen || events < shares+chosen {
		t.Errorf("%d shares of threads, %d choices of %d, %d events", shares, chosen, wantChosen, events)
	}
	if after, full := line.Full(); full {
		t.Errorf("full after %v", after)
	}
}

func TestNothingIsKeptOutsideBeginAndEnd(t *testing.T) {
	line := New(0)
	process := line.Process("p")
	told := func() {
		process.Operation(Operation{})
		process.Trace().Pass(llama.PassInfo{})
	}
	told()
	line.Begin("a")
	line.End()
	told()
	if n := process.count(); n != 0 {
		t.Errorf("%d events are kept", n)
	}
	line.Begin("b")
	told()
	line.End()
	if n := process.count(); n != 2 {
		t.Errorf("%d events are kept, want 2", n)
	}
	var none *File
	none.Begin("nobody")
	none.End()
	if err := none.Close(nil, nil); err != nil {
		t.Error(err)
	}
}

func TestNames(t *testing.T) {
	for want, p := range map[string]backend.Phase{
		"task":                   {},
		"MatMulAdd 512x256":      {Operation: "MatMulAdd", Rows: 512, Cols: 256, DType: tensor.Q4_0},
		"MatMulAdd activation 8": {Operation: "MatMulAdd", Part: "activation", Cols: 8},
	} {
		if got := phaseName(map[backend.Phase]string{}, p); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestKeepingIsCheap(t *testing.T) {
	line := New(1 << 20)
	process := line.Process("p")
	line.Begin("a")
	trace := process.Trace()
	if n := testing.AllocsPerRun(5*chunkEvents, func() {
		process.Operation(Operation{})
		trace.Step(llama.StepInfo{})
	}); n > 0.1 {
		t.Errorf("%v allocations for two events", n)
	}
}
