package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/antigravity-go/antigravity/examples/internal/cli"
	"github.com/antigravity-go/antigravity/examples/tools/internal/workload"
	"github.com/antigravity-go/antigravity/internal/countdown"
	"github.com/antigravity-go/antigravity/internal/fixture"
	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/pebble"
)

// results runs bench with -json and returns what it prints.
func results[T any](t *testing.T, args ...string) (list []T) {
	t.Helper()
	var out, stderr bytes.Buffer
	if err := run(t.Context(), append(args, "-json"), nil, &out, &stderr); err != nil {
		t.Fatal(err, stderr.String())
	}
	decoder := json.NewDecoder(&out)
	decoder.DisallowUnknownFields()
	for decoder.More() {
		var r T
		if err := decoder.Decode(&r); err != nil {
			t.Fatal(err)
		}
		list = append(list, r)
	}
	return list
}

func TestRates(t *testing.T) {
	for _, c := range []struct {
		name  string
		args  []string
		depth int
		want  []string // tests, the sessions, the tokens proposed at a time, and whether there is a rate of rows
	}{
		{"alone", []string{"-p", "8", "-depth", "3"}, 3, []string{"pp8 0 0 false", "tg6 1 0 false"}},
		{"waited for", []string{"-p", "8", "-sync"}, 0, []string{"pp8 0 0 false", "tg6 1 0 false"}},
		{"sessions", []string{"-p", "8", "-sessions", "1, 3"}, 128, []string{"pp8 0 0 false", "tg6 1 0 false", "tg6 3 0 true"}},
		{"drafts", []string{"-p", "0", "-draft", "2", "-depth", "5"}, 5, []string{"tg6 1 0 false", "tg6 1 2 false"}},
		{"drafts that are right now and then", []string{"-p", "0", "-draft", "2", "-accept", "0, 0.5"}, 128, []string{"tg6 1 0 false", "tg6 1 2 false", "tg6 1 2 false"}},
		{"drafts of sessions", []string{"-p", "0", "-sessions", "2", "-draft", "2"}, 128, []string{"tg6 2 0 true", "tg6 2 2 false"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, r := range results[result](t, append(c.args, "-n", "6", "-r", "2")...) {
				got = append(got, fmt.Sprint(r.Test, " ", r.Sessions, " ", r.Draft, " ", r.RowsPerSecond > 0))
				if r.TokensPerSecond <= 0 || r.Repetitions != 2 || r.Depth != c.depth || r.KV != "f16" || r.Type != "q4_0" {
					t.Errorf("%+v", r)
				}
				if r.Rows != 0 && (r.RowsPerSecond <= 0 || r.Rows < 1 || r.Rows > float64(r.Sessions)) {
					t.Errorf("%d sessions are compared with %v rows at %v/s", r.Sessions, r.Rows, r.RowsPerSecond)
				}
				if steps := r.TokensPerStep; steps != 0 && r.Draft == 0 && steps != 1 || steps < 0 || steps > float64(1+r.Draft) {
					t.Errorf("%s: %v tokens a step", r.title(), steps)
				}
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("tests %q, want %q", got, c.want)
			}
		})
	}
}

// TestSchema measures answers that have no choice but in their first value, which a document decides.
func TestSchema(t *testing.T) {
	folder := t.TempDir()
	schema, document := filepath.Join(folder, "schema.json"), filepath.Join(folder, "document.json")
	for path, text := range map[string]string{schema: `{"enum":["first","the second of the two"]}`, document: ` "the second of the two"`} {
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	list := results[result](t, "-p", "0", "-n", "40", "-r", "1", "-schema", schema, "-document", document)
	var names []string
	for _, r := range list {
		names = append(names, r.Test)
	}
	if want := []string{"tg40", "tg40+schema", "tg40+schema-unforced"}; !slices.Equal(names, want) {
		t.Fatalf("tests %q, want %q", names, want)
	}
	if list[0].Forced != 0 || list[1].Forced < 0.3 || list[2].Forced != 0 {
		t.Errorf("of the tokens are forced: %v, %v, %v", list[0].Forced, list[1].Forced, list[2].Forced)
	}
}

// TestGuideLeads follows the choices along a document, also after a token that is not the document's.
func TestGuideLeads(t *testing.T) {
	model, err := pebble.Load(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer model.Close()
	const text = `{"name":"Ada Lovelace","born":1815}`
	guide := newGuide(model, text)
	logits := make([]float32, model.Config().VocabSize)
	for _, begin := range []string{"", "{", `{"`, `{"na`} {
		generated := model.Tokenizer().EncodeContinuation(begin)
		for {
			clear(logits)
			if err := guide.Apply(generated, logits); err != nil {
				t.Fatal(err)
			}
			best := llama.Token(slices.Index(logits, slices.Max(logits)))
			if model.IsEnd(best) {
				break
			}
			generated = append(generated, best)
		}
		if got := model.Tokenizer().Decode(generated...); got != text {
			t.Errorf("after %q: %q, want %q", begin, got, text)
		}
	}
}

// TestForksShare makes sessions that differ in their last token alone, and share the memory of the tokens before it.
func TestForksShare(t *testing.T) {
	model, err := pebble.Load(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer model.Close()
	b := &bench{options: &options{depth: 300, forks: true}, model: model}
	first, err := b.newAnswerer(t.Context(), 0, 8, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer first.session.Close()
	before := model.MemoryUsage().Caches
	fork, err := b.newAnswerer(t.Context(), 1, 8, first)
	if err != nil {
		t.Fatal(err)
	}
	defer fork.session.Close()
	if got, want := fork.session.Tokens(), first.session.Tokens(); !slices.Equal(got, fork.start) || !slices.Equal(got[:300], want[:300]) || got[300] == want[300] {
		t.Errorf("the fork holds %v, the first %v", got, want)
	}
	if more := model.MemoryUsage().Caches - before; more > before/2 {
		t.Errorf("the fork takes %d bytes, the first session %d", more, before)
	}
}

// TestOracleIsRight generates answers of several sessions, without drafts and with those of an oracle: with Pebble, which would end
// most of them early. All proposals must turn out right, and each session must get the answer that it got without.
func TestOracleIsRight(t *testing.T) {
	model, err := pebble.Load(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer model.Close()
	b := &bench{options: &options{depth: 9}, model: model, endless: workload.Endless(model)}
	var list []*answerer
	for i := range 3 {
		a, err := b.newAnswerer(t.Context(), i, 40, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer a.session.Close()
		list = append(list, a)
	}
	if slices.Equal(list[0].start, list[1].start) {
		t.Error("two sessions have the same prompt")
	}
	if _, err := prepareDrafts(t.Context(), list, drafts{oracle: 4, accept: 1}, model.Config().VocabSize); err != nil {
		t.Fatal(err)
	}
	for i, a := range list {
		if !slices.Equal(a.session.Tokens(), a.start) {
			t.Errorf("session %d does not begin the answer anew", i)
		}
		generated := 0
		for a.session.Position() < len(a.start)+a.tokens {
			for piece, err := range a.session.Generate(t.Context(), nil, llama.Params{MaxTokens: a.tokens - generated, Draft: a.drafter, Mask: a.endless}) {
				if err != nil {
					t.Fatal(err)
				}
				generated += len(piece.Tokens)
				if s := piece.Stats; s.DraftedTokens != s.AcceptedTokens {
					t.Errorf("session %d: %d of %d proposals were right", i, s.AcceptedTokens, s.DraftedTokens)
				}
			}
		}
		if want := a.drafter.(oracle).text; !slices.Equal(a.session.Tokens(), want) {
			t.Errorf("session %d: another answer with drafts", i)
		}
		if n := len(a.session.Tokens()); n != 50 {
			t.Errorf("session %d holds %d tokens, want 50", i, n)
		}
	}
}

func TestOracleStaysInItsText(t *testing.T) {
	o := oracle{[]llama.Token{1, 2, 3, 4}, 2}
	for n, want := range [][]llama.Token{{9, 1, 2}, {9, 2, 3}, {9, 3, 4}, {9, 4}, {9}, {9}} {
		if got := o.Draft([]llama.Token{9}, make([]llama.Token, n)); !slices.Equal(got, want) {
			t.Errorf("after %d tokens: %v, want %v", n, got, want)
		}
	}
}

func TestLatency(t *testing.T) {
	list := results[latency](t, "-latency", "-p", "300,400", "-n", "8", "-r", "2")
	if len(list) != 2 || list[0].Test != "latency300" || list[1].Test != "latency400" {
		t.Fatalf("%+v", list)
	}
	for _, l := range list {
		if l.Alone.Count != 2*7 || l.Beside.Count < 2 || l.Depth != 128 {
			t.Errorf("%+v", l)
		}
		for _, g := range []gaps{l.Alone, l.Beside} {
			if !(0 < g.P50 && g.P50 <= g.P99 && g.P99 <= g.Max) {
				t.Errorf("%+v", g)
			}
		}
		if l.PromptSeconds <= 0 || l.PromptSecondsBeside <= 0 {
			t.Errorf("%+v", l)
		}
	}
}

func TestGaps(t *testing.T) {
	var times []time.Duration
	for i := range 200 {
		times = append(times, time.Duration(200-i)*time.Millisecond)
	}
	if got, want := summarize(times), (gaps{200, 100, 198, 200}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got := summarize(nil); got != (gaps{}) {
		t.Errorf("of nothing: %+v", got)
	}
}

// TestMoments counts the times between two tokens of one answer that reach into the time of a prompt.
func TestMoments(t *testing.T) {
	at := func(s int) time.Time { return time.Unix(int64(1000+s), 0) }
	m := moments{{}, at(1), at(2), at(4), {}, at(5), at(8), at(13), at(14)}
	for _, c := range []struct {
		began, ended int
		want         []int // seconds
	}{
		{3, 10, []int{2, 3, 5}}, {0, 20, []int{1, 2, 3, 5, 1}}, {2, 4, []int{2}}, {9, 12, []int{5}}, {14, 20, nil},
	} {
		var want []time.Duration
		for _, s := range c.want {
			want = append(want, time.Duration(s)*time.Second)
		}
		if got := m.between(at(c.began), at(c.ended)); !slices.Equal(got, want) {
			t.Errorf("from %d to %d: %v, want %v", c.began, c.ended, got, want)
		}
	}
}

func TestProfile(t *testing.T) {
	var out, stderr bytes.Buffer
	if err := run(t.Context(), []string{"-p", "8", "-n", "4", "-r", "2", "-profile", "-span", "64", "-json"}, nil, &out, &stderr); err != nil {
		t.Fatal(err, stderr.String())
	}
	calls, shares := map[string]int{}, map[string]float64{}
	for decoder := json.NewDecoder(&out); decoder.More(); {
		var p profiled
		if err := decoder.Decode(&p); err != nil {
			t.Fatal(err)
		}
		calls[p.Test+" "+p.Op] += p.Calls
		shares[p.Test] += p.Share
		if p.OfLimit < 0 || p.Seconds < 0 || (p.Calls > 0 && p.GBPerSecond <= 0) {
			t.Errorf("%+v", p)
		}
	}
	// Pebble has 8 layers, each with one attention and two projections that are added to the stream.
	for op, want := range map[string]int{"pp8 Attend": 8 * 2, "tg4 Attend": 8 * 4 * 2, "tg4 MatMulAdd": 8 * 2 * 4 * 2} {
		if calls[op] != want {
			t.Errorf("%s: %d calls, want %d", op, calls[op], want)
		}
	}
	for _, test := range []string{"pp8", "tg4"} {
		if s := shares[test]; s < 0.999 || s > 1.001 {
			t.Errorf("%s: the shares add up to %g", test, s)
		}
	}
	if calls[" limits"] != 0 || !slices.Contains(slices.Collect(maps.Keys(calls)), " limits") {
		t.Error("the limits are missing")
	}
}

func TestProfileTable(t *testing.T) {
	var out, stderr bytes.Buffer
	if err := run(t.Context(), []string{"-p", "4", "-n", "0", "-r", "1", "-profile", "-span", "64"}, nil, &out, &stderr); err != nil {
		t.Fatal(err, stderr.String())
	}
	for _, want := range []string{"NormSwiGLU", "1536×256", "q4_0", "elsewhere", "100.0 %"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %s in\n%s", want, out.String())
		}
	}
}

func TestTables(t *testing.T) {
	for _, c := range []struct {
		args         []string
		want, wanted string // words of the header, in their order, and a word of the first row
	}{
		{[]string{"-p", "0"}, "test depth threads kv tokens/s ±", "tg2"},
		{[]string{"-p", "3", "-n", "0"}, "test depth threads kv tokens/s ±", "pp3"},
		{[]string{"-p", "0", "-sessions", "2"}, "test depth threads kv sessions tokens/s ± rows/step rows/s of rows", "tg2"},
		{[]string{"-p", "0", "-draft", "1"}, "test depth threads kv draft tokens/s ± tokens/step accepted of none", "tg2"},
		{[]string{"-p", "5", "-latency"}, "test depth threads kv alone p50 p99 beside p50 p99 of alone prompt alone beside of alone", "latency5"},
	} {
		var out, stderr bytes.Buffer
		if err := run(t.Context(), append([]string{"-n", "2", "-r", "1"}, c.args...), nil, &out, &stderr); err != nil {
			t.Fatal(err, stderr.String())
		}
		lines := strings.Split(out.String(), "\n")
		if got := strings.Join(strings.Fields(lines[0]), " "); got != c.want || !strings.HasPrefix(lines[1], c.wanted+" ") {
			t.Errorf("%v: the table is\n%s", c.args, out.String())
		}
	}
}

func TestMistakes(t *testing.T) {
	for _, args := range [][]string{
		{"-sync", "-profile"}, {"-sync", "-trace", "x"}, {"-p", "x"}, {"-p", "-1"}, {"-p", "0", "-n", "0"}, {"-r", "0"}, {"-kv-type", "q9"}, {"-profile", "-span", "1"},
		{"-sessions", "1,x"}, {"-sessions", "0"}, {"-sessions", ""}, {"-draft", "-1"}, {"-draft", "x"}, {"-draft", "2", "-accept", "0.5,1.1"}, {"-draft", "2", "-accept", "NaN"}, {"-draft", "lookup", "-accept", "1"}, {"-accept", "1"}, {"-draft", "3", "-n", "0"}, {"-sessions", "2", "-n", "0"},
		{"-latency", "-p", "0"}, {"-latency", "-n", "1"}, {"-latency", "-draft", "2"}, {"-latency", "-sessions", "2"}, {"-latency", "-profile"},
		{"-trace", "x", "-profile"}, {"-trace-events", "5"}, {"-trace", "x", "-trace-events", "0"},
		{"-schema", "x", "-draft", "2"}, {"-schema", "x", "-latency"}, {"-schema", "x", "-n", "0"}, {"-document", "x"},
		{"-depth", "2000", "-p", "128", "-n", "0"}, {"-depth", "2000", "-p", "0", "-n", "64"}, {"-depth", "-1"},
	} {
		var usage *cli.UsageError
		if err := run(t.Context(), args, nil, new(bytes.Buffer), new(bytes.Buffer)); !errors.As(err, &usage) {
			t.Errorf("%v: error %v, want a usage error", args, err)
		}
	}
}

func TestInterrupted(t *testing.T) {
	for _, looks := range []int{0, 100, 153, 168} { // loading takes 138
		err := run(countdown.New(t.Context(), looks), []string{"-p", "128", "-n", "30", "-r", "2"}, nil, new(bytes.Buffer), new(bytes.Buffer))
		if !errors.Is(err, context.Canceled) {
			t.Errorf("at look %d: %v", looks, err)
		}
	}
	for _, args := range [][]string{{"-p", "0", "-n", "1900"}, {"-p", "0", "-sessions", "2", "-n", "1900"}, {"-p", "1900", "-latency"}} {
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		err := run(ctx, append(args, "-r", "1000"), nil, new(bytes.Buffer), new(bytes.Buffer))
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v: %v", args, err)
		}
	}
}

// TestExpertsOfProfile finds how many experts a pass chose, and what of their weights a token reads.
func TestExpertsOfProfile(t *testing.T) {
	var out bytes.Buffer
	args := []string{"-model", fixture.Path(t, "families/qwen3moe"), "-p", "1", "-n", "0", "-r", "1", "-profile", "-span", "64"}
	if err := run(t.Context(), args, nil, &out, &out); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "a pass chose 3.0 of 8 experts in a layer") {
		t.Errorf("there is no word of the experts:\n%s", &out)
	}
}
