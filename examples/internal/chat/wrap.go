package chat

import (
	"fmt"
	"io"
	"math"
	"strings"
	"unicode"

	"github.com/rivo/uniseg"
)

// wrapper shows text on a terminal, piece by piece as it comes, with line breaks between words. The last word is shown although it may go
// on in the next piece: if it then outgrows the line, it is erased and shown on the next line.
//
// Words are the segments of Unicode's line breaking algorithm, so that Chinese, Japanese and Korean text breaks at allowed places.
type wrapper struct {
	w       io.Writer
	columns func() int // of the terminal, and may change; 0: unknown, and no line is broken

	used  int    // columns of the last line before word, spaces included
	gap   string // spaces before word that are not on the screen yet: at the end of a line they never will be
	word  string // the last segment, as much as has come of it
	shown string // how much of word is on the screen: spaces at its end are not
}

// tab is shown for a tabulator: the width of a real one would depend on its column.
const tab = "    "

// Write shows a piece of text.
func (w *wrapper) Write(piece []byte) (int, error) {
	var out strings.Builder
	text := w.word + strings.ReplaceAll(strings.Map(harmless, string(piece)), "\t", tab)
	w.word = ""
	for state := -1; text != ""; {
		var segment string
		segment, text, _, state = uniseg.FirstLineSegmentInString(text, state)
		w.show(&out, segment, text == "" && !strings.HasSuffix(segment, "\n"))
	}
	if _, err := io.WriteString(w.w, out.String()); err != nil {
		return 0, err
	}
	return len(piece), nil
}

// harmless drops control characters, by which a model could take control of the terminal, and makes each kind of line break
// a line feed.
func harmless(r rune) rune {
	switch {
	case r == '\u2028', r == '\u2029':
		return '\n'
	case unicode.IsControl(r) && r != '\n' && r != '\t':
		return -1
	}
	return r
}

// show writes a segment, on a new line if it does not fit the last one. An open segment may go on in the next piece.
func (w *wrapper) show(out *strings.Builder, segment string, open bool) {
	limit := w.columns() - 1 // the last column stays empty: when it is filled, terminals differ in the cursor's place
	if limit < 1 {
		limit = math.MaxInt
	}
	body := strings.TrimRight(segment, " \n")
	if w.used > 0 && w.used+uniseg.StringWidth(body) > limit {
		if w.shown != "" {
			fmt.Fprintf(out, "\x1b[%dD\x1b[K", uniseg.StringWidth(w.shown))
		}
		w.feed(out)
	}
	if body != "" && w.shown == "" {
		out.WriteString(w.gap)
		w.gap = ""
	}
	column, line := w.used, 0 // line is the beginning of the last line in the segment: not 0 in a word longer than a line
	for at, rest, state := 0, body, -1; rest != ""; {
		var cluster string
		var width int
		cluster, rest, width, state = uniseg.FirstGraphemeClusterInString(rest, state)
		if column > 0 && column+width > limit {
			w.feed(out)
			column, line = 0, at
		}
		out.WriteString(body[min(max(at, line+len(w.shown)), at+len(cluster)) : at+len(cluster)])
		at, column = at+len(cluster), column+width
	}
	segment, body = segment[line:], body[line:]
	switch {
	case open:
		w.word, w.shown = segment, body
	case strings.HasSuffix(segment, "\n"):
		w.feed(out)
	case len(w.shown) > len(segment): // now that more has come, the shown word turns out to be two
		w.used, w.shown = w.used+uniseg.StringWidth(segment), w.shown[len(segment):]
	default:
		w.used, w.shown = w.used+uniseg.StringWidth(segment), ""
		w.gap += segment[len(body):]
	}
}

// feed begins a line.
func (w *wrapper) feed(out *strings.Builder) {
	out.WriteByte('\n')
	w.used, w.gap, w.shown = 0, "", ""
}
