package main

import (
	"context"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/antigravity-go/antigravity/llama/serve"
)

// rekeyOnHangup reads the file of keys again whenever the process is sent SIGHUP, until the function that it returns is called. Without such
// a file it does nothing.
func (c *command) rekeyOnHangup(ctx context.Context, server *serve.Server, log *slog.Logger, stderr io.Writer) (stop func()) {
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

// rekey reads the file of keys again at each signal. A file that cannot be read changes nothing.
func (c *command) rekey(ctx context.Context, signals <-chan os.Signal, server *serve.Server, log *slog.Logger, stderr io.Writer) {
	for {
		select {
		case <-signals:
		case <-ctx.Done():
			return
		}
		keys, err := c.keys(stderr)
		if err == nil {
			err = server.SetKeys(keys...)
		}
		if err != nil {
			log.Error("the keys stay as they were", "error", err)
			continue
		}
		log.Info("the file of keys was read again", "keys", len(keys))
	}
}
