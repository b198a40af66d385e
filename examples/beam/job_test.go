package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/antigravity-go/antigravity/examples/beam/infer"
	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/flint"
)

// start runs a job as the command line would, and returns what it says.
func start(t *testing.T, ctx context.Context, o flags) (string, error) {
	t.Helper()
	o.model.Path = "flint"
	if o.task == "" {
		o.task = string(infer.Answers)
	}
	if o.lines == 0 {
		o.lines = 8
	}
	if o.defaults == "" {
		o.defaults = answerDefaults
	}
	j, err := o.job(ctx)
	if err != nil {
		return "", err
	}
	var said bytes.Buffer
	err = j.run(ctx, &said)
	return said.String(), err
}

// prompts writes a file of n prompts.
func prompts(t *testing.T, name string, n int) string {
	t.Helper()
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `{"prompt":"What is %d + %d?","max_tokens":20,"temperature":%d,"seed":%d}`+"\n", i%80, i*7%60, i%2, i)
	}
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

// contents returns a folder's files by name, the plan aside.
func contents(t *testing.T, folder string) map[string]string {
	t.Helper()
	files, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, f := range files {
		data, err := os.ReadFile(filepath.Join(folder, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if f.Name() != planName {
			all[f.Name()] = string(data)
		}
	}
	return all
}

// The files of results have what a session of its own answers to each line, in the order of the lines.
func TestResultsAreInOrder(t *testing.T) {
	in, out := prompts(t, "sums.jsonl", 30), t.TempDir()
	said, err := start(t, t.Context(), flags{in: in, out: out})
	if err != nil || !strings.Contains(said, "30 results and 0 failures") || !strings.Contains(said, "models loaded: 1") {
		t.Fatalf("%s: %v", said, err)
	}
	model, err := flint.Load(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer model.Close()
	fingerprint, err := model.Fingerprint()
	if err != nil {
		t.Fatal(err)
	}
	files := contents(t, out)
	if len(files) != 4 {
		t.Fatalf("%v", files)
	}
	for i := range 30 {
		session, err := model.NewSession(nil)
		if err != nil {
			t.Fatal(err)
		}
		prompt := []llama.Message{{Role: "user", Content: fmt.Sprintf("What is %d + %d?", i%80, i*7%60)}}
		p, err := llama.Collect(session.Chat(t.Context(), prompt, llama.Params{MaxTokens: 20, Temperature: float32(i % 2), Seed: uint64(i)}))
		if err != nil {
			t.Fatal(err)
		}
		session.Close()
		want, _ := json.Marshal(infer.Answer{
			ID: fmt.Sprintf("sums.jsonl:%d", i+1), Text: p.Message.Content, Finish: "stop", PromptTokens: p.Stats.PromptTokens,
			Tokens: p.Stats.GeneratedTokens, Model: fingerprint,
		})
		lines := strings.Split(files[fmt.Sprintf("sums-%06d.jsonl", i/8)], "\n")
		if lines[i%8] != string(want) {
			t.Errorf("line %d is %s, and must be %s", i+1, lines[i%8], want)
		}
	}
}

// A command that is given again computes only the missing results. There may be new files of prompts; nothing else may change.
func TestGoesOn(t *testing.T) {
	in, out := prompts(t, "sums.jsonl", 30), t.TempDir()
	o := flags{in: in, out: out}
	if _, err := start(t, t.Context(), o); err != nil {
		t.Fatal(err)
	}
	whole := contents(t, out)
	for _, name := range []string{"sums-000001.jsonl", "sums-000003.jsonl"} {
		if err := os.Remove(filepath.Join(out, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(out, "sums-000001.jsonl.0123abcd.tmp"), []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	cut := filepath.Join(out, "sums-000002.jsonl")
	if err := os.Truncate(cut, int64(len(whole["sums-000002.jsonl"])/2)); err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-time.Hour).Truncate(time.Second)
	kept := filepath.Join(out, "sums-000000.jsonl")
	if err := os.Chtimes(kept, old, old); err != nil {
		t.Fatal(err)
	}
	said, err := start(t, t.Context(), o)
	if err != nil || !strings.Contains(said, "22 results and 0 failures") || !strings.Contains(said, "1 file of results there already") {
		t.Errorf("%s: %v", said, err)
	}
	if again := contents(t, out); !maps.Equal(again, whole) {
		t.Error("the results are others")
	}
	if info, err := os.Stat(kept); err != nil || !info.ModTime().Equal(old) {
		t.Errorf("a file that was there was written again: %v", err)
	}
	o.in += "," + prompts(t, "more.jsonl", 3)
	if said, err := start(t, t.Context(), o); err != nil || !strings.Contains(said, "3 results") {
		t.Errorf("%s: %v", said, err)
	}
	for what, change := range map[string]func(*flags){
		"-lines":    func(o *flags) { o.lines = 9 },
		"-defaults": func(o *flags) { o.defaults = `{"max_tokens":9}` },
		"the model": func(o *flags) { o.model.KV = "q8_0" },
		"-task":     func(o *flags) { o.task = "score" },
	} {
		other := o
		change(&other)
		if _, err := start(t, t.Context(), other); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%s changed: %v", what, err)
		}
	}
	text, err := os.ReadFile(in)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(in, bytes.Replace(text, []byte("What is 0"), []byte("What is 1"), 1), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := start(t, t.Context(), o); err == nil || !strings.Contains(err.Error(), "sums.jsonl was changed") {
		t.Errorf("an input changed, and not its size: %v", err)
	}
}

// An interrupted job ends soon, says how to go on, and goes on.
func TestInterrupted(t *testing.T) {
	in, out := prompts(t, "sums.jsonl", 2000), t.TempDir()
	o := flags{in: in, out: out}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(3*time.Second, cancel)
	began := time.Now()
	if said, err := start(t, ctx, o); !errors.Is(err, context.Canceled) || !strings.Contains(said, "goes on") {
		t.Fatalf("%s: %v", said, err)
	}
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("it took %v to end", took)
	}
}

func TestMistakes(t *testing.T) {
	in := prompts(t, "a.jsonl", 1)
	for says, o := range map[string]flags{
		"-in and -out":      {in: in},
		"-task nonsense":    {in: in, out: "x", task: "nonsense"},
		"-lines -1":         {in: in, out: "x", lines: -1},
		"-defaults":         {in: in, out: "x", defaults: "[]"},
		"there is no file":  {in: in + ".none", out: "x"},
		"files of the same": {in: in + "," + prompts(t, "a.jsonl", 1), out: "x"},
		"nowhere":           {in: "nowhere://x", out: "x"},
	} {
		if _, err := start(t, t.Context(), o); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, and must say %q", err, says)
		}
	}
}
