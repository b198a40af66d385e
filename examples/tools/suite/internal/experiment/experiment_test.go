package experiment

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/antigravity-go/antigravity/examples/tools/internal/runs"
	"github.com/antigravity-go/antigravity/examples/tools/internal/statistics"
	"github.com/antigravity-go/antigravity/examples/tools/internal/sysinfo"
	"github.com/antigravity-go/antigravity/internal/countdown"
	"github.com/antigravity-go/antigravity/internal/precise"
	"github.com/antigravity-go/antigravity/llama/pebble"
)

// small is a Config that is measured soon.
func small(change func(c *runs.Config)) runs.Config {
	c := runs.Config{Model: "pebble", Backend: "cpu", KV: "f16", Policy: "none", Prompt: 40, Generate: 24}
	if change != nil {
		change(&c)
	}
	return c
}

// quick does without the time of the yardsticks.
var quick = Options{yardstick: 1000}

func do(t testing.TB, c runs.Config) *runs.Run {
	t.Helper()
	r, err := Run(t.Context(), c, quick)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestRuns(t *testing.T) {
	for _, c := range []struct {
		name   string
		config runs.Config
	}{
		{"no eviction", small(nil)},
		{"an answer that ends early", small(func(c *runs.Config) { c.Generate = 200 })},
		{"only a prompt", small(func(c *runs.Config) { c.Generate = 0 })},
		{"a prompt of one token", small(func(c *runs.Config) { c.Prompt = 1 })},
		{"a long prompt", small(func(c *runs.Config) { c.Prompt, c.Policy, c.Window = 1500, "sliding", 64 })},
		{"other types", small(func(c *runs.Config) { c.Weights, c.KV, c.Threads = "q8_0", "q4_0", 1 })},
		{"the other model", small(func(c *runs.Config) { c.Model, c.KV = "flint", "q8_0" })},
		{"sliding", small(func(c *runs.Config) { c.Policy, c.Window, c.Protected = "sliding", 16, 4 })},
		{"sliding, nothing protected", small(func(c *runs.Config) { c.Policy, c.Window = "sliding", 16 })},
		{"snapkv", small(func(c *runs.Config) { c.Policy, c.Window = "snapkv", 16 })},
		{"pyramidkv", small(func(c *runs.Config) { c.Policy, c.Window = "pyramidkv", 32 })},
		{"ada", small(func(c *runs.Config) { c.Policy, c.Window = "ada", 16 })},
		{"h2o", small(func(c *runs.Config) { c.Policy, c.Window, c.KV = "h2o", 16, "f32" })},
		{"a window that is not filled", small(func(c *runs.Config) { c.Policy, c.Window = "keydiff", 512 })},
		{"profiled", small(func(c *runs.Config) { c.Profile, c.Policy, c.Window = true, "tova", 16 })},
		{"asked", small(func(c *runs.Config) { c.Questions, c.Skills, c.Asked = "pebble", "capital, opposite", 2 })},
	} {
		t.Run(c.name, func(t *testing.T) {
			began := precise.Now()
			r := do(t, c.config)
			if r.Config != c.config || r.Repetition != 1 || r.Began.Before(began.Add(-time.Second)) || r.Seconds <= 0 || r.Error != "" {
				t.Errorf("%+v", r)
			}
			checkTimes(t, r)
			checkMemory(t, r)
			checkEvictions(t, r)
			checkProfiles(t, r)
			if want := len(fields(c.config.Skills)); len(r.Accuracy) != want {
				t.Errorf("%d skills were asked about, want %d", len(r.Accuracy), want)
			}
			folder := runs.Folder(t.TempDir())
			if err := folder.Write(r); err != nil {
				t.Fatal(err)
			}
			if read, err := folder.Read(&r.Config, 1); err != nil || !reflect.DeepEqual(read, r) {
				t.Errorf("%v: what was read is not what was written:\n%+v\n%+v", err, read, r)
			}
		})
	}
}

func fields(list string) []string {
	return slices.DeleteFunc(strings.Split(list, ","), func(s string) bool { return s == "" })
}

// checkTimes sees to the order of all that has a time.
func checkTimes(t *testing.T, r *runs.Run) {
	t.Helper()
	times := append([]float64{0, r.Reading[0], r.Reading[1]}, r.Tokens...)
	if times = append(times, r.Seconds); !slices.IsSorted(times) || r.Load <= 0 || r.Load > r.Reading[0] {
		t.Errorf("loaded in %g s; not in order: %v", r.Load, times)
	}
	if len(r.Tokens) != r.Config.Generate {
		t.Errorf("%d tokens, want %d", len(r.Tokens), r.Config.Generate)
	}
	for _, y := range r.Yardsticks {
		if y <= 0 {
			t.Errorf("yardsticks of %v ms", r.Yardsticks)
		}
	}
	if r.Machine.Kernels == "" || r.Machine.Device != "" {
		t.Errorf("machine %+v", r.Machine)
	}
	for _, c := range r.Conditions {
		if c.At < 0 || c.At > r.Seconds+1e-3 {
			t.Errorf("a condition of %g s in a run of %g", c.At, r.Seconds)
		}
	}
}

// checkMemory checks that the samples have the beginning, the peak and the end.
func checkMemory(t *testing.T, r *runs.Run) {
	t.Helper()
	m := r.Memory
	if len(m) < 3+(r.Config.Prompt-1)/stretch || m[0].Slots != 0 || m[0].Cache != 0 || !slices.IsSortedFunc(m, func(a, b runs.Memory) int { return int(1e6 * (a.At - b.At)) }) {
		t.Fatalf("memory %+v", m)
	}
	for i, s := range m {
		if i > 0 && s.At < r.Reading[0] || // the first is taken just before
			s.At > r.Seconds || runtime.GOOS == "linux" && s.Resident < 1<<20 {
			t.Errorf("%+v", s)
		}
	}
	last := m[len(m)-1]
	if r.Config.Policy == "none" {
		// The answer's last token need not be computed.
		if tokens := r.Config.Prompt + r.Config.Generate; last.Slots > tokens || last.Slots < tokens-1 {
			t.Errorf("%d slots at the end, for %d tokens", last.Slots, tokens)
		}
	}
	most, peak := int64(0), 0
	for _, s := range m {
		most, peak = max(most, s.Cache), max(peak, s.Slots)
	}
	if most < last.Cache || last.Cache <= 0 || r.Weights < 1<<20 {
		t.Errorf("the cache has %d bytes at the end and %d at most; the weights %d", last.Cache, most, r.Weights)
	}
	if window := r.Config.Window; r.Config.Policy != "none" && r.Config.Policy != "pyramidkv" && r.Config.Policy != "ada" {
		if spare := window/8 + window/4; peak > window+spare { // what the policy lets it outgrow its window, and a chunk of the prompt
			t.Errorf("%d slots with a window of %d", peak, window)
		}
	}
}

func checkEvictions(t *testing.T, r *runs.Run) {
	t.Helper()
	c := r.Config
	if wanted := c.Policy != "none" && c.Window < c.Prompt; wanted != (len(r.Evictions) > 0) {
		t.Errorf("%d evictions with policy %s and a window of %d", len(r.Evictions), c.Policy, c.Window)
	}
	token := 0
	for _, e := range r.Evictions {
		if e.Reason != "budget" || e.Target != c.Window || e.Slots < 1 || e.Bytes <= 0 || e.Took < 0 || e.Token <= token || e.Token > c.Prompt+c.Generate ||
			e.At < r.Reading[0] || e.At > r.Seconds {
			t.Errorf("after one at token %d: %+v", token, e)
		}
		token = e.Token
	}
}

func checkProfiles(t *testing.T, r *runs.Run) {
	t.Helper()
	if !r.Config.Profile {
		if r.Profiles != nil {
			t.Errorf("profiles that nobody wanted: %+v", r.Profiles)
		}
		return
	}
	if len(r.Profiles) != 2 || r.Profiles[0].Part != "prompt" || r.Profiles[1].Part != "answer" {
		t.Fatalf("profiles %+v", r.Profiles)
	}
	for _, p := range r.Profiles {
		sum, attended := 0.0, 0
		for _, o := range p.Operations {
			sum += o.Seconds
			if o.Name == "Attend" {
				attended += o.Calls
			}
		}
		if p.Seconds <= 0 || math.Abs(sum-p.Seconds) > 1e-6 {
			t.Errorf("%s: the operations add up to %g of %g s", p.Part, sum, p.Seconds)
		}
		if last := p.Operations[len(p.Operations)-1]; last.Name != elsewhere || attended < 8 {
			t.Errorf("%s: the last operation is %s, and there are %d calls of Attend in 8 layers", p.Part, last.Name, attended)
		}
	}
}

// TestAccuracy asks Pebble what it knows, and with a small window what it then forgets.
func TestAccuracy(t *testing.T) {
	right := func(change func(c *runs.Config)) float64 {
		c := small(func(c *runs.Config) {
			c.Prompt, c.Generate, c.Questions, c.Skills, c.Asked = 1, 0, "pebble", "capital,arithmetic,needle_late50", 6
			change(c)
		})
		asked, right := 0, 0
		for _, a := range do(t, c).Accuracy {
			asked, right = asked+a.Asked, right+a.Right
		}
		if asked != 18 {
			t.Errorf("%d questions were asked, want 18", asked)
		}
		return float64(right) / float64(asked)
	}
	for _, kv := range []string{"f32", "f16"} {
		if got := right(func(c *runs.Config) { c.KV = kv }); got < 0.9 {
			t.Errorf("%s: accuracy %v", kv, got)
		}
	}
	if got := right(func(c *runs.Config) { c.Policy, c.Window = "random", 8 }); got > 0.7 {
		t.Errorf("random with a window of 8: accuracy %v", got)
	}
}

func TestOptions(t *testing.T) {
	var parts []string
	at := time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC)
	c := small(func(c *runs.Config) { c.Profile, c.Questions, c.Skills, c.Asked = true, "pebble", "capital", 1 })
	r, err := Run(t.Context(), c, Options{yardstick: 1000, Repetition: 3, Commit: "abc+", Committed: at, Progress: func(part string, done, total int) {
		if done < 0 || done > total {
			t.Errorf("%s: %d of %d", part, done, total)
		}
		if done == total {
			parts = append(parts, part)
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	if r.Repetition != 3 || r.Machine.Commit != "abc+" || !r.Machine.Committed.Equal(at) {
		t.Errorf("%+v", r)
	}
	if want := []string{Loading, Warming, Reading, Generating, Profiling, Asking}; !slices.Equal(parts, want) {
		t.Errorf("parts %q came to their ends, want %q", parts, want)
	}
}

func TestHandicap(t *testing.T) {
	least := func(handicap float64) float64 {
		return slices.Min(do(t, small(func(c *runs.Config) { c.Handicap, c.Generate = handicap, 4 })).Gaps())
	}
	// The bound leaves room for a machine that becomes many times faster or slower meanwhile.
	if slow, plain := least(50), least(0); slow < 4*plain {
		t.Errorf("the quickest token took %g ms, and %g without a handicap of 50", slow, plain)
	}
}

func TestMistakes(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty.jsonl")
	if err := os.WriteFile(empty, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		change func(c *runs.Config)
		want   []string // words of the error
	}{
		{func(c *runs.Config) { c.Model = "" }, []string{"model", "pebble"}},
		{func(c *runs.Config) { c.Model = "no/such.gguf" }, []string{"model: ", "no/such.gguf"}},
		{func(c *runs.Config) { c.Backend = "gpu" }, []string{`-backend gpu`, "cpu"}},
		{func(c *runs.Config) { c.Threads = -1 }, []string{"threads -1"}},
		{func(c *runs.Config) { c.Threads = math.MaxInt }, []string{"threads", "4096"}},
		{func(c *runs.Config) { c.Weights = "q9" }, []string{`weights "q9"`, "q8_0"}},
		{func(c *runs.Config) { c.KV = "" }, []string{`kv ""`, "q8_0"}},
		{func(c *runs.Config) { c.KV = "q4_1" }, []string{`kv "q4_1"`, "q8_0"}},
		{func(c *runs.Config) { c.Policy = "lru" }, []string{"policy", `"lru"`, "keydiff"}},
		{func(c *runs.Config) { c.Policy = "h2o" }, []string{"policy and window", "h2o", "0 slots"}},
		{func(c *runs.Config) { c.Policy, c.Window = "h2o", -5 }, []string{"policy and window", "-5 slots"}},
		{func(c *runs.Config) { c.Window = 5 }, []string{"window 5", "none"}},
		{func(c *runs.Config) { c.Policy, c.Window, c.Protected = "sliding", 4, 4 }, []string{"sliding", "4 slots", "at least 8"}},
		{func(c *runs.Config) { c.Policy, c.Window, c.Protected = "h2o", 64, 4 }, []string{"protected 4", "sliding"}},
		{func(c *runs.Config) { c.Policy, c.Window, c.Protected = "sliding", 64, -1 }, []string{"protected -1"}},
		{func(c *runs.Config) { c.Prompt = 0 }, []string{"prompt 0"}},
		{func(c *runs.Config) { c.Prompt = math.MaxInt }, []string{"prompt"}},
		{func(c *runs.Config) { c.Generate = -1 }, []string{"generate -1"}},
		{func(c *runs.Config) { c.Prompt, c.Generate = 2000, 49 }, []string{"prompt 2000 and generate 49", "2048", "2049"}},
		{func(c *runs.Config) { c.Handicap = math.NaN() }, []string{"handicap"}},
		{func(c *runs.Config) { c.Handicap = -0.5 }, []string{"handicap -0.5"}},
		{func(c *runs.Config) { c.Questions = "pebble" }, []string{"asked 0"}},
		{func(c *runs.Config) { c.Questions, c.Asked = "no/such.jsonl", 1 }, []string{"no/such.jsonl"}},
		{func(c *runs.Config) { c.Questions, c.Asked = empty, 1 }, []string{"empty.jsonl"}},
		{func(c *runs.Config) { c.Questions, c.Asked, c.Skills = "pebble", 1, "flying" }, []string{"flying", "capital"}},
	} {
		config := small(c.change)
		r, err := Run(t.Context(), config, quick)
		if err == nil || r != nil {
			t.Errorf("%+v: no error", config)
			continue
		}
		for _, want := range c.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("error %q, want one that has %q", err, want)
			}
		}
	}
}

// TestInterrupted ends the context in each part of a run.
func TestInterrupted(t *testing.T) {
	c := small(func(c *runs.Config) { c.Profile, c.Questions, c.Skills, c.Asked = true, "pebble", "needle50", 2 })
	for _, part := range []string{Loading, Warming, Reading, Generating, Profiling, Asking} {
		t.Run(part, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			r, err := Run(ctx, c, Options{yardstick: 1000, Progress: func(now string, done, total int) {
				if now == part && done < total || part == Generating && now == Reading && done == total {
					cancel()
				}
			}})
			if !errors.Is(err, context.Canceled) || r != nil {
				t.Errorf("error %v", err)
			}
		})
	}
	for _, looks := range []int{0, 100, 215, 225, 240, 300} { // loading takes 210
		if r, err := Run(countdown.New(t.Context(), looks), c, quick); !errors.Is(err, context.Canceled) || r != nil {
			t.Errorf("at look %d: error %v", looks, err)
		}
	}
}

// BenchmarkSampling measures the cost of watching a run: the rate of an answer with and without, in turn, as the ratio of neighbours and of
// the best ones. On a machine that does other things too, only these ratios mean something.
func BenchmarkSampling(b *testing.B) {
	rates := map[bool][]float64{}
	for b.Loop() {
		for _, unwatched := range []bool{false, true} {
			r, err := Run(b.Context(), small(func(c *runs.Config) { c.Prompt, c.Generate, c.Threads = 64, 256, 1 }), Options{yardstick: 1000, unwatched: unwatched})
			if err != nil {
				b.Fatal(err)
			}
			generating, _ := runs.MetricNamed("generating")
			rate, _ := generating.Of(r)
			rates[unwatched] = append(rates[unwatched], rate)
		}
	}
	ratios := make([]float64, len(rates[true]))
	for i, watched := range rates[false] {
		ratios[i] = watched / rates[true][i]
	}
	ratio := statistics.IntervalOf(ratios)
	b.ReportMetric(ratio.Median, "watched/unwatched")
	b.ReportMetric(ratio.Low, "low")
	b.ReportMetric(ratio.High, "high")
	b.ReportMetric(slices.Max(rates[false])/slices.Max(rates[true]), "best/best")
}

// BenchmarkSample says what one sample costs.
func BenchmarkSample(b *testing.B) {
	model, err := pebble.Load(nil)
	if err != nil {
		b.Fatal(err)
	}
	defer model.Close()
	session, err := model.NewSession(nil)
	if err != nil {
		b.Fatal(err)
	}
	defer session.Close()
	e := &experiment{began: precise.Now(), resident: sysinfo.OpenResident()}
	defer e.resident.Close()
	for b.Loop() {
		e.sample(session, precise.Now())
	}
}
