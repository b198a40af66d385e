package main

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/serve"
)

// TestKeysAreReadAgain changes the file of keys while the server runs.
func TestKeysAreReadAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys")
	write := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("one")
	c := &command{keyFile: path}
	keys, err := c.keys(io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	server, err := serve.New(serve.Options{Keys: keys, Models: []serve.Model{serve.File("m", "nowhere.gguf", &llama.LoadOptions{})}})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	var log notes
	signals, over := make(chan os.Signal), make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	defer func() {
		cancel()
		<-over
	}()
	go func() {
		defer close(over)
		c.rekey(ctx, signals, server, slog.New(slog.NewTextHandler(&log, nil)), io.Discard)
	}()
	lets := func(secret string) bool {
		r := httptest.NewRequest("GET", "/v1/models", nil)
		r.Header.Set("X-Api-Key", secret)
		w := httptest.NewRecorder()
		server.ServeHTTP(w, r)
		return w.Code == http.StatusOK
	}
	for _, step := range []struct {
		file, lets, no, says string
	}{
		{"two", "two", "one", "read again"},
		{"", "two", "", "stay as they were"},
		{"a b c", "two", "a", "line 1"},
		{"three", "three", "two", "keys=1"},
	} {
		write(step.file)
		signals <- syscall.SIGHUP
		signals <- nil // comes when the one before it has been dealt with; it reads the file once more
		if !lets(step.lets) || lets(step.no) || !strings.Contains(log.String(), step.says) {
			t.Errorf("%+v: the log says %s", step, log.String())
		}
	}
}
