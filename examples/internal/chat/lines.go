package chat

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/ergochat/readline"
)

// lines are the user's turns.
type lines interface {
	// next returns a turn, which may span several lines, and io.EOF when there are no more.
	next() (string, error)
	io.Closer
}

// lines returns an editor on a terminal, and else plain lines.
func (c *conversation) lines(stdin io.Reader, stdout io.Writer, history string) (lines, error) {
	if !c.interactive {
		s := bufio.NewScanner(stdin)
		s.Buffer(nil, maxLine)
		return piped{s}, nil
	}
	t := &typed{input: &pasted{from: stdin}, terminal: stdout, note: c.note}
	var err error
	t.editor, err = readline.NewFromConfig(&readline.Config{
		Prompt: prompt, HistoryFile: history, HistorySearchFold: true, Undo: true, InterruptPrompt: "\n", EOFPrompt: "\n",
		AutoComplete: completer(), Listener: t.listen, Stdin: t.input, Painter: paint,
	})
	if err != nil {
		return nil, fmt.Errorf("set up line editing: %w", err)
	}
	return t, nil
}

// paint shows what stands for a pasted tab as an arrow.
func paint(line []rune, _ int) []rune {
	return []rune(strings.ReplaceAll(string(line), pastedTab, "→"))
}

// maxLine bounds a line from a pipe, in bytes.
const maxLine = 16 << 20

// piped reads lines from a pipe or a file.
type piped struct{ *bufio.Scanner }

func (p piped) next() (string, error) {
	return joined(func(string) (string, error) {
		if p.Scan() {
			return p.Text(), nil
		}
		if err := p.Err(); err != nil {
			return "", fmt.Errorf("read a line from stdin: %w", err)
		}
		return "", io.EOF
	})
}

func (piped) Close() error { return nil }

// The prompts of a turn's first line and of the others.
const (
	prompt     = "> "
	morePrompt = "… "
)

// typed reads lines from a person at a terminal.
type typed struct {
	editor   *readline.Instance
	input    *pasted
	terminal io.Writer
	note     func(format string, a ...any)
	begun    bool // something has been typed on the present line
}

// listen notes whether something has been typed on the line: ReadLine does not report that when Ctrl-C ends the line.
func (t *typed) listen(line []rune, _ int, _ rune) ([]rune, int, bool) {
	t.begun = len(line) > 0
	return nil, 0, false
}

// next reads a turn. Between its calls the terminal is the caller's. Ctrl-C forgets the typed line; on an empty line a second Ctrl-C, or
// Ctrl-D, ends the conversation.
func (t *typed) next() (string, error) {
	io.WriteString(t.terminal, askPastes)
	defer io.WriteString(t.terminal, stopPastes)
	interrupted := false
	for {
		text, err := joined(func(prompt string) (string, error) {
			t.editor.SetPrompt(prompt)
			return t.editor.ReadLine()
		})
		if t.input.cut {
			t.input.cut = false
			t.note("What was pasted is longer than %d bytes, and was cut there: a pipe takes more.", maxPaste)
		}
		if !errors.Is(err, readline.ErrInterrupt) {
			return strings.ReplaceAll(text, pastedTab, "\t"), err
		}
		if t.begun {
			interrupted = false
			continue
		}
		if interrupted {
			return "", io.EOF
		}
		interrupted = true
		t.note("Ctrl-C again, Ctrl-D or /quit ends the conversation.")
	}
}

func (t *typed) Close() error { return t.editor.Close() }

// joined reads a line, and goes on reading lines as long as they end with a backslash.
func joined(read func(prompt string) (string, error)) (string, error) {
	var text strings.Builder
	ask := prompt
	for {
		line, err := read(ask)
		if err == io.EOF && text.Len() > 0 {
			return text.String(), nil
		}
		if err != nil {
			return "", err
		}
		first, more := strings.CutSuffix(line, `\`)
		text.WriteString(first)
		if !more {
			return text.String(), nil
		}
		text.WriteByte('\n')
		ask = morePrompt
	}
}
