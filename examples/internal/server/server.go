// Package server lets programs of any language talk to models, through the interfaces of OpenAI, Anthropic and Ollama, and people through a page.
package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"

	"github.com/antigravity-go/antigravity/examples/internal/cli"
	"github.com/antigravity-go/antigravity/llama/serve"
	"github.com/antigravity-go/antigravity/llama/serve/metrics"
)

const about = `
A server that answers requests in the interfaces of OpenAI, Anthropic and Ollama, and has a page to talk on.

  COMMAND                                    Pebble and Flint, small embedded models: open http://127.0.0.1:8080/
  COMMAND -model model.gguf
  COMMAND -model small=hf:unsloth/Llama-3.2-1B-Instruct-GGUF:Q4_K_M
  COMMAND -model small=1b.gguf -model large=8b.gguf -alias gpt-4o=large -models-mb 6000
  COMMAND -model model.gguf -addr :8443 -key-file keys -tls-cert cert.pem -tls-key key.pem

  curl http://127.0.0.1:8080/v1/chat/completions -d '{"model":"flint","messages":[{"role":"user","content":"Hello"}]}'

The first line on stdout says where it listens; requests are logged on stderr. Ctrl-C, or SIGTERM, lets no more requests in and waits
for those that are being answered; a second one ends the program at once.`

// Program returns the program. The text name is what starts it, for the examples in its help.
func Program(name string) cli.Program {
	return func(ctx context.Context, args []string, _ io.Reader, stdout, stderr io.Writer) error {
		return run(ctx, name, args, stdout, stderr)
	}
}

func run(ctx context.Context, name string, args []string, stdout, stderr io.Writer) (err error) {
	var c command
	if err := c.parse(name, args, stdout); err != nil {
		return err
	}
	defer func() { err = c.flags.Explained(err) }()
	log, err := c.logger(stderr)
	if err != nil {
		return err
	}
	l, err := c.listen()
	if err != nil {
		return err
	}
	defer l.Close()
	var closers closers
	defer func() { err = closers.close(err) }()
	server, err := c.server(ctx, log, l, &closers, stderr)
	if err != nil {
		return err
	}
	printStats(stderr, server.Stats())
	c.warn(stderr, l)
	defer c.keepKeys(ctx, server, log, stderr)()
	fmt.Fprintf(stdout, "listening on %s\n", l.url)
	return c.serve(ctx, l, server, log, stderr)
}

// server makes the server, which is closed by closers if it was not before, and after it what it is made of.
func (c *command) server(ctx context.Context, log *slog.Logger, l *listener, closers *closers, stderr io.Writer) (*serve.Server, error) {
	o := c.options
	o.Logger = log
	if o.Hosts == nil && l.loopback {
		o.Hosts = l.names // so that a page of the web cannot reach it under a name of its own
	}
	allowed, err := c.clients(stderr)
	if err != nil {
		return nil, err
	}
	o.Keys, o.Accounts = allowed.keys, allowed.accounts
	session, release, err := c.memory.Options()
	if err != nil {
		return nil, err
	}
	closers.add(release)
	o.Pool.Session = *session
	if o.Models, err = c.models(ctx, closers, stderr); err != nil {
		return nil, err
	}
	figures := metrics.New()
	if c.metrics {
		o.Observer, o.Metrics = figures, figures
	}
	server, err := serve.New(o)
	if err != nil {
		return nil, err
	}
	closers.add(server.Close)
	figures.Watch(server)
	if c.preload || len(o.Models) == 1 {
		return server, server.Preload(ctx)
	}
	return server, nil
}

// closers are called at the program's end, the latest first.
type closers []func() error

func (c *closers) add(f func() error) { *c = append(*c, f) }

// close closes everything, and returns why the program ends, with what went wrong in closing.
func (c closers) close(why error) error {
	for _, f := range slices.Backward(c) {
		if err := f(); err != nil {
			why = errors.Join(why, err)
		}
	}
	return why
}
