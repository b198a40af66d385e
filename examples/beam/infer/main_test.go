package infer

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"testing"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem/local"
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem/memfs"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/testing/ptest"
)

// The test binary is also the program of workers: Beam's Init does not return in worker mode.
func TestMain(m *testing.M) { ptest.MainWithDefault(m, "prism") }

// flintModel is the model of the tests.
var flintModel = Model{Path: "flint", Sessions: 8}

// taken are the elements that a pipeline's ends have seen, which run in this process.
var taken = struct {
	sync.Mutex
	by map[string][]any // by ID
}{by: map[string][]any{}}

// take notes an element.
func take(id string, e any) {
	taken.Lock()
	defer taken.Unlock()
	taken.by[id] = append(taken.by[id], e)
}

func takeAnswer(a Answer)     { take(a.ID, a) }
func takeFailure(f Failure)   { take(f.ID, f) }
func takeVector(v Vector)     { take(v.ID, v) }
func takeScores(s Scores)     { take(s.ID, s) }
func takeLabels(l Labels)     { take(l.ID, l) }
func takeEntities(e Entities) { take(e.ID, e) }
func takeFile(f File)         { take(f.Output, f) }

func init() {
	register.Function1x0(takeAnswer)
	register.Function1x0(takeFailure)
	register.Function1x0(takeVector)
	register.Function1x0(takeScores)
	register.Function1x0(takeLabels)
	register.Function1x0(takeEntities)
	register.Function1x0(takeFile)
}

// runPipeline runs a pipeline and returns what its ends saw.
func runPipeline(t *testing.T, build func(s beam.Scope)) (map[string][]any, beam.PipelineResult) {
	t.Helper()
	taken.Lock()
	clear(taken.by)
	taken.Unlock()
	p, s := beam.NewPipelineWithRoot()
	build(s)
	result := ptest.RunAndValidate(t, p)
	taken.Lock()
	defer taken.Unlock()
	return maps.Clone(taken.by), result
}

// counter returns what a pipeline counted.
func counter(r beam.PipelineResult, name string) (sum int64) {
	for _, c := range r.Metrics().AllMetrics().Counters() {
		if c.Name() == name {
			sum += c.Result()
		}
	}
	return sum
}

// alone answers a request with a session of its own.
func alone(t *testing.T, r Request) (string, int) {
	t.Helper()
	l, release, _, err := loadedModels.use(t.Context(), flintModel)
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	session, err := l.model.NewSession(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	params, err := l.params(r)
	if err != nil {
		t.Fatal(err)
	}
	history := r.Messages
	if r.Prompt != "" {
		history = []llama.Message{{Role: "user", Content: r.Prompt}}
	}
	piece, err := llama.Collect(session.Chat(context.Background(), history, params))
	if err != nil {
		t.Fatal(err)
	}
	return piece.Message.Content, piece.Stats.GeneratedTokens
}

// sums are n requests, some of them drawn with a seed.
func sums(n int) []Request {
	requests := make([]Request, n)
	for i := range requests {
		r := Request{ID: fmt.Sprint("q", i), Input: Input{Prompt: fmt.Sprintf("What is %d + %d?", i%90+3, i*7%50)}, MaxTokens: 24}
		if i%3 == 1 {
			r.Temperature, r.Seed = 1, uint64(i)
		}
		requests[i] = r
	}
	return requests
}
