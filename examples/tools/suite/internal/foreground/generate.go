package foreground

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync/atomic"

	"github.com/antigravity-go/antigravity/examples/internal/cli"
	"github.com/antigravity-go/antigravity/examples/tools/internal/workload"
	"github.com/antigravity-go/antigravity/internal/precise"
	"github.com/antigravity-go/antigravity/llama"
)

// Load is the generation that runs while the frames do.
type Load struct {
	Model   string `json:"model"` // pebble, flint or a path
	Backend string `json:"backend"`
	Threads int    `json:"threads"`
	Nice    int    `json:"nice"`
}

// count is how many tokens there have been at a time since the process began.
type count struct {
	Tokens  int64   `json:"tokens"`
	Seconds float64 `json:"seconds"`
}

// The generation's prompt, and the tokens after which it goes back to it: so each token costs much the same, whenever it is made.
const (
	promptTokens = 32
	roundTokens  = 96
)

// Generate is the generation, in a process of its own: it reads a Load from stdin, generates without an end, writes a line when it
// has begun, and for each further line that it reads how many tokens there have been. It ends when stdin does.
func Generate(ctx context.Context, stdin io.Reader, stdout, stderr io.Writer) error {
	in, out := json.NewDecoder(stdin), json.NewEncoder(stdout)
	var l Load
	if err := in.Decode(&l); err != nil {
		return fmt.Errorf("read what is to generate: %w", err)
	}
	if err := setNice(l.Nice); err != nil { // before the model's threads start, which have it from the thread that starts them
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	model, closeModel, err := (&cli.Model{Path: l.Model, Backend: l.Backend, Threads: l.Threads}).Load(ctx, stderr)
	if err != nil {
		return err
	}
	defer closeModel()
	session, err := model.NewSession(&llama.SessionOptions{Capacity: promptTokens + roundTokens + 1})
	if err != nil {
		return err
	}
	defer session.Close()
	g := &generation{session: session, prompt: workload.Tokens(model, 1, promptTokens+1), ends: workload.Endless(model)}
	if err := g.round(ctx); err != nil { // touches the memory
		return err
	}
	start := precise.Now()
	if err := out.Encode(began{true}); err != nil {
		return err
	}
	go func() {
		for {
			var asked json.RawMessage
			if err := in.Decode(&asked); err != nil {
				cancel(errOrphan)
				return
			}
			if err := out.Encode(count{g.tokens.Load(), precise.Since(start).Seconds()}); err != nil {
				cancel(err)
				return
			}
		}
	}()
	for {
		if err := g.round(ctx); err != nil {
			if errors.Is(context.Cause(ctx), errOrphan) {
				return nil
			}
			return err
		}
	}
}

// generation makes the same answer again and again.
type generation struct {
	session *llama.Session
	prompt  []llama.Token
	ends    llama.LogitMask
	tokens  atomic.Int64 // of all answers
}

// round makes the answer once.
func (g *generation) round(ctx context.Context) error {
	keep := min(g.session.Position(), len(g.prompt)-1)
	if err := g.session.Truncate(keep); err != nil {
		return err
	}
	if err := g.session.Prefill(ctx, g.prompt[keep:]); err != nil {
		return err
	}
	// If the model ends its answer early, it goes on with the end forbidden. Until then nothing is: a mask needs all logits on the host,
	// unlike most answers.
	p := llama.Params{MaxTokens: roundTokens}
	for p.MaxTokens > 0 {
		for piece, err := range g.session.Generate(ctx, nil, p) {
			if err != nil {
				return err
			}
			p.MaxTokens -= len(piece.Tokens)
			g.tokens.Add(int64(len(piece.Tokens)))
		}
		p.Mask = g.ends
	}
	return nil
}
