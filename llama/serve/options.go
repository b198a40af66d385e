package serve

import (
	"context"
	"crypto"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/antigravity-go/antigravity/llama"
)

// Options say what a Server serves, and who may use it. All but Models may be zero.
type Options struct {
	// Models are the models by name. If there is only one, it answers requests that do not name a model. If there are several, /tokenize
	// and /detokenize use the first one by default.
	Models []Model
	// Pool are the options of each model's Pool. MaxSessions is how many answers of a model are computed at once. MaxBytes bounds the
	// conversations that stay cached, so that the next turn need not compute them again. 0: the size of the model's weights, but at least
	// 256 MiB and at most a quarter of the memory that is available when the model is loaded. A completion with echo and logprobs has a
	// conversation of its own, which is not kept.
	Pool llama.PoolOptions
	// ModelBytes bounds the memory of the models that are loaded on demand, in bytes, caches included: others are given back, the least
	// recently used first, before one is loaded. 0: no bound.
	ModelBytes int64

	// MaxQueue is how many answers of a model wait at most; 0: eight times as many as are computed at once, and at least 64.
	MaxQueue int
	// MaxAnswers is how many answers a request may ask for; 0: 8.
	MaxAnswers int
	// MaxTokens bounds an answer, in tokens, whatever a request asks for; 0: the context's size does.
	MaxTokens int
	// DropTurns leaves out the oldest turns of conversations that do not fit the model's context, so that they can go on: never the
	// instructions, never a call without its result. The answer's header X-Dropped-Messages says how many messages were left out. A request
	// can ask for the same, or for an error instead, with "truncation", "auto" or "disabled"; not in Anthropic's interface. In Ollama's
	// the request alone says it, with "truncate", which is true if it is not there.
	DropTurns bool
	// Strict refuses requests that ask for what the server does not have and programs get on without: tools of other kinds than functions, say.
	// Otherwise these are left out, and the log and the answer's header X-Warnings say so. What would change an answer without a word is
	// refused in any case.
	Strict bool
	// PlainSampling leaves out what models' authors recommend: see llama.Model.Sampling. Then parameters that a request does not have are the
	// interface's own defaults.
	PlainSampling bool
	// MaxBody bounds a request's body, in bytes; 0: 16 MiB, which an image of 10 MB fits into, or a sixteenth of RequestBytes if that is less, but at
	// least 8 MiB.
	MaxBody int64
	// RequestBytes bounds the memory that all requests hold together, in bytes: the received part of their bodies, things made from them,
	// such as tokens, and the answers that have not been sent yet. A client may hold at most as much as is still free, which is half of
	// RequestBytes for a client that is alone. Beyond that the status is 503, and an answer that has begun ends with an error. RequestBytes is
	// at least 16 times MaxBody, so that a client can send the largest body and have it cut into tokens. 0: 32 times MaxBody, and at
	// least 256 MiB. Images are decoded and encoded by a few requests at a time, and the memory of that does not count.
	RequestBytes int64
	// ImageURLs lets requests name http and https URLs of images, which the server fetches: from public addresses alone, whatever names and redirects
	// say, at most 20 MiB and 20 seconds each. Otherwise images come with the request.
	ImageURLs bool
	// Timeout ends a request that takes longer, waiting and reading the answer included; 0: 10 minutes. Negative: never.
	Timeout time.Duration

	// PingInterval is how long nothing comes in a stream, since a prompt is long or the request waits for its turn, before the client is sent a sign
	// of life: a comment, or the interface's own event. 0: 15 seconds; negative: never.
	PingInterval time.Duration

	// Keys are the keys of those who may use the server. Without keys, anybody may. GET /health and the page's files need no key.
	// Server.SetKeys changes the keys.
	Keys []Key
	// Client returns the name of the client that sends a request. The name counts for fairness, logs and shared caches. Client is for
	// servers behind a proxy or an authentication of their own. It must not trust a header that clients could set themselves. It is called
	// once for each request, before the request is let in, by many goroutines at once. If Client is nil or returns "", the name is that of
	// the request's key, or its address.
	Client func(*http.Request) string
	// Accounts are the limits of clients, by the names that Keys or Client give to them. Clients without an account have no limits.
	// Server.SetAccounts changes the accounts.
	Accounts map[string]Account
	// ShareCache lets all clients share one cache of prompts, which saves time if many prompts begin alike. Then a client that guesses the
	// beginning of another one's prompt can see whether it was right, from the cached tokens of its own answer or from its time. Without
	// ShareCache, each client with a name has a cache of its own, or shares one with the clients that its Account names; all clients
	// without a name share one cache.
	ShareCache bool
	// Origins are the origins of other web pages that may use the server ("https://example.org"), or "*" for all. A star may also stand for the
	// host ("moz-extension://*"), for what comes before it ("https://*.example.org"), or for the port ("http://localhost:*"). If it is empty,
	// only the server's own page may.
	Origins []string
	// Hosts are the names of the server, without ports. If it is empty, any name is accepted. Listing them keeps a web page from reaching a
	// server on the reader's own machine under a name of the page's own (DNS rebinding).
	Hosts []string

	// Logger gets a line for each request, without prompts and answers. Nil: nothing is logged. Health checks and files are logged at
	// slog.LevelDebug, failures of the server itself at slog.LevelError, everything else at slog.LevelInfo.
	Logger *slog.Logger
	// ReceiptSigner signs the receipts that requests ask for; nil: receipts are not signed. Package receipt says which keys it may have.
	ReceiptSigner crypto.Signer

	// LogPrompts also logs the beginnings of prompts and answers.
	LogPrompts bool
	// Observer learns how requests get on; nil: nobody does. Package serve/metrics has one for Prometheus, llama/with/otel one for OpenTelemetry;
	// Observers puts several together.
	Observer Observer
	// Metrics is served at GET /metrics, which needs a key if there are Keys. Nil: there is no such route.
	Metrics http.Handler
	// NoPage leaves the page out. GET / then says that the server runs, as Ollama does.
	NoPage bool
}

// Model is a model that a Server serves: one that is loaded, which the Server never closes, or one that it loads when it is asked for.
type Model struct {
	// Name is how requests call the model, and how answers, logs and figures do. Aliases are other names that requests may use; "*" stands for
	// every name that no model has, for programs that insist on names of their own. No two models share a name.
	Name    string
	Aliases []string

	// Loaded is the model, or Load loads it: one of them is set. Load is called when a request asks for the model, and again after the Server
	// has given it back, but never while the model of an earlier call is open; the Server closes what it returns. It should return soon after
	// ctx has ended, which happens when nobody waits for the model any more. File makes a Model with a Load.
	Loaded *llama.Model
	Load   func(ctx context.Context) (*llama.Model, error)
	// Inspect reads what the model's files say of it, for programs that ask before they use it, without loading it: llama.Inspect. nil:
	// nothing is known before the first load. File sets it.
	Inspect func() (*llama.Report, error)
	// Bytes is about what loading takes, for Options.ModelBytes, until that is known; 0: nothing is said.
	Bytes int64

	// Adapter changes what the model computes, times AdapterScale (0: 1), see llama.SessionOptions; nil: Options.Pool.Session says. It needs a
	// Loaded model, which several Models may share, each with an adapter or without one: requests choose by Name, all are computed together,
	// and one Pool has the conversations of all, with room for as many answers of each. The caller closes it, after the Server.
	// Options.ModelBytes counts a shared model once for each Model.
	Adapter      *llama.Adapter
	AdapterScale float32

	// Draft proposes tokens of the model's answers, which makes them faster and changes nothing else; nil: no proposals. It must allow
	// concurrent use. MultiDrafter(SelfDraft(), PromptLookup(LookupOptions{})) of package llama suits every model, and the program
	// examples/serve has it. Metrics, and the statistics of each answer, say how many proposed tokens were computed, and how many accepted.
	Draft llama.Drafter
}

// Key lets a client in: its secret comes as "Authorization: Bearer …" or, as Anthropic's clients send it, as "X-Api-Key: …".
type Key struct {
	Name   string // the client's, for logs and for fairness; several keys may share one
	Secret string // not empty, without spaces around it; no two clients share one
}

// The defaults of Options.
const (
	defaultAnswers = 8
	defaultBody    = 16 << 20
	leastBody      = 8 << 20   // of the default, if RequestBytes is small
	defaultMemory  = 256 << 20 // of RequestBytes
	leastBodies    = 16        // how many of the largest bodies RequestBytes has room for, at least
	defaultTimeout = 10 * time.Minute
	defaultPing    = 15 * time.Second
)

// complete checks the options and fills the defaults in.
func (o *Options) complete() error {
	for _, n := range []struct {
		name  string
		value int64
	}{
		{"ModelBytes", o.ModelBytes}, {"MaxQueue", int64(o.MaxQueue)}, {"MaxAnswers", int64(o.MaxAnswers)},
		{"MaxTokens", int64(o.MaxTokens)}, {"MaxBody", o.MaxBody}, {"RequestBytes", o.RequestBytes}, {"Pool.MaxSessions", int64(o.Pool.MaxSessions)},
	} {
		if n.value < 0 {
			return fmt.Errorf("serve: Options.%s is %d; it must be positive, or 0 for the default", n.name, n.value)
		}
	}
	if o.MaxAnswers == 0 {
		o.MaxAnswers = defaultAnswers
	}
	if o.MaxBody == 0 {
		o.MaxBody = defaultBody
		if o.RequestBytes > 0 {
			o.MaxBody = min(o.MaxBody, max(o.RequestBytes/leastBodies, leastBody))
		}
	}
	if o.RequestBytes == 0 {
		o.RequestBytes = max(defaultMemory, 2*leastBodies*o.MaxBody)
	}
	if o.RequestBytes/leastBodies < o.MaxBody {
		return fmt.Errorf("serve: Options.RequestBytes is %d; it must be at least %d times MaxBody, which is %d", o.RequestBytes, leastBodies, o.MaxBody)
	}
	if o.Timeout == 0 {
		o.Timeout = defaultTimeout
	}
	if o.PingInterval == 0 {
		o.PingInterval = defaultPing
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Observer == nil {
		o.Observer = noObserver{}
	}
	return nil
}
