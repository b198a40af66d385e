// Package huggingface asks Hugging Face's own tokenizers library what it makes of texts, for tests that compare with it. The library is a
// program of node; .ci/run installs it and says where. Without it such tests are skipped.
package huggingface

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// folder is the environment variable with the folder of the program answer.js and its node_modules.
const folder = "ANTIGRAVITY_TOKENIZERS"

// Library is the running program. It is for one goroutine at a time.
type Library struct {
	t       testing.TB
	in      *json.Encoder
	answers *bufio.Reader
}

// Start starts the program, which ends with the test. It skips the test if ANTIGRAVITY_TOKENIZERS does not name a folder.
func Start(t testing.TB) *Library {
	t.Helper()
	dir := os.Getenv(folder)
	if dir == "" {
		t.Skip(folder + " does not name the folder of Hugging Face's tokenizers: .ci/run tokenizers does")
	}
	command := exec.Command("node", filepath.Join(dir, "answer.js"))
	in, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var complaints bytes.Buffer
	command.Stderr = &complaints
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		if err := command.Wait(); err != nil {
			t.Errorf("node: %v\n%s", err, &complaints)
		}
	})
	encoder := json.NewEncoder(in)
	encoder.SetEscapeHTML(false)
	return &Library{t: t, in: encoder, answers: bufio.NewReaderSize(out, 1<<20)}
}

// Normalized returns what the tokenizer's normalizer makes of each text. tokenizer is a tokenizer.json, as json.Marshal takes it. An error is
// the library's.
func (l *Library) Normalized(tokenizer any, texts []string) (normalized []string, err error) {
	return normalized, l.ask(tokenizer, texts, "normalized", &normalized)
}

// Pieces returns the pieces that the tokenizer's pre-tokenizer cuts each text into.
func (l *Library) Pieces(tokenizer any, texts []string) (pieces [][]string, err error) {
	return pieces, l.ask(tokenizer, texts, "pieces", &pieces)
}

// Encoding is the tokens of a text, and the text that they decode to without special tokens.
type Encoding struct {
	IDs    []int32
	Text   string
	Places [][2]int // of the tokens in the text, in characters: begin and end
}

// UnmarshalJSON reads [ids, text, places].
func (e *Encoding) UnmarshalJSON(data []byte) error {
	return json.Unmarshal(data, &[]any{&e.IDs, &e.Text, &e.Places})
}

// Encodings returns the tokens of each text, with those that the post-processor adds.
func (l *Library) Encodings(tokenizer any, texts []string) (encodings []Encoding, err error) {
	return encodings, l.ask(tokenizer, texts, "ids", &encodings)
}

func (l *Library) ask(tokenizer any, texts []string, want string, answer any) error {
	l.t.Helper()
	request := struct {
		Tokenizer any      `json:"tokenizer"`
		Texts     []string `json:"texts"`
		Want      string   `json:"want"`
	}{tokenizer, texts, want}
	if err := l.in.Encode(request); err != nil {
		l.t.Fatal(err)
	}
	line, err := l.answers.ReadBytes('\n')
	if err != nil {
		l.t.Fatal(err)
	}
	if err := json.Unmarshal(line, answer); err == nil {
		return nil
	}
	var complaint struct{ Error string }
	if err := json.Unmarshal(line, &complaint); err != nil {
		l.t.Fatalf("%v: %.200s", err, line)
	}
	return errors.New(complaint.Error)
}
