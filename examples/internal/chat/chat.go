// Package chat is a conversation in the terminal. Lines from a pipe are messages of the user, answered one after another.
package chat

import (
	"context"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/antigravity-go/antigravity/examples/internal/cli"
	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/tensor"
)

const about = `
A conversation with a model in the terminal.

  COMMAND
  COMMAND -model model.gguf -system "You answer in rhymes." -temperature 0.7
  echo "What is the capital of Japan?" | COMMAND

A line that ends with a backslash goes on in the next; lines that are pasted are one message. Ctrl-C ends an answer, Ctrl-D the program. /help lists the commands.
Lines from a pipe are messages too, answered one after another. Tokens are drawn as the model's files recommend. If they
recommend nothing, -temperature is 0.7 unless given; that of the embedded models, which are too small for lively answers, is 0.`

// Program returns the program. The text command is what starts it, for the examples in its help. The program needs a context that Ctrl-C
// does not cancel: it hears of Ctrl-C itself, which ends an answer and not the program.
func Program(command string) cli.Program {
	return func(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) error {
		return run(ctx, command, args, stdin, stdout, stderr)
	}
}

// options are the command line's.
type options struct {
	model           cli.Model
	adapter         cli.Adapter
	memory          cli.Memory
	draft           cli.Draft
	params          llama.Params
	system, history string
	flags           *cli.Flags
}

// usualTemperature makes answers of models lively that recommend nothing. The embedded models are too small for that.
const usualTemperature = 0.7

func parse(command string, args []string, stdout io.Writer) (*options, error) {
	f := cli.NewFlags("chat", strings.ReplaceAll(about, "COMMAND", command))
	o := &options{flags: f}
	f.Group("Conversation", func() {
		f.StringVar(&o.system, "system", "", "`text` of the system message, which says how to answer")
		f.StringVar(&o.history, "history", "", "`path` of a file that keeps the lines typed; none: they are forgotten")
	})
	cli.SamplingFlags(f, &o.params, 0)
	o.model.Flags(f)
	o.adapter.Flags(f)
	o.memory.Flags(f, tensor.F16)
	o.draft.Flags(f)
	if err := f.Parse(args, stdout); err != nil {
		return nil, err
	}
	cli.Seed(f, &o.params)
	return o, nil
}

func run(ctx context.Context, command string, args []string, stdin io.Reader, stdout, stderr io.Writer) (err error) {
	o, err := parse(command, args, stdout)
	if err != nil {
		return err
	}
	defer func() { err = o.flags.Explained(err) }()
	start, started := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM) // until the conversation begins, Ctrl-C ends the program
	defer started()
	model, session, closeAll, err := cli.Open(start, &o.model, &o.adapter, &o.memory, stderr)
	if err != nil {
		return err
	}
	defer closeAll()
	drafter, closeDraft, err := o.draft.Open(start, &o.model, model, session.Capacity(), stderr)
	if err != nil {
		return err
	}
	defer closeDraft()
	o.params.Draft = drafter
	if !cli.Recommend(o.flags, model, &o.params, stderr) && !o.flags.Given("temperature") && !o.model.Embedded() {
		o.params.Temperature = usualTemperature
	}
	c := &conversation{
		session: session, model: model, flags: o.flags, params: o.params, system: o.system, stdout: stdout, stderr: stderr,
		interactive: cli.IsTerminal(stdin) && cli.IsTerminal(stdout),
	}
	if cli.IsTerminal(stdout) {
		c.terminal = stdout
		c.stdout = &wrapper{w: stdout, columns: func() int { return cli.Columns(stdout) }}
	}
	lines, err := c.lines(stdin, stdout, o.history)
	if err != nil {
		return err
	}
	defer lines.Close()
	if c.interactive {
		c.introduce(&o.model)
	}
	started()
	return c.talk(ctx, lines)
}
