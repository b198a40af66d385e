package server

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/serve"
)

// long returns a secret that is long enough.
func long(secret string) string { return secret + "-0123456789abcdef" }

// TestKeysKeepTheirClients reads a file of keys without names again, with lines put in above, between and moved: each client has the name,
// and with it the cache and the account, that it had.
func TestKeysKeepTheirClients(t *testing.T) {
	read := func(lines ...string) map[string]string {
		t.Helper()
		read, err := readClients(strings.NewReader(strings.Join(lines, "\n")))
		if err != nil {
			t.Fatal(err)
		}
		names := map[string]string{}
		for _, k := range read.keys {
			names[k.Secret] = k.Name
			if tokens := read.accounts[k.Name].TokensPerDay; (k.Secret == long("ann")) != (tokens == 5) {
				t.Errorf("%q may use %d tokens: %q", k.Name, tokens, lines)
			}
		}
		return names
	}
	ann, bob := long("ann")+" tokens/day=5", long("bob")
	first := read(ann, bob)
	for _, lines := range [][]string{{bob, ann}, {"# a comment", "", ann, long("new"), bob}, {long("new"), ann, bob}, {"new " + long("new"), bob, ann}} {
		now := read(lines...)
		for _, secret := range []string{long("ann"), long("bob")} {
			if now[secret] != first[secret] || strings.Contains(now[secret], secret) {
				t.Errorf("%q is named %q, and was %q: %q", secret, now[secret], first[secret], lines)
			}
		}
	}
	if first[long("ann")] == first[long("bob")] {
		t.Errorf("two clients have one name: %v", first)
	}
}

// TestKeysAreReadAgain changes the file of keys while the server runs.
func TestKeysAreReadAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys")
	write := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(long("one"))
	c := &command{keyFile: path}
	allowed, err := c.clients(io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	server, err := serve.New(serve.Options{Keys: allowed.keys, Models: []serve.Model{serve.File("m", "nowhere.gguf", &llama.LoadOptions{})}})
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
		r.Header.Set("X-Api-Key", long(secret))
		w := httptest.NewRecorder()
		server.ServeHTTP(w, r)
		return w.Code == http.StatusOK
	}
	for _, step := range []struct {
		file, lets, no, says string
	}{
		{long("two"), "two", "one", "read again"},
		{"", "two", "", "stay as they were"},
		{"a b c", "two", "a", "line 1"},
		{"short", "two", "short", "must have 16"},
		{long("three"), "three", "two", "keys=1"},
	} {
		write(step.file)
		signals <- syscall.SIGHUP
		signals <- nil // comes when the one before it has been dealt with; it reads the file once more
		if !lets(step.lets) || lets(step.no) || !strings.Contains(log.String(), step.says) {
			t.Errorf("%+v: the log says %s", step, log.String())
		}
	}
}

// TestAChangedFileOfKeysIsReadAgain needs no signal, since Windows has no SIGHUP. Time is the test's own.
func TestAChangedFileOfKeysIsReadAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys")
	at := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	write := func(text string) {
		t.Helper()
		at = at.Add(time.Second) // as far as the file says
		if err := errors.Join(os.WriteFile(path, []byte(text), 0o600), os.Chtimes(path, at, at)); err != nil {
			t.Fatal(err)
		}
	}
	write("ann " + long("one"))
	synctest.Test(t, func(t *testing.T) {
		c := &command{keyFile: path}
		allowed, err := c.clients(io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		server, err := serve.New(serve.Options{Keys: allowed.keys, Accounts: allowed.accounts, Models: []serve.Model{serve.File("m", "nowhere.gguf", nil)}})
		if err != nil {
			t.Fatal(err)
		}
		defer server.Close()
		var log notes
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go c.rekey(ctx, nil, server, slog.New(slog.NewTextHandler(&log, nil)), io.Discard)
		status := func(secret string) int {
			r := httptest.NewRequest("GET", "/v1/models", nil)
			r.Header.Set("X-Api-Key", long(secret))
			w := httptest.NewRecorder()
			server.ServeHTTP(w, r)
			return w.Code
		}
		look := func() {
			time.Sleep(lookEvery)
			synctest.Wait()
		}
		synctest.Wait()
		if status("one") != 200 || status("two") != 401 {
			t.Error("the first keys")
		}
		write("ann " + long("t"))
		look()
		write("ann " + long("two") + " requests/minute=1") // now it is whole
		look()
		if status("one") != 200 || status("t") != 401 || log.String() != "" {
			t.Errorf("a file that is being written was read: %s", log.String())
		}
		look()
		if got := []int{status("one"), status("two"), status("two")}; !slices.Equal(got, []int{401, 200, 429}) {
			t.Errorf("after the change: statuses %d; the log says %s", got, log.String())
		}
		write("a b c")
		look()
		look()
		if status("two") != 429 || strings.Count(log.String(), "stay as they were") != 1 {
			t.Errorf("after a wrong change: the log says %s", log.String())
		}
		look()
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		look()
		look()
		look()
		if status("two") != 429 || strings.Count(log.String(), "stay as they were") != 2 {
			t.Errorf("without a file: the log says %s", log.String())
		}
	})
}
