package cli

import (
	"io"
	"sync"
	"time"

	"github.com/antigravity-go/antigravity/llama"
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

// worthAPromptBar is the number of tokens below which a prompt is read before anyone could read a bar, on most computers.
const worthAPromptBar = 256

// Reading returns a function for llama.Params.Progress that shows on w how much of a prompt is read, and one that clears the line of a prompt
// that was interrupted. Nothing is shown for short prompts, or if w is not a terminal.
func Reading(w io.Writer) (progress func(llama.PromptProgress), done func()) {
	if !IsTerminal(w) {
		return nil, func() {}
	}
	var show func(done, total int64)
	shown := false
	return func(p llama.PromptProgress) {
			if p.Done == p.Reused { // another prompt begins
				show = bar(w, "reading", worthAPromptBar, false)
			}
			shown = p.Done < p.Total && p.Total-p.Reused >= worthAPromptBar
			show(int64(p.Done-p.Reused), int64(p.Total-p.Reused))
		}, func() {
			if shown {
				io.WriteString(w, "\r\x1b[K")
				shown = false
			}
		}
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
