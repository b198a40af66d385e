package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/examples/internal/cli"
	"github.com/antigravity-go/antigravity/internal/hubtest"
	"github.com/antigravity-go/antigravity/llama/pebble"
)

// program runs the program with a command line.
func program(t *testing.T, input string, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	var out, notes bytes.Buffer
	err = run(t.Context(), args, strings.NewReader(input), &out, &notes)
	return out.String(), notes.String(), err
}

// newHub starts a hub with Pebble and an empty cache.
func newHub(t *testing.T) {
	t.Helper()
	for _, variable := range []string{"HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "HF_TOKEN", "HF_HUB_OFFLINE", "HF_HUB_DISABLE_SYMLINKS"} {
		t.Setenv(variable, "")
	}
	hub := hubtest.New()
	t.Cleanup(hub.Close)
	t.Setenv("HF_HOME", t.TempDir())
	t.Setenv("HF_ENDPOINT", hub.URL)
	model, err := pebble.FS.ReadFile(pebble.Name)
	if err != nil {
		t.Fatal(err)
	}
	hub.Put("me/pebble-GGUF", "main", map[string][]byte{"pebble-Q4_0.gguf": model, "mmproj-pebble-F16.gguf": []byte("GGUF")})
	hub.Put("me/whisper-GGUF", "main", map[string][]byte{"whisper.gguf": []byte("GGUF and nothing else")})
}

// TestFirstDay fetches a model, lists it, talks to it, and removes it, by names that leave out more and more.
func TestFirstDay(t *testing.T) {
	newHub(t)
	path, _, err := program(t, "", "pull", "me/pebble-GGUF:q4_0")
	if err != nil || filepath.Base(strings.TrimSpace(path)) != "pebble-Q4_0.gguf" {
		t.Fatalf("%q, %v", path, err)
	}
	listed, _, err := program(t, "", "list")
	if err != nil || !strings.Contains(listed, "hf:me/pebble-GGUF:Q4_0") || !strings.Contains(listed, " MB") || !strings.Contains(listed, "flint") {
		t.Errorf("%s%v", listed, err)
	}
	t.Setenv("HF_HUB_OFFLINE", "1")
	for _, name := range []string{"hf:me/pebble-GGUF:Q4_0", "me/pebble-GGUF:Q4_0", "pebble-GGUF:Q4_0", "pebble", strings.TrimSpace(path)} {
		answer, stderr, err := program(t, "What is the capital of Japan?\n", "run", name, "-temperature", "0")
		if err != nil || answer != "The capital of Japan is Tokyo.\n" {
			t.Errorf("%s: %q, %s, %v", name, answer, stderr, err)
		}
	}
	_, stderr, err := program(t, "", "rm", "pebble-GGUF:Q4_0")
	if err != nil || !strings.Contains(stderr, "removed hf:me/pebble-GGUF:Q4_0: 4.5 MB") {
		t.Errorf("%s%v", stderr, err)
	}
	if _, err := os.Stat(strings.TrimSpace(path)); err == nil {
		t.Error("the file is still there")
	}
}

// served returns the list of models of "antigravity serve" with these arguments.
func served(t *testing.T, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	reader, writer := io.Pipe()
	over := make(chan error, 1)
	go func() {
		err := run(ctx, append(append([]string{"serve"}, args...), "-addr", "127.0.0.1:0"), nil, writer, io.Discard)
		writer.CloseWithError(io.EOF)
		over <- err
	}()
	line := make([]byte, 100)
	n, _ := reader.Read(line)
	url, ok := strings.CutPrefix(strings.TrimSpace(string(line[:n])), "listening on ")
	if !ok {
		t.Fatalf("%q, %v", line[:n], <-over)
	}
	answer, err := http.Get(url + "/v1/models")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := <-over; err != nil {
		t.Error(err)
	}
	return string(body)
}

func TestServeTakesWhatIsHere(t *testing.T) {
	newHub(t)
	if models := served(t); !strings.Contains(models, `"flint"`) {
		t.Errorf("an empty cache: %s", models)
	}
	for _, name := range []string{"me/pebble-GGUF/mmproj-pebble-F16.gguf", "me/pebble-GGUF:Q4_0", "me/whisper-GGUF"} {
		if _, _, err := program(t, "", "pull", "hf:"+name); err != nil {
			t.Fatal(err)
		}
	}
	if models := served(t); !strings.Contains(models, `"pebble-GGUF:Q4_0"`) || strings.Contains(models, "flint") || strings.Contains(models, "mmproj") || strings.Contains(models, "whisper") {
		t.Errorf("the cache: %s", models)
	}
	if models := served(t, "small=pebble-GGUF:Q4_0", "flint"); !strings.Contains(models, `"small"`) || !strings.Contains(models, `"flint"`) {
		t.Errorf("two names: %s", models)
	}
}

func TestWrongCommandLines(t *testing.T) {
	newHub(t)
	for _, c := range []struct{ line, want string }{
		{"fetch x", `no command "fetch"`}, {"pull", "is missing"}, {"pull nothing", "antigravity list"}, {"rm flint", "part of this program"},
		{"run pebble flint", "one model at a time"}, {"run pebble -unknown", "-unknown"}, {"rm -all", "-all"}, {"list x", "unexpected"},
	} {
		_, _, err := program(t, "", strings.Fields(c.line)...)
		if _, ok := err.(*cli.UsageError); !ok || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.line, err, c.want)
		}
	}
	if _, _, err := program(t, "", "rm", "hf:me/pebble-GGUF"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("removing what is not there: %v", err)
	}
}

func TestHelp(t *testing.T) {
	for _, line := range []string{"", "-h", "help", "pull -h", "list -h", "rm -h", "run -h", "serve -h"} {
		stdout, _, err := program(t, "", strings.Fields(line)...)
		if err != nil && !errors.Is(err, flag.ErrHelp) || !strings.Contains(stdout, "antigravity") || strings.Contains(stdout, "go run") {
			t.Errorf("%s: %v\n%s", line, err, stdout)
		}
	}
}
