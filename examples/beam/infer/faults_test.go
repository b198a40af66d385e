package infer_test

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/antigravity-go/antigravity/examples/beam/infer"
	"github.com/antigravity-go/antigravity/examples/beam/internal/flakyworkers"
	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/constrain"
	"github.com/antigravity-go/antigravity/llama/flint"
	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"
	"golang.org/x/sync/errgroup"
)

// prompts is how many prompts the tests of faults ask; 0: 2,000, or 200 with -short.
var prompts = flag.Int("prompts", 0, "how many prompts the tests of faults ask; 0: 2000, or 200 with -short")

func init() {
	register.Function2x1(answerLine)
	register.Function2x1(failureLine)
	register.Function1x2(together)
	register.DoFn2x1[int, func(*string) bool, error](&collect{})
	register.Iter1[string]()
}

func answerLine(_ context.Context, a infer.Answer) string   { return "answer " + text(a) }
func failureLine(_ context.Context, f infer.Failure) string { return "failure " + text(f) }
func together(line string) (int, string)                    { return 0, line }

func text(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err) // it was made from JSON
	}
	return string(data)
}

// collect writes all lines to a file, which is there at once or not at all.
type collect struct{ Path string }

func (c *collect) ProcessElement(_ int, lines func(*string) bool) error {
	file, err := os.CreateTemp(filepath.Dir(c.Path), "part")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name())
	var line string
	for lines(&line) {
		fmt.Fprintln(file, line)
	}
	if err := file.Close(); err != nil {
		return err
	}
	return os.Rename(file.Name(), c.Path)
}

// requests returns n requests: most are questions, some sampled, some of a form, some texts that go on; a few cannot be answered.
func requests(n int) []infer.Request {
	topics := []string{"the sea", "a library", "winter", "bread", "a railway", "the moon", "a violin", "rain"}
	var list []infer.Request
	for i := range n {
		r := infer.Request{ID: fmt.Sprintf("r%05d", i), MaxTokens: 4 + i%13}
		r.Prompt = fmt.Sprintf("Question %d: tell me something about %s.", i, topics[i%len(topics)])
		switch i % 10 {
		case 1, 4:
			r.Temperature, r.TopK, r.Seed = 0.9, 40, uint64(i)
		case 2:
			r.System = "You are a helpful assistant. Answer in one sentence."
		case 3:
			r.Choices = []string{"yes", "no", "perhaps"}
		case 5:
			r.Raw, r.Prompt = true, "Once upon a time there was "+topics[i%len(topics)]
		case 6:
			r.Regexp = `[0-9]{1,4}`
		case 7:
			r.Prompt, r.Messages = "", []llama.Message{
				{Role: "user", Content: "Hello!"}, {Role: "assistant", Content: "Hello."},
				{Role: "user", Content: "What is " + topics[i%len(topics)] + "?"},
			}
		case 8:
			if i%20 == 8 {
				r.Regexp, r.Choices = "a+", []string{"b"} // two forms: a failure
			}
		case 9:
			if i%50 == 9 {
				r.Prompt = strings.Repeat("word ", 5000) // longer than the context: a failure
			}
		}
		list = append(list, r)
	}
	return list
}

// direct answers a request as a program does that knows nothing of Beam: with a session of its own.
func direct(ctx context.Context, m *llama.Model, r infer.Request) (infer.Answer, error) {
	p := llama.Params{MaxTokens: r.MaxTokens, Temperature: r.Temperature, TopK: r.TopK, Seed: r.Seed}
	var err error
	switch {
	case r.Regexp != "" && r.Choices != nil:
		return infer.Answer{}, fmt.Errorf("two forms")
	case r.Regexp != "":
		p.Constraint, err = constrain.Regexp(m.Tokenizer(), r.Regexp)
	case r.Choices != nil:
		p.Constraint, err = constrain.Choice(m.Tokenizer(), r.Choices...)
	}
	if err != nil {
		return infer.Answer{}, err
	}
	s, err := m.NewSession(nil)
	if err != nil {
		return infer.Answer{}, err
	}
	defer s.Close()
	history := r.Messages
	if r.System != "" {
		history = append(history, llama.Message{Role: "system", Content: r.System})
	}
	if r.Prompt != "" {
		history = append(history, llama.Message{Role: "user", Content: r.Prompt})
	}
	pieces := s.Chat(ctx, history, p)
	if r.Raw {
		pieces = s.Generate(ctx, m.Tokenizer().EncodeSpecial(r.Prompt, true), p)
	}
	piece, err := llama.Collect(pieces)
	if err != nil {
		return infer.Answer{}, err
	}
	finish := "stop"
	if piece.Stop == llama.MaxTokens || piece.Stop == llama.ContextFull {
		finish = "length"
	}
	print, err := m.Fingerprint()
	return infer.Answer{
		ID: r.ID, Text: piece.Message.Content, Calls: piece.Message.ToolCalls, Finish: finish,
		PromptTokens: piece.Stats.PromptTokens, Tokens: piece.Stats.GeneratedTokens, Model: print,
	}, err
}

// wanted are the lines that the requests must make: their answers, computed in this process, and "failure" for a request that has no
// answer.
var wanted = sync.OnceValues(func() (map[string]string, error) {
	m, err := flint.Load(nil)
	if err != nil {
		return nil, err
	}
	defer m.Close()
	var mu sync.Mutex
	lines := map[string]string{}
	var group errgroup.Group
	group.SetLimit(8)
	for _, r := range requests(howMany()) {
		group.Go(func() error {
			line := "failure"
			if a, err := direct(context.Background(), m, r); err == nil {
				line = "answer " + text(a)
			}
			mu.Lock()
			defer mu.Unlock()
			lines[r.ID] = line
			return nil
		})
	}
	return lines, group.Wait()
})

func howMany() int {
	switch {
	case *prompts > 0:
		return *prompts
	case testing.Short():
		return 200
	}
	return 2000
}

// answered runs the first n requests through Infer on prism and flaky workers, and checks that each of them comes out once, as it is wanted.
func answered(t *testing.T, n int, model infer.Model, options flakyworkers.Options) (beam.PipelineResult, flakyworkers.Counts) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Minute)
	defer cancel()
	want, err := wanted()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "lines")
	p, s := beam.NewPipelineWithRoot()
	answers, failures := infer.Infer(s, model, beam.Reshuffle(s, beam.CreateList(s, requests(n))))
	lines := beam.Flatten(s, beam.ParDo(s, answerLine, answers), beam.ParDo(s, failureLine, failures))
	beam.ParDo0(s, &collect{path}, beam.GroupByKey(s, beam.ParDo(s, together, lines)))
	began := time.Now()
	result, counts, err := flakyworkers.Run(ctx, p, options)
	t.Logf("%d requests in %v, %+v", n, time.Since(began).Round(time.Millisecond), counts)
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	seen := map[string]bool{}
	scanner := bufio.NewScanner(file)
	scanner.Buffer(nil, 1<<20)
	for scanner.Scan() {
		kind, object, _ := strings.Cut(scanner.Text(), " ")
		var line struct{ ID string }
		if err := json.Unmarshal([]byte(object), &line); err != nil {
			t.Fatalf("%q: %v", object, err)
		}
		got := kind
		if kind == "answer" {
			got = scanner.Text()
		}
		if seen[line.ID] {
			t.Errorf("%s comes twice", line.ID)
		}
		seen[line.ID] = true
		if got != want[line.ID] {
			t.Errorf("%s is\n%s, alone in one process it is\n%s", line.ID, got, want[line.ID])
		}
	}
	if err := scanner.Err(); err != nil {
		t.Fatal(err)
	}
	if len(seen) != n {
		t.Errorf("of %d requests %d came out", n, len(seen))
	}
	return result, counts
}

// counter returns a counter of package infer's.
func counter(result beam.PipelineResult, name string) (n int64) {
	for _, c := range result.Metrics().AllMetrics().Counters() {
		if c.Name() == name {
			n += c.Result()
		}
	}
	return n
}

// Whatever fails and whoever is killed, each request has its one answer, or failure, and the bytes of one process.
func TestFaultsLoseNothing(t *testing.T) {
	n := howMany()
	for seed := range uint64(2) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			_, counts := answered(t, n, infer.Model{Path: "flint", Threads: 1, Sessions: 8}, flakyworkers.Options{
				Children: 4, Slots: 2, Start: flakyworkers.Program(os.Args[0], "-test.run=^$"), Attempts: 4, Largest: max(n/50, 1),
				Faults: flakyworkers.RandomFaults(seed, 0.2, 0.1, time.Second),
			})
			if counts.Failures < 5 || counts.Kills < 2 || counts.Died < counts.Kills {
				t.Errorf("too few faults to show anything: %+v", counts)
			}
		})
	}
}

// Bundles as prism makes them are split while they are computed.
func TestFaultsInBundlesThatAreSplit(t *testing.T) {
	answered(t, max(howMany()/4, 100), infer.Model{Path: "flint", Threads: 1, Sessions: 2}, flakyworkers.Options{
		Children: 4, Slots: 4, Start: flakyworkers.Program(os.Args[0], "-test.run=^$"), Attempts: 4,
		Faults: flakyworkers.RandomFaults(3, 0.3, 0.1, time.Second),
	})
}

// Workers that are one process, with a bundle each, share one model, which no other test has loaded.
func TestHarnessesInOneProcessLoadTheModelOnce(t *testing.T) {
	n := howMany()
	result, _ := answered(t, n, infer.Model{Path: "flint", Sessions: 7}, flakyworkers.Options{
		Children: 4, Slots: 2, Start: flakyworkers.Harness, Attempts: 1, Largest: max(n/50, 1),
	})
	if loads := counter(result, "models_loaded"); loads != 1 {
		t.Errorf("the model was loaded %d times by 4 workers in one process", loads)
	}
	if counted := counter(result, "results") + counter(result, "failures"); counted != int64(n) {
		t.Errorf("%d results and failures are counted, of %d requests", counted, n)
	}
}
