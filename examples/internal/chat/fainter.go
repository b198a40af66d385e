package chat

import "io"

// fainter shows thoughts in faint letters on a terminal, and not at all elsewhere: what a program reads from a pipe is the answer.
type fainter struct {
	stdout   io.Writer // for text
	terminal io.Writer // for the codes that change letters; nil: no terminal
	open     bool      // the letters are faint
}

// write shows a part of a thought.
func (f *fainter) write(thought string) error {
	if f.terminal == nil || thought == "" {
		return nil
	}
	if !f.open {
		f.open = true
		if _, err := io.WriteString(f.terminal, "\x1b[2m"); err != nil {
			return err
		}
	}
	_, err := io.WriteString(f.stdout, thought)
	return err
}

// end makes the letters what they were, and leaves a line free. It does nothing if there was no thought.
func (f *fainter) end() {
	if !f.open {
		return
	}
	f.open = false
	io.WriteString(f.terminal, "\x1b[0m")
	io.WriteString(f.stdout, "\n\n")
}
