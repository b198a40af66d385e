package ask

import (
	"context"
	"crypto"
	"net/http"
	"runtime"
	"time"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/serve/internal/models"
	"github.com/antigravity-go/antigravity/llama/serve/internal/queue"
	"github.com/antigravity-go/antigravity/llama/serve/internal/wire"
)

// Service answers the requests of all interfaces: it has the models, the queues and the limits. It is immutable, and safe for concurrent use.
type Service struct {
	Models *models.Registry
	// ConstraintQueue orders the making of constraints: a schema can take a processor a second and hundreds of megabytes, and one client can
	// send many of them at once. nil: no order, and no bound.
	ConstraintQueue *queue.Queue
	ImageQueue      *queue.Queue  // orders the decoding and encoding of images; nil: no order, and no bound
	TextQueues      *TextQueues   // order the reading and tokenizing of requests; nil: no order, and no bound
	MaxAnswers      int           // that one request may ask for
	MaxTokens       int           // of an answer, and its default length; 0: what the context holds
	MaxBody         int64         // of a request, in bytes
	DropTurns       bool          // conversations that do not fit lose their oldest turns, unless the request says otherwise
	Strict          bool          // what could be left out of a request is an error
	ImageTokens     int           // that an image may have, unless a request says otherwise; 0: the model's default
	PingInterval    time.Duration // after which a stream in which nothing comes has a sign of life; at most 0: never
	LogPrompts      bool          // prompts and answers may be logged
	Signer          crypto.Signer // signs receipts; nil: they are not signed
	PlainSampling   bool          // what models' authors recommend does not count
	// Fetch gets the file of an image from an http or https URL, and asks hold before it takes memory; nil: images come with requests only.
	Fetch func(ctx context.Context, url string, hold func(n int64) error) ([]byte, error)
}

// Open takes the model of this name or alias, which must give answers, and loads it if that is needed. A request that names no model means the only
// one that there is. Errors name the parameter "model".
func (s *Service) Open(ctx context.Context, name string) (*Model, error) {
	m, err := s.OpenAny(ctx, name)
	if err != nil {
		return nil, err
	}
	if help := instead[m.Model.Kind()]; help != "" {
		defer m.Close()
		return nil, m.otherKind(help)
	}
	return m, nil
}

// instead says what to ask of models that give no answers.
var instead = map[llama.Kind]string{
	llama.Embedder:   "it makes vectors of texts and gives no answers; ask POST /v1/embeddings",
	llama.Reranker:   "it compares a query with documents and gives no answers; ask POST /v1/rerank",
	llama.Classifier: "it puts labels on texts and gives no answers; ask POST /v1/classify",
	llama.Tagger:     "it finds entities in texts and gives no answers; ask POST /v1/classify",
}

// OpenAny is Open for models of any kind.
func (s *Service) OpenAny(ctx context.Context, name string) (*Model, error) {
	if name == "" {
		name = s.Models.Only()
	}
	lease, err := s.Models.Lease(ctx, name)
	if err != nil {
		return nil, Explain(ctx, err, nil)
	}
	m := &Model{Lease: lease, service: s, request: RequestOf(ctx)}
	m.request.Span.Model(lease.Name)
	return m, nil
}

// TextQueues order the work on the texts of requests: reading JSON, rendering conversations, tokenizing. Such work takes many times the memory
// of the text, for a moment, and a processor for up to seconds. So only a few long texts are processed at a time. Short texts have a queue of
// their own, so that long ones do not hold them up.
type TextQueues struct{ short, long *queue.Queue }

const (
	longText     = 64 << 10 // bytes of a body from which a text is long
	maxLongTexts = 4        // that are worked on at a time, on whatever machine
	maxWaiting   = 1024     // requests that wait in one queue
)

// NewTextQueues makes queues for runtime.GOMAXPROCS(0) processors.
func NewTextQueues() *TextQueues {
	return &TextQueues{queue.New(runtime.GOMAXPROCS(0), maxWaiting), NewSlowQueue()}
}

// NewSlowQueue makes a queue for work that takes long, and much memory: half of the processors, and at most maxLongTexts, do it at a time.
func NewSlowQueue() *queue.Queue {
	return queue.New(min(max(1, runtime.GOMAXPROCS(0)/2), maxLongTexts), maxWaiting)
}

// ProcessText calls f, which works on the text of the context's request, when it is the request's turn. The error is f's or, if the turn did not
// come, the queue's.
func (s *Service) ProcessText(ctx context.Context, f func() error) error {
	if s.TextQueues == nil {
		return f()
	}
	request, q := RequestOf(ctx), s.TextQueues.short
	if request.size >= longText {
		q = s.TextQueues.long
	}
	return runQueued(ctx, q, request.Client, f)
}

// runQueued calls f when the client gets a place in the queue. The error is f's or, if there was no place, the queue's.
func runQueued(ctx context.Context, q *queue.Queue, client string, f func() error) error {
	places, err := q.Join(client, 1)
	if err != nil {
		return err
	}
	defer places[0].Leave()
	if err := places[0].Wait(ctx); err != nil {
		return err
	}
	return f()
}

// Read reads the body of a request into a struct; see wire.Body and wire.Parse. Until the request is over its share of memory holds the body.
func (s *Service) Read(w http.ResponseWriter, r *http.Request, rules wire.Rules, into any) error {
	ctx, request := r.Context(), RequestOf(r.Context())
	body, err := wire.Body(w, r, s.MaxBody, request.Memory.Grow)
	if err != nil {
		return err
	}
	request.size = len(body)
	err = s.ProcessText(ctx, func() error { return wire.Parse(body, rules, into) })
	if err == nil {
		err = request.Memory.Grow(int64(len(body) - cap(body))) // the value read holds about as much as the body has
	}
	return err
}

// tokenBytes is the memory of a token.
const tokenBytes = 4

// Encode calls encode, which tokenizes the text of the context's request, when it is the request's turn. The tokens count as memory that the
// request holds.
func (s *Service) Encode(ctx context.Context, encode func() ([]llama.Token, error)) (tokens []llama.Token, err error) {
	err = s.ProcessText(ctx, func() error {
		tokens, err = encode()
		return err
	})
	if err == nil {
		err = RequestOf(ctx).Memory.Grow(tokenBytes * int64(len(tokens)))
	}
	if err != nil {
		return nil, err
	}
	return tokens, nil
}
