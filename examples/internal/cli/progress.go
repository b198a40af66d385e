package cli

import (
	"io"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
)

// worthABar is the number of bytes below which work is over before anyone could read a bar.
const worthABar = 64 << 20

// Progress returns a function that shows how much of a long piece of work is done, in bytes, as a bar on w; the bar disappears at the end.
// Nothing is shown for little work, or if w is not a terminal. The function is safe for concurrent use.
func Progress(w io.Writer, what string) func(done, total int64) {
	if !IsTerminal(w) {
		return func(int64, int64) {}
	}
	return bar(w, what, worthABar, true)
}

// Passes is Progress for pieces of work that are not bytes.
func Passes(w io.Writer, what string) func(done, total int) {
	if !IsTerminal(w) {
		return func(int, int) {}
	}
	show := bar(w, what, 0, false)
	return func(done, total int) { show(int64(done), int64(total)) }
}

// bar is Progress on a terminal, for work of at least least bytes, or at least as many pieces.
func bar(w io.Writer, what string, least int64, bytes bool) func(done, total int64) {
	var (
		mu  sync.Mutex
		bar *progressbar.ProgressBar
	)
	return func(done, total int64) {
		if total < least {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		if bar == nil {
			bar = progressbar.NewOptions64(total, progressbar.OptionSetWriter(w), progressbar.OptionSetDescription(what),
				progressbar.OptionShowBytes(bytes), progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionClearOnFinish())
		}
		bar.Set64(done)
	}
}
