package chat

import (
	"bytes"
	"io"
)

// A terminal that is asked to (askPastes) puts marks around pasted text, so that a program can distinguish it from typed text. Without them
// each pasted line would be a message of its own.
const (
	askPastes  = "\x1b[?2004h" // asks for marks
	stopPastes = "\x1b[?2004l" // no more marks
	pasteBegin = "\x1b[200~"
	pasteEnd   = "\x1b[201~"
)

// maxPaste bounds the bytes that are kept of one paste. Before each line the line editor asks the terminal for the cursor's position, and
// it keeps the input that comes before the answer, at most 128 Ki characters. A line break becomes two of them.
const maxPaste = 60_000

// pasted reads what a terminal sends, and makes one message of each paste: each line but the last ends with a backslash, as it does if
// several lines are typed. A break at the end of the paste is left out, so that the message can be gone on with. Tabs become pastedTab, and
// other control characters, which the line editor would obey, are left out.
//
// Invariants between calls of Read: marks is the beginning of a mark, and nothing of it is in ready or paste; paste is empty unless
// pasting.
type pasted struct {
	from    io.Reader
	buf     [4096]byte
	ready   []byte // to be read by the line editor
	marks   []byte
	paste   []byte // what has come of a paste
	pasting bool
	cut     bool // a paste was longer than maxPaste
}

// pastedTab stands for a pasted tab, since the line editor completes commands at a tab. It is a noncharacter, which no text has.
const pastedTab = "\ufdd0"

func (r *pasted) Read(p []byte) (int, error) {
	for len(r.ready) == 0 {
		n, err := r.from.Read(r.buf[:])
		for _, c := range r.buf[:n] {
			r.add(c)
		}
		if err != nil {
			r.flush()
			if len(r.ready) == 0 {
				return 0, err
			}
		}
	}
	n := copy(p, r.ready)
	r.ready = append(r.ready[:0], r.ready[n:]...)
	return n, nil
}

// add adds a byte that the terminal sent.
func (r *pasted) add(c byte) {
	mark := pasteBegin
	if r.pasting {
		mark = pasteEnd
	}
	switch {
	case c != mark[len(r.marks)]:
		r.flush()
		if c == mark[0] {
			r.marks = append(r.marks, c)
		} else {
			r.put(c)
		}
	case len(r.marks)+1 < len(mark):
		r.marks = append(r.marks, c)
	default:
		r.marks = r.marks[:0]
		if r.pasting {
			r.ready = appendPaste(r.ready, r.paste)
			r.paste = r.paste[:0]
		}
		r.pasting = !r.pasting
	}
}

// flush puts what turned out to be no mark.
func (r *pasted) flush() {
	for _, c := range r.marks {
		r.put(c)
	}
	r.marks = r.marks[:0]
}

func (r *pasted) put(c byte) {
	switch {
	case !r.pasting:
		r.ready = append(r.ready, c)
	case len(r.paste) < maxPaste:
		r.paste = append(r.paste, c)
	default:
		r.cut = true
	}
}

// appendPaste appends a paste as the line editor takes it.
func appendPaste(dst, paste []byte) []byte {
	paste = bytes.ReplaceAll(paste, []byte("\r\n"), []byte("\n"))
	paste = bytes.TrimRight(bytes.ReplaceAll(paste, []byte("\r"), []byte("\n")), "\n")
	paste = bytes.ReplaceAll(paste, []byte(pastedTab), nil)
	for _, c := range paste {
		switch {
		case c == '\n':
			dst = append(dst, '\\', '\r')
		case c == '\t':
			dst = append(dst, pastedTab...)
		case c >= ' ' && c != 0x7f:
			dst = append(dst, c)
		}
	}
	return dst
}
