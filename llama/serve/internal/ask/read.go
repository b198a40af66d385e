package ask

import (
	"context"
	"net/http"
	"runtime"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/serve/internal/queue"
	"github.com/antigravity-go/antigravity/llama/serve/internal/wire"
)

// Desks says who may work on a request's text when: read its JSON, render its conversation, cut it into tokens. Such work takes memory that is
// many times the text, for a moment, and a processor for up to seconds. So few long texts are worked on at a time, and they hold up no short
// one: these have places of their own.
type Desks struct{ short, long *queue.Queue }

const (
	longText     = 64 << 10 // bytes of a body from which a text is long
	maxLongTexts = 4        // that are worked on at a time, on whatever machine
	maxWaiting   = 1024     // requests that wait at one desk
)

// NewDesks makes desks for the processors that there are.
func NewDesks() *Desks {
	return &Desks{queue.New(runtime.GOMAXPROCS(0), maxWaiting), NewLongQueue()}
}

// NewLongQueue makes a queue for work that takes long, and much memory: on half of the processors, and on a few at most.
func NewLongQueue() *queue.Queue {
	return queue.New(min(max(1, runtime.GOMAXPROCS(0)/2), maxLongTexts), maxWaiting)
}

// Work calls f, which works on the text of the context's request, when it is the request's turn. The error is f's, or why its turn did not
// come.
func (d *Desk) Work(ctx context.Context, f func() error) error {
	if d.Texts == nil {
		return f()
	}
	request, line := Of(ctx), d.Texts.short
	if request.size >= longText {
		line = d.Texts.long
	}
	return inTurn(ctx, line, request.Client, f)
}

// inTurn calls f when a client gets a place of a queue. The error is f's, or why there was no place.
func inTurn(ctx context.Context, line *queue.Queue, client string, f func() error) error {
	places, err := line.Join(client, 1)
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
func (d *Desk) Read(w http.ResponseWriter, r *http.Request, rules wire.Rules, into any) error {
	ctx, request := r.Context(), Of(r.Context())
	body, err := wire.Body(w, r, d.MaxBody, request.Memory.Grow)
	if err != nil {
		return err
	}
	request.size = len(body)
	err = d.Work(ctx, func() error { return wire.Parse(body, rules, into) })
	if err == nil {
		err = request.Memory.Grow(int64(len(body) - cap(body))) // what was read holds about as much as the body has
	}
	return err
}

// tokenBytes is the memory of a token.
const tokenBytes = 4

// Tokens returns the tokens that encode makes of the text of the context's request, when it is the request's turn. They count as memory
// that the request holds.
func (d *Desk) Tokens(ctx context.Context, encode func() ([]llama.Token, error)) (tokens []llama.Token, err error) {
	err = d.Work(ctx, func() error {
		tokens, err = encode()
		return err
	})
	if err == nil {
		err = Of(ctx).Memory.Grow(tokenBytes * int64(len(tokens)))
	}
	if err != nil {
		return nil, err
	}
	return tokens, nil
}
