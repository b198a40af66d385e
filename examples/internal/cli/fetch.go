package cli

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"sync"

	"github.com/antigravity-go/antigravity/llama/hub"
)

// Models describes the values of -model and similar flags, apart from the embedded models.
const Models = "a .gguf file or a Hugging Face folder, or its name on the Hugging Face Hub, as hf:owner/name, hf:owner/name:Q4_K_M or " +
	"hf:owner/name/file.gguf, with @revision behind it or not, or its URL"

// Fetch returns a local path for a path, a name on the hub or a URL. If the model is not on this machine, it is fetched, with progress on
// stderr.
func Fetch(ctx context.Context, name string, stderr io.Writer) (path string, err error) {
	return fetch(ctx, name, slog.LevelWarn, stderr)
}

// Fetch returns the path of the model, "" for an embedded one, as the function Fetch does. It is done once: Load and LoadOn call it, too.
func (m *Model) Fetch(ctx context.Context, stderr io.Writer) (path string, err error) {
	if m.Embedded() || m.fetched != "" {
		return m.fetched, nil
	}
	level := slog.LevelWarn
	if m.Verbose {
		level = slog.LevelInfo
	}
	m.fetched, err = fetch(ctx, m.Path, level, stderr)
	return m.fetched, err
}

func fetch(ctx context.Context, name string, level slog.Level, stderr io.Writer) (path string, err error) {
	log := slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: level}))
	return hub.Get(ctx, name, &hub.Options{Progress: fetching(stderr, name), Logger: log})
}

// worthWaiting is the number of bytes below which a file arrives before anyone could read a bar.
const worthWaiting = 1 << 20

// fetching returns a function that shows how much of a model has arrived: as a bar or, if w is not a terminal, as a line at the beginning.
func fetching(w io.Writer, name string) func(done, total int64) {
	if IsTerminal(w) {
		return bar(w, "fetching "+hub.Base(name), worthWaiting, true)
	}
	var once sync.Once
	return func(done, total int64) {
		if done < total { // another program may have fetched it meanwhile
			once.Do(func() { fmt.Fprintf(w, "fetching %s: %.1f MB\n", Printable(name), float64(total-done)/1e6) })
		}
	}
}
