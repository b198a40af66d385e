package chat

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/antigravity-go/antigravity/examples/internal/cli"
	"github.com/antigravity-go/antigravity/llama"
)

// A turn is a message of the user and the answer to it. The answer is streamed to the terminal while it is generated. If the history no
// longer leaves room for an answer, its oldest turns are forgotten first. The history in a turn:
//
//	the user writes "Hi"                       [user "Hi"]
//	the model has answered "Hello!"            [user "Hi", assistant "Hello!"]
//	or it was interrupted after "Hel"          [user "Hi", assistant "Hel"]
//	or it failed before the first character    []

// conversation is a history, and the model and the session that answer it.
type conversation struct {
	model          *llama.Model
	session        *llama.Session
	flags          *cli.Flags
	params         llama.Params
	system         string          // the system message; "": no system message
	history        []llama.Message // without the system message; between answers each message of the user has an answer
	images         []*llama.Image  // of the user's next message
	stdout, stderr io.Writer       // for answers, and for notes to the user
	terminal       io.Writer       // the terminal that shows stdout, and thoughts; nil: stdout is no terminal
	interactive    bool            // a person at a terminal talks and reads

	answers, generated int           // answers, and tokens of answers, since the program's start
	computing          time.Duration // what generating them took
	drafted, accepted  int           // proposed tokens that were computed since then, and those that answers went on with
}

// talk answers until there are no more lines. At a terminal an error ends only the answer.
func (c *conversation) talk(ctx context.Context, l lines) error {
	for {
		line, err := l.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if strings.TrimSpace(line) == "" {
			continue
		}
		if cmd, argument, ok := find(line); ok {
			if cmd.do(c, argument) {
				return nil
			}
			continue
		}
		if strings.HasPrefix(line, "/") && c.interactive {
			c.note("There is no such command; /help lists them. A space before the slash makes it a message.")
			continue
		}
		if err := c.answer(ctx, line); err != nil {
			if !c.interactive {
				return err
			}
			c.note("%v", c.flags.Explained(err))
		}
	}
}

// introduce says which model talks, and how to talk to another.
func (c *conversation) introduce(chosen *cli.Model) {
	name, does := chosen.Introduction()
	parameters, unit := float64(cli.Parameters(c.model.Config()))/1e6, "million"
	if parameters >= 1000 {
		parameters, unit = parameters/1000, "billion"
	}
	c.note("%s: %.1f %s parameters, %v.", name, parameters, unit, c.model.WeightType())
	if does != "" {
		c.note("It is small, for trying things out: %s.", does)
	}
	c.note("To talk to another model, start this program with -model and a path, or a name as hf:owner/name; -h tells more.")
	c.note("Ctrl-C ends an answer, Ctrl-D the conversation. /help lists the commands.")
}

// answer adds a message of the user to the history, and the model's answer. An answer that was interrupted stays as far as
// it came; if nothing came, the message is taken back.
func (c *conversation) answer(ctx context.Context, text string) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt)
	defer stop()
	c.history = append(c.history, cli.UserMessage(text, c.images))
	var answer answer
	var last llama.Piece
	err := c.makeRoom()
	if err == nil {
		last, err = c.stream(ctx, &answer)
	}
	if err == nil || !answer.empty() {
		fmt.Fprintln(c.stdout)
	}
	c.generated += last.Stats.GeneratedTokens
	c.computing += last.Stats.DecodeTime
	c.drafted += last.Stats.DraftedTokens
	c.accepted += last.Stats.AcceptedTokens
	interrupted, unanswered := errors.Is(err, context.Canceled), err != nil && answer.text.Len() == 0
	if unanswered {
		c.history = c.history[:len(c.history)-1] // a message without an answer would confuse the next
	} else {
		c.history = append(c.history, llama.Message{Role: "assistant", Content: answer.text.String(), Thinking: answer.thought.String()})
		c.images = nil
		c.answers++
	}
	switch {
	case interrupted && !c.interactive:
		return err
	case interrupted && unanswered:
		c.note("Interrupted: your message is taken back.")
	case interrupted:
		c.note("Interrupted.")
	case err != nil:
		return err
	default:
		c.report(last)
	}
	return nil
}

// messages returns the history after the system message.
func (c *conversation) messages() []llama.Message {
	if c.system == "" {
		return c.history
	}
	return append([]llama.Message{{Role: llama.RoleSystem, Content: c.system}}, c.history...)
}

// makeRoom forgets the oldest turns if the history leaves an answer less than a quarter of the context, and less than -n tokens. Then it
// forgets until half of the context is free, if it can: each time that turns are forgotten, the others are computed anew.
func (c *conversation) makeRoom() error {
	capacity, all := c.session.Capacity(), c.messages()
	room := capacity / 4
	if n := c.params.MaxTokens; n > 0 {
		room = min(room, n)
	}
	t := c.model.Tokenizer()
	if tokens, err := t.Template(all, c.params.Template); err == nil && len(tokens) <= capacity-room {
		return nil
	}
	var kept []llama.Message
	var err error
	for _, limit := range []int{capacity / 2, capacity - room, capacity - 1} {
		if kept, err = t.DropTurns(all, c.params.Template, limit); err == nil {
			break
		}
	}
	if full, ok := errors.AsType[*llama.ContextFullError](err); ok {
		full.Capacity, full.Context = capacity, c.model.Config().ContextLength
	}
	if err != nil {
		return err
	}
	if forgotten := len(all) - len(kept); forgotten > 0 {
		c.history = c.history[forgotten:]
		c.note("The context of %d tokens is full: the first %d messages are forgotten. %s.", capacity, forgotten, c.flags.MoreRoom(c.model, c.session))
	}
	return nil
}

// answer is what has come of an answer.
type answer struct{ text, thought strings.Builder }

// empty reports whether nothing has come.
func (a *answer) empty() bool { return a.text.Len() == 0 && a.thought.Len() == 0 }

// stream prints the answer's pieces as they come, and returns the last one. At a terminal the model's thoughts come before, in faint
// letters.
func (c *conversation) stream(ctx context.Context, answer *answer) (last llama.Piece, err error) {
	faint := &fainter{stdout: c.stdout, terminal: c.terminal}
	defer faint.end()
	params := c.params
	progress, read := cli.Reading(c.stderr)
	params.Progress = progress
	defer read()
	for piece, err := range c.session.Chat(ctx, c.messages(), params) {
		read()
		answer.thought.WriteString(piece.Thought)
		answer.text.WriteString(piece.Text)
		if err := faint.write(piece.Thought); err != nil {
			return piece, fmt.Errorf("write the thought: %w", err)
		}
		if piece.Text != "" {
			faint.end()
		}
		if _, err := io.WriteString(c.stdout, piece.Text); err != nil {
			return piece, fmt.Errorf("write the answer: %w", err)
		}
		if err != nil {
			return piece, err
		}
		last = piece
	}
	return last, nil
}

// report says how the answer ended and how fast it came.
func (c *conversation) report(last llama.Piece) {
	s := last.Stats
	if last.Stop == llama.ContextFull {
		c.note("The context is full, so that the answer ends here. The conversation can go on: the next message makes room.")
	}
	if !c.interactive {
		return
	}
	ended := ""
	if last.Stop != llama.EndOfTurn {
		ended = fmt.Sprintf("; ended by: %v", last.Stop)
	}
	drafted := cli.Drafted(c.params.Draft, s.DraftedTokens, s.AcceptedTokens)
	if drafted != "" {
		drafted = "; " + drafted
	}
	c.note("%s, %s, the first after %s%s%s", cli.Count(s.GeneratedTokens, "token"), rate(s.GeneratedTokens, s.DecodeTime), cli.Seconds(s.PrefillTime), drafted, ended)
}

// rate says how many tokens a second.
func rate(tokens int, d time.Duration) string {
	if d <= 0 {
		return "0 tokens/s"
	}
	return fmt.Sprintf("%.1f tokens/s", float64(tokens)/d.Seconds())
}
