package chat

import (
	"fmt"
	"io"
	"strings"

	"github.com/antigravity-go/antigravity/examples/internal/cli"
	"github.com/ergochat/readline"
)

// command is what a line that begins with a slash and a name asks for. do gets the rest of the line as its argument, and
// returns whether the program ends.
type command struct {
	name, help string
	do         func(c *conversation, argument string) (quit bool)
}

// commands returns the list of commands.
func commands() []command {
	return []command{
		{"/help", "lists the commands", (*conversation).help},
		{"/reset", "begins a new conversation", (*conversation).reset},
		{"/image", "FILE shows a picture with your next message, to a model that sees", (*conversation).image},
		{"/undo", "takes back your last message and its answer", (*conversation).undo},
		{"/system", "TEXT sets the system message; without text, removes it", (*conversation).setSystem},
		{"/stats", "tells how full the context is, and what memory is used", (*conversation).stats},
		{"/quit", "ends the program, as Ctrl-D does", func(*conversation, string) bool { return true }},
	}
}

// find returns the command that a line asks for.
func find(line string) (cmd command, argument string, ok bool) {
	name, argument, _ := strings.Cut(strings.TrimSpace(line), " ")
	for _, cmd := range commands() {
		if cmd.name == name {
			return cmd, strings.TrimSpace(argument), true
		}
	}
	return command{}, "", false
}

// completer completes the names of commands at the tabulator key.
func completer() readline.AutoCompleter {
	var names []*readline.PrefixCompleter
	for _, cmd := range commands() {
		names = append(names, readline.PcItem(cmd.name))
	}
	return readline.NewPrefixCompleter(names...)
}

func (c *conversation) help(string) bool {
	for _, cmd := range commands() {
		c.note("%-8s %s", cmd.name, cmd.help)
	}
	c.note("A line that ends with \\ goes on in the next; pasted lines are one message. Ctrl-C ends an answer.")
	return false
}

// image reads a picture for the next message. The argument may be in quotes, as terminals write a file that is dropped on them.
func (c *conversation) image(path string) bool {
	if n := len(path) - 1; n > 0 && path[0] == path[n] && (path[0] == '"' || path[0] == '\'') {
		path = path[1:n]
	}
	switch {
	case path == "":
		c.note("/image needs the name of a file: a PNG, JPEG, GIF or WebP.")
		return false
	case !c.model.Inputs().Image:
		c.note("The model sees no pictures. Others do: -h tells how to choose one.")
		return false
	}
	image, err := cli.ReadImage(path)
	if err != nil {
		c.note("%v", err)
		return false
	}
	c.images = append(c.images, image)
	c.note("%s in your next message.", cli.Count(len(c.images), "picture"))
	return false
}

func (c *conversation) reset(string) bool {
	c.history, c.images = nil, nil
	c.note("A new conversation.")
	return false
}

// undo removes the last message of the user and what came after it.
func (c *conversation) undo(string) bool {
	for i := len(c.history) - 1; i >= 0; i-- {
		if c.history[i].Role == "user" {
			c.history = c.history[:i]
			c.note("Taken back.")
			return false
		}
	}
	c.note("There is nothing to take back.")
	return false
}

func (c *conversation) setSystem(text string) bool {
	c.system = text
	c.note("The system message counts from the next answer on.")
	return false
}

func (c *conversation) stats(string) bool {
	c.note("%s in the context, %s, %s generated at %s", cli.Count(c.session.CacheLen(), "token"), cli.Count(c.answers, "answer"),
		cli.Count(c.generated, "token"), rate(c.generated, c.computing))
	if drafted := cli.Drafted(c.params.Draft, c.drafted, c.accepted); drafted != "" {
		c.note("drafts: %s", drafted)
	}
	m := c.model.MemoryUsage()
	c.note("memory: %s: %v", cli.Bytes(m.Weights+m.Caches+m.Workspaces+m.Scratch+m.Constraints), m)
	return false
}

// note shows the user a line that is no part of the conversation; on a terminal in faint letters.
func (c *conversation) note(format string, a ...any) {
	text := fmt.Sprintf(format, a...)
	if cli.IsTerminal(c.stderr) {
		var wrapped strings.Builder
		io.WriteString(&wrapper{w: &wrapped, columns: func() int { return cli.Columns(c.stderr) }}, text)
		text = "\x1b[2m" + wrapped.String() + "\x1b[0m"
	}
	fmt.Fprintln(c.stderr, text)
}
