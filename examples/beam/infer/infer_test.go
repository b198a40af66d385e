package infer

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/antigravity-go/antigravity/internal/fixture"
	"github.com/antigravity-go/antigravity/llama"
	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/mtime"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/window"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"
)

// Whatever the bundles, an answer is the one of a session of its own, and the model is in memory once.
func TestInferAnswersAsASessionDoes(t *testing.T) {
	requests := sums(60)
	for _, reshuffle := range []bool{false, true} {
		seen, result := runPipeline(t, func(s beam.Scope) {
			col := beam.CreateList(s, requests)
			if reshuffle { // many bundles
				col = beam.Reshuffle(s, col)
			}
			answers, failures := Infer(s, flintModel, col)
			beam.ParDo0(s, takeAnswer, beam.Reshuffle(s, answers))
			beam.ParDo0(s, takeFailure, failures)
		})
		if len(seen) != len(requests) {
			t.Fatalf("%d elements of %d came", len(seen), len(requests))
		}
		for _, r := range requests {
			if len(seen[r.ID]) != 1 {
				t.Fatalf("%s came %d times: %v", r.ID, len(seen[r.ID]), seen[r.ID])
			}
			a, ok := seen[r.ID][0].(Answer)
			if !ok {
				t.Fatalf("%s: %v", r.ID, seen[r.ID][0])
			}
			text, tokens := alone(t, r)
			if a.Text != text || a.Tokens != tokens || a.Model == "" || a.PromptTokens == 0 || a.Finish != "stop" {
				t.Errorf("%s: %+v, a session: %q of %d tokens", r.ID, a, text, tokens)
			}
		}
		if n := counter(result, "results"); n != int64(len(requests)) {
			t.Errorf("%d results were counted", n)
		}
	}
	loadedModels.mu.Lock()
	defer loadedModels.mu.Unlock()
	n := 0 // other tests open other models
	for m := range loadedModels.open {
		if m.Path == flintModel.Path {
			n++
		}
	}
	if n != 1 {
		t.Errorf("the model is open %d times", n)
	}
}

// A model that sees answers questions about pictures in messages.
func TestInferSees(t *testing.T) {
	var requests []Request
	for i := range 2 {
		file, err := os.ReadFile(fixture.Path(t, fmt.Sprintf("opal/image.%d.0.png", i)))
		if err != nil {
			t.Fatal(err)
		}
		picture, err := llama.NewImage(file)
		if err != nil {
			t.Fatal(err)
		}
		requests = append(requests, Request{ID: fmt.Sprint(i), Input: Input{Messages: []llama.Message{{Role: llama.RoleUser, Parts: []llama.Part{{Image: picture}, {Text: "Describe the picture."}}}}}})
	}
	seen, _ := runPipeline(t, func(s beam.Scope) {
		answers, failures := Infer(s, Model{Path: "opal"}, beam.CreateList(s, requests))
		beam.ParDo0(s, takeAnswer, answers)
		beam.ParDo0(s, takeFailure, failures)
	})
	for i, want := range []string{`The word "ZgqLimitat" in black on a gray background.`, `The number "2652" in green on a white background.`} {
		if a, ok := seen[fmt.Sprint(i)][0].(Answer); !ok || a.Text != want {
			t.Errorf("picture %d: %v", i, seen[fmt.Sprint(i)])
		}
	}
}

// An element's error goes with the element, and the other elements are answered.
func TestFailuresKeepTheirElement(t *testing.T) {
	schema := json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"],"additionalProperties":false}`)
	user := []llama.Message{{Role: "user", Content: "What is 2 + 3?"}}
	wrong := map[string]struct {
		r    Request
		says string
	}{
		"empty":   {Request{}, "neither a prompt nor messages"},
		"both":    {Request{Input: Input{Prompt: "x", Messages: user}}, "messages stand alone"},
		"raw":     {Request{Input: Input{Prompt: "x", System: "y", Raw: true}}, "no system message"},
		"long":    {Request{Input: Input{Prompt: strings.Repeat("x ", 5000)}}, "context is full"},
		"top_p":   {Request{Input: Input{Prompt: "x"}, TopP: 3}, "TopP"},
		"forms":   {Request{Input: Input{Prompt: "x"}, Schema: schema, Regexp: "a"}, "one form"},
		"regexp":  {Request{Input: Input{Prompt: "x"}, Regexp: "("}, "make the constraint of regexp"},
		"schema":  {Request{Input: Input{Prompt: "x"}, Schema: json.RawMessage(`{"type":"nonsense"}`)}, "make the constraint of schema"},
		"role":    {Request{Input: Input{Messages: []llama.Message{{Role: "nobody", Content: "x"}}}}, "role"},
		"tools":   {Request{Input: Input{Prompt: "x"}, Tools: []json.RawMessage{json.RawMessage(`7`)}}, "tools"},
		"grammar": {Request{Input: Input{Prompt: "x"}, Grammar: "root ::= nothing"}, "make the constraint of grammar"},
	}
	requests := sums(20)
	for id, w := range wrong {
		w.r.ID = id
		requests = append(requests, w.r)
	}
	seen, result := runPipeline(t, func(s beam.Scope) {
		answers, failures := Infer(s, flintModel, beam.CreateList(s, requests))
		beam.ParDo0(s, takeAnswer, answers)
		beam.ParDo0(s, takeFailure, failures)
	})
	for _, r := range requests {
		if len(seen[r.ID]) != 1 {
			t.Fatalf("%s came %d times", r.ID, len(seen[r.ID]))
		}
		f, isFailure := seen[r.ID][0].(Failure)
		w, isWrong := wrong[r.ID]
		if isFailure != isWrong {
			t.Fatalf("%s: %v", r.ID, seen[r.ID][0])
		}
		if !isWrong {
			continue
		}
		var again Request
		if err := json.Unmarshal(f.Element, &again); err != nil || again.ID != r.ID || again.Prompt != w.r.Prompt {
			t.Errorf("%s: its element came as %.100s (%v)", r.ID, f.Element, err)
		}
		if !strings.Contains(f.Error, w.says) {
			t.Errorf("%s: the error is %q, and must say %q", r.ID, f.Error, w.says)
		}
	}
	if n := counter(result, "failures"); n != int64(len(wrong)) {
		t.Errorf("%d failures were counted, of %d", n, len(wrong))
	}
}

// An answer of a form has it, and one that calls functions has calls.
func TestForms(t *testing.T) {
	schema := json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer","minimum":0,"maximum":9}},"required":["n"],"additionalProperties":false}`)
	tool := json.RawMessage(`{"type":"function","function":{"name":"timer","description":"Sets a timer.","parameters":{"type":"object",` +
		`"properties":{"duration":{"type":"integer","description":"minutes to wait"}},"required":["duration"]}}}`)
	ask := func(id, text string, change func(*Request)) Request {
		r := Request{ID: id, Input: Input{Prompt: text}, MaxTokens: 60}
		change(&r)
		return r
	}
	seen, _ := runPipeline(t, func(s beam.Scope) {
		answers, failures := Infer(s, flintModel, beam.Create(s,
			ask("schema", "What is 2 + 3?", func(r *Request) { r.Schema = schema }),
			ask("choices", "Is water wet?", func(r *Request) { r.Choices = []string{"yes", "no"} }),
			ask("regexp", "What is 2 + 3?", func(r *Request) { r.Regexp = "[0-9]{3}" }),
			ask("grammar", "What is 2 + 3?", func(r *Request) { r.Grammar = `root ::= "<" [a-z] ">"` }),
			ask("tools", "Set a timer of 12 minutes.", func(r *Request) { r.Tools = []json.RawMessage{tool} }),
			ask("length", "Tell me a story about a fox.", func(r *Request) { r.MaxTokens = 5 }),
			ask("raw", "Once upon", func(r *Request) { r.Raw, r.MaxTokens = true, 5 }),
		))
		beam.ParDo0(s, takeAnswer, answers)
		beam.ParDo0(s, takeFailure, failures)
	})
	is := func(id string, ok func(a Answer) bool) {
		t.Helper()
		if len(seen[id]) != 1 {
			t.Fatalf("%s: %v", id, seen[id])
		}
		if a, isAnswer := seen[id][0].(Answer); !isAnswer || !ok(a) {
			t.Errorf("%s: %+v", id, seen[id][0])
		}
	}
	is("schema", func(a Answer) bool {
		var v struct{ N int }
		return json.Unmarshal([]byte(a.Text), &v) == nil && v.N >= 0 && v.N <= 9
	})
	is("choices", func(a Answer) bool { return a.Text == "yes" || a.Text == "no" })
	is("regexp", func(a Answer) bool { return len(a.Text) == 3 })
	is("grammar", func(a Answer) bool { return len(a.Text) == 3 && a.Text[0] == '<' })
	is("tools", func(a Answer) bool {
		return a.Finish == "tool_calls" && len(a.Calls) == 1 && a.Calls[0].Name == "timer" && strings.Contains(string(a.Calls[0].Arguments), "12")
	})
	is("length", func(a Answer) bool { return a.Finish == "length" && a.Tokens == 5 })
	is("raw", func(a Answer) bool { return a.Finish == "length" && a.Tokens == 5 })
}

func TestEmbed(t *testing.T) {
	texts := []Text{{ID: "a", Text: "What sound does a dog make?"}, {ID: "b", Text: "What sound does a cow make?", Task: "query", Dimensions: 7},
		{ID: "none", Text: strings.Repeat("x ", 5000)}, {ID: "task", Text: "x", Task: "poem"}}
	seen, _ := runPipeline(t, func(s beam.Scope) {
		vectors, failures := Embed(s, flintModel, beam.CreateList(s, texts))
		beam.ParDo0(s, takeVector, vectors)
		beam.ParDo0(s, takeFailure, failures)
	})
	l, release, _, err := loadedModels.use(t.Context(), flintModel)
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	for _, text := range texts[:2] {
		want, err := l.model.EmbedWith(t.Context(), llama.EmbedOptions{Task: text.Task, Dimensions: text.Dimensions}, text.Text)
		if err != nil {
			t.Fatal(err)
		}
		if got := seen[text.ID][0].(Vector); fmt.Sprint(got.Vector) != fmt.Sprint(want[0]) {
			t.Errorf("%s: another vector", text.ID)
		}
	}
	for _, id := range []string{"none", "task"} {
		if _, ok := seen[id][0].(Failure); !ok {
			t.Errorf("%v", seen[id])
		}
	}
}

// A model that gives no answers embeds texts, and requests for answers are failures.
func TestEmbedder(t *testing.T) {
	spec := Model{Path: fixture.Path(t, "families/enc-bert")}
	seen, _ := runPipeline(t, func(s beam.Scope) {
		vectors, failures := Embed(s, spec, beam.CreateList(s, []Text{{ID: "a", Text: "The quick brown fox"}}))
		beam.ParDo0(s, takeVector, vectors)
		beam.ParDo0(s, takeFailure, failures)
	})
	if v, ok := seen["a"][0].(Vector); !ok || len(v.Vector) != 64 {
		t.Errorf("%v", seen["a"])
	}
	l, release, _, err := loadedModels.use(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	if _, _, err := (Request{ID: "b", Input: Input{Prompt: "Hi"}}).compute(t.Context(), l); err == nil || !strings.Contains(err.Error(), "no answers") {
		t.Errorf("a request: %v", err)
	}
}

func TestScore(t *testing.T) {
	seen, _ := runPipeline(t, func(s beam.Scope) {
		scores, failures := Score(s, flintModel, beam.Create(s,
			Continuations{ID: "sum", Input: Input{Prompt: "What is 21 + 38?"}, Continuations: []string{"21 plus 38 is 12.", "21 plus 38 is 59."}},
			Continuations{ID: "none", Input: Input{Prompt: "What is 21 + 38?"}},
			Continuations{ID: "empty", Input: Input{Prompt: "What is 21 + 38?"}, Continuations: []string{""}},
		))
		beam.ParDo0(s, takeScores, scores)
		beam.ParDo0(s, takeFailure, failures)
	})
	s, ok := seen["sum"][0].(Scores)
	if !ok || s.Best != 1 || len(s.Tokens) != 2 || s.Tokens[0] == 0 || s.Logprobs[0] >= s.Logprobs[1] || math.IsNaN(s.Logprobs[0]) {
		t.Errorf("%+v", seen["sum"])
	}
	for _, id := range []string{"none", "empty"} {
		if _, ok := seen[id][0].(Failure); !ok {
			t.Errorf("%s: %v", id, seen[id])
		}
	}
}

// timed gives a request the time that its ID says.
func timed(r Request) (beam.EventTime, Request) {
	var seconds int64
	fmt.Sscanf(r.ID, "q%d", &seconds)
	return mtime.FromMilliseconds(seconds * 1000), r
}

// takeTimed notes an answer with its window and time.
func takeTimed(w beam.Window, at beam.EventTime, a Answer) {
	take(a.ID, fmt.Sprintf("%v %v", w, at.Milliseconds()))
}

func init() {
	register.Function1x2(timed)
	register.Function3x0(takeTimed)
}

// An answer has its request's window and time.
func TestWindowsAndTimes(t *testing.T) {
	requests := sums(12)
	for name, in := range map[string]*window.Fn{"global": window.NewGlobalWindows(), "fixed": window.NewFixedWindows(5 * time.Second)} {
		seen, _ := runPipeline(t, func(s beam.Scope) {
			col := beam.WindowInto(s, in, beam.ParDo(s, timed, beam.CreateList(s, requests)))
			answers, _ := Infer(s, flintModel, col)
			beam.ParDo0(s, takeTimed, answers)
		})
		for i, r := range requests {
			want := fmt.Sprintf("%v %d", window.GlobalWindow{}, i*1000)
			if name == "fixed" {
				begin := mtime.FromMilliseconds(int64(i / 5 * 5000))
				want = fmt.Sprintf("%v %d", window.IntervalWindow{Start: begin, End: begin.Add(5 * time.Second)}, i*1000)
			}
			if got := fmt.Sprint(seen[r.ID]); got != "["+want+"]" {
				t.Errorf("%s windows: %s has %s, and must have [%s]", name, r.ID, got, want)
			}
		}
	}
}
