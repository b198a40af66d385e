package main

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/examples/internal/cli"
	"github.com/antigravity-go/antigravity/examples/tools/dashboard/internal/sample"
)

func TestParse(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args    string
		folders string // with commas between; "": the arguments are wrong
	}{
		{"", "results"},
		{"a b", "a,b"},
		{"a -addr localhost:0 b", "a,b"},
		{"-addr=127.0.0.1:80 a", "a"},
		{"-results c a --results=d", "a,c,d"},
		{"-addr [::1]:0", "results"},
		{"-export x.html a", "a"},
		{"-addr 0.0.0.0:80", ""},
		{"-addr :80", ""},
		{"-addr example.org:80", ""},
		{"-addr localhost", ""},
		{"-unknown x", ""},
		{"-export", ""},
		{file, ""},
	} {
		o, err := parse(strings.Fields(c.args), io.Discard)
		var usage *cli.UsageError
		switch {
		case c.folders == "" && !errors.As(err, &usage):
			t.Errorf("%s: %v, want a usage error", c.args, err)
		case c.folders != "" && (err != nil || strings.Join(o.folders, ",") != c.folders):
			t.Errorf("%s: %+v, %v, want the folders %s", c.args, o, err, c.folders)
		}
	}
}

// TestFoldersThatAreNotThere names folders that do not exist: nothing is served or written.
func TestFoldersThatAreNotThere(t *testing.T) {
	there, gone := t.TempDir(), filepath.Join(t.TempDir(), "gone")
	for _, args := range [][]string{{gone}, {there, gone}, {"-results", gone}, {"-export", filepath.Join(there, "x.html"), gone}} {
		var stdout strings.Builder
		if err := run(t.Context(), append(args, "-addr", "localhost:0"), nil, &stdout, io.Discard); !errors.Is(err, fs.ErrNotExist) || stdout.Len() > 0 {
			t.Errorf("%v: %v, and %q was said", args, err, &stdout)
		}
	}
}

func TestExport(t *testing.T) {
	root := t.TempDir()
	results, file := filepath.Join(root, "results"), filepath.Join(root, "out.html")
	if err := os.Mkdir(results, 0o777); err != nil {
		t.Fatal(err)
	}
	var stdout strings.Builder
	err := run(t.Context(), []string{"-export", file, results}, nil, &stdout, io.Discard)
	if err == nil || !strings.Contains(err.Error(), "suite") {
		t.Errorf("without runs: %v", err)
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("without runs a file was written")
	}
	if _, err := sample.Write(results, sample.Options{Small: true}); err != nil {
		t.Fatal(err)
	}
	if err := run(t.Context(), []string{"-export", file, results}, nil, &stdout, io.Discard); err != nil {
		t.Fatal(err)
	}
	if text := stdout.String(); !strings.Contains(text, "24 runs") || !strings.Contains(text, " MB") {
		t.Errorf("the program said %s", text)
	}
	entries, err := os.ReadDir(root)
	if err != nil || len(entries) != 2 {
		t.Errorf("the folder holds %v, %v", entries, err)
	}
	if err := run(t.Context(), []string{"-export", filepath.Join(root, "nowhere", "x.html"), results}, nil, io.Discard, io.Discard); err == nil {
		t.Error("a file in a folder that is not there was written")
	}
}

func TestServe(t *testing.T) {
	results := t.TempDir()
	if _, err := sample.Write(results, sample.Options{Small: true}); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	out, in := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- run(ctx, []string{"-addr", "127.0.0.1:0", results}, nil, in, io.Discard) }()
	line := make([]byte, 100)
	n, err := out.Read(line)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.Get(strings.TrimSpace(string(line[:n])))
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(response.Body)
	response.Body.Close()
	if err != nil || response.StatusCode != http.StatusOK || !strings.Contains(string(body), "<title>Results") {
		t.Errorf("status %d, %v: %s", response.StatusCode, err, body)
	}
	stop()
	if err := <-ended; err != nil {
		t.Errorf("after Ctrl-C: %v", err)
	}
}
