package server

import (
	"context"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/antigravity-go/antigravity/llama/serve"
)

// lookEvery is how often the program looks whether the file of keys has changed.
const lookEvery = 2 * time.Second

// keepKeys reads the file of keys again whenever the file changes or the process is sent SIGHUP, until the function that it returns is called.
// Without such a file it does nothing.
func (c *command) keepKeys(ctx context.Context, server *serve.Server, log *slog.Logger, stderr io.Writer) (stop func()) {
	if c.keyFile == "" {
		return func() {}
	}
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	ctx, cancel := context.WithCancel(ctx)
	go c.rekey(ctx, hangups, server, log, stderr)
	return func() {
		signal.Stop(hangups)
		cancel()
	}
}

// rekey reads the file of keys again at each signal, and when the file is another one than it was. A file that cannot be read changes nothing.
func (c *command) rekey(ctx context.Context, signals <-chan os.Signal, server *serve.Server, log *slog.Logger, stderr io.Writer) {
	looks := time.NewTicker(lookEvery)
	defer looks.Stop()
	read := c.lookAtKeys()
	last := read
	for {
		select {
		case <-signals:
			last = c.lookAtKeys()
		case <-looks.C:
			// A file that is being written is left alone until it has been the same for two looks.
			before := last
			if last = c.lookAtKeys(); last != before || last == read {
				continue
			}
		case <-ctx.Done():
			return
		}
		read = last
		allowed, err := c.clients(stderr)
		if err == nil {
			err = server.SetAccounts(allowed.accounts)
		}
		if err == nil {
			err = server.SetKeys(allowed.keys...)
		}
		if err != nil {
			log.Error("the keys stay as they were", "error", err)
			continue
		}
		log.Info("the file of keys was read again", "keys", len(allowed.keys))
	}
}

// sight is what can be seen of a file without reading it. The zero value is no file.
type sight struct {
	size    int64
	changed time.Time
}

// lookAtKeys looks at the file of keys.
func (c *command) lookAtKeys() sight {
	info, err := os.Stat(c.keyFile)
	if err != nil {
		return sight{}
	}
	return sight{info.Size(), info.ModTime()}
}
