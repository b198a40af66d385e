package read

import (
	"github.com/antigravity-go/antigravity/internal/jsonschema/internal/document"
	"github.com/antigravity-go/antigravity/internal/jsonschema/internal/limits"
)

// Ledger is what the attempts at one schema leave out. A schema that something was left out of may have been taken for a whole one
// before, so that another attempt is made.
type Ledger struct {
	Lossy bool                       // leave out keywords that cannot be promised, instead of ending the compilation
	Left  []*limits.UnsupportedError // each once

	loose   map[spot]bool
	dropped map[*document.Value]string // why schemas are left out as a whole
	noted   map[limits.UnsupportedError]bool
	known   int // of loose, when the last attempt ended
}

// NewLedger returns a Ledger without entries.
func NewLedger(lossy bool) *Ledger {
	return &Ledger{Lossy: lossy, loose: map[spot]bool{}, dropped: map[*document.Value]string{}, noted: map[limits.UnsupportedError]bool{}}
}

// spot is a schema of the text, in any attempt.
type spot struct{ v, root *document.Value }

// Settled reports whether the attempt that has ended found out nothing new.
func (l *Ledger) Settled() bool {
	known := l.known
	l.known = len(l.loose)
	return l.known == known || known > maxLeft
}

// maxLeft bounds the list of what a lossy constraint leaves out.
const maxLeft = 1000

// add adds an entry.
func (l *Ledger) add(e limits.UnsupportedError) {
	if !l.noted[e] && len(l.noted) < maxLeft {
		l.noted[e] = true
		l.Left = append(l.Left, &e)
	}
}

// Drop leaves out a schema in the attempts to come. It returns false if that was tried before, or too often.
func (l *Ledger) Drop(v *document.Value, why string) bool {
	if v == nil || l.dropped[v] != "" || len(l.dropped) == maxDropped {
		return false
	}
	l.dropped[v] = why
	return true
}

// maxDropped bounds how many schemas are left out as a whole: each costs an attempt.
const maxDropped = 16
