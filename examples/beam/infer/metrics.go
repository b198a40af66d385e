package infer

import (
	"context"
	"time"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/apache/beam/sdks/v2/go/pkg/beam"
)

// The metrics, by the names that runners show, in the namespace "antigravity". If a runner shows attempted metrics, a bundle that is tried
// again counts again.
var (
	succeeded    = beam.NewCounter(namespace, "results")
	failed       = beam.NewCounter(namespace, "failures")
	filesWritten = beam.NewCounter(namespace, "files_written")
	modelsLoaded = beam.NewCounter(namespace, "models_loaded")
	promptTokens = beam.NewCounter(namespace, "prompt_tokens")
	reusedTokens = beam.NewCounter(namespace, "reused_prompt_tokens") // of prompt_tokens: they were cached
	tokens       = beam.NewCounter(namespace, "answer_tokens")

	elementTime  = beam.NewDistribution(namespace, "element_milliseconds") // from an element's beginning to its result, waiting included
	prefillTime  = beam.NewDistribution(namespace, "prefill_milliseconds") // computing its prompt
	decodeTime   = beam.NewDistribution(namespace, "decode_milliseconds")  // computing its answer
	answerLength = beam.NewDistribution(namespace, "tokens_an_answer")
)

const namespace = "antigravity"

// declareMetrics gives the runner the names of the counters when a bundle begins. Prism (of Beam 2.77) asks for a metric's name when it first sees it, and
// loses what one of two bundles has counted if both end while it asks.
func declareMetrics(ctx context.Context) {
	for _, c := range []beam.Counter{succeeded, failed, modelsLoaded, promptTokens, reusedTokens, tokens} {
		c.Inc(ctx, 0)
	}
}

// measured is what an element took. Only the bundle's goroutine may use Beam's metrics, so it adds the figures there.
type measured struct {
	results  int           // how many there are: one, or a file's
	failures int           // how many elements have no result
	first    bool          // the element loaded the model
	took     time.Duration // with what it waited
	answers  []llama.Stats // of the answers that were computed
}

// report adds to the metrics.
func (m measured) report(ctx context.Context) {
	if m.first {
		modelsLoaded.Inc(ctx, 1)
	}
	succeeded.Inc(ctx, int64(m.results))
	failed.Inc(ctx, int64(m.failures))
	elementTime.Update(ctx, m.took.Milliseconds())
	for _, s := range m.answers {
		promptTokens.Inc(ctx, int64(s.PromptTokens))
		reusedTokens.Inc(ctx, int64(s.ReusedTokens))
		tokens.Inc(ctx, int64(s.GeneratedTokens))
		prefillTime.Update(ctx, s.PrefillTime.Milliseconds())
		decodeTime.Update(ctx, s.DecodeTime.Milliseconds())
		answerLength.Update(ctx, int64(s.GeneratedTokens))
	}
}
