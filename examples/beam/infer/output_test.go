package infer

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/internal/atomicfile"
	"github.com/antigravity-go/antigravity/internal/atomicfile/filetest"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem/memfs"
)

// TestKilledAtEveryWrite stops the writer of an output at each of its steps: as long as something is missing, the output is not complete.
func TestKilledAtEveryWrite(t *testing.T) {
	const lines = 4
	results, failures := []byte("{\"id\":1}\n{\"id\":2}\n{\"id\":3}\n"), []byte("{\"id\":4}\n")
	for _, before := range []map[string]string{
		{},
		{"a-000000.jsonl": ""}, // cut short by a loss of power
		{"a-000000.jsonl": "{\"id\":1}\n{\"id\":"},   // in the middle of a line
		{"a-000000.jsonl.part-XYZ": "a bystander's"}, // not ours
		{"a-000000.jsonl.failures": "{\"id\":1}\n"},  // of an attempt that was killed
	} {
		filetest.EveryStep(t, func(folder string) {
			for name, text := range before {
				if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		}, func(s atomicfile.System, folder string) error {
			return writeOutput(t.Context(), s, filepath.Join(folder, "a-000000.jsonl"), results, failures)
		}, func(folder string) error {
			output := filepath.Join(folder, "a-000000.jsonl")
			complete, err := Complete(t.Context(), output, lines)
			if err != nil || !complete {
				return err
			}
			for name, want := range map[string][]byte{output: results, FailuresOf(output): failures} {
				if got, err := os.ReadFile(name); err != nil || string(got) != string(want) {
					return errors.New(name + " is " + string(got) + ", and counts as complete")
				}
			}
			return nil
		})
	}
}

func TestComplete(t *testing.T) {
	for _, c := range []struct {
		results, failures string
		want              bool
	}{
		{"{}\n{}\n", "", true},
		{"{}\n", "{}\n", true},
		{"\n", "{}\n{}\n", false},
		{"", "{}\n{}\n", true},
		{"", "", false},
		{"{}\n", "", false},
		{"{}\n{}", "", false},
		{"{}\n{}\n{}\n", "", false},
		{"{}\n{}\n", "{}\n", false},
		{"{}\n\x00\x00\n", "", false},
		{"{}\n{\n", "", false},
	} {
		output := filepath.Join(t.TempDir(), "a-000000.jsonl")
		for name, text := range map[string]string{output: c.results, FailuresOf(output): c.failures} {
			if name != output && text == "" {
				continue
			}
			if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := Complete(t.Context(), output, 2); got != c.want || err != nil {
			t.Errorf("%q and %q: %v, %v; want %v", c.results, c.failures, got, err, c.want)
		}
	}
	if got, err := Complete(t.Context(), filepath.Join(t.TempDir(), "none.jsonl"), 2); got || err != nil {
		t.Errorf("no file: %v, %v", got, err)
	}
}

// Failures of an earlier attempt do not stay if there are no failures any more, here or in a bucket.
func TestOldFailuresAreRemoved(t *testing.T) {
	for _, output := range []string{filepath.Join(t.TempDir(), "a-000000.jsonl"), "memfs://bucket/a-000000.jsonl"} {
		one := []byte("{}\n")
		if err := writeOutput(t.Context(), nil, output, one, one); err != nil {
			t.Fatal(err)
		}
		if complete, err := Complete(t.Context(), output, 2); !complete || err != nil {
			t.Errorf("%s: %v, %v", output, complete, err)
		}
		if err := writeOutput(t.Context(), nil, output, one, nil); err != nil {
			t.Fatal(err)
		}
		if complete, err := Complete(t.Context(), output, 1); !complete || err != nil {
			t.Errorf("%s without failures: %v, %v", output, complete, err)
		}
	}
	memfs.Write("memfs://bucket/other", nil)
}

// Errors name what the user wrote and what would be right, and nothing of this program.
func TestErrorsAreInUsersWords(t *testing.T) {
	for line, want := range map[string]string{
		`{"messages":"x"}`:          `"messages" must be a list, and is a string`,
		`{"messages":[{"role":3}]}`: `must be a string, and is a number`,
		`{"prompt":["x"]}`:          `"prompt" must be a string, and is a list`,
		`{"raw":"yes"}`:             `"raw" must be true or false, and is a string`,
		`{"max_tokens":"3"}`:        `"max_tokens" must be a whole number within the field's range, and is a string`,
		`{"max_tokens":1.5}`:        `"max_tokens" must be a whole number within the field's range, and is 1.5`,
		`{"seed":-1}`:               `"seed" must be a whole number that is not negative, within the field's range, and is -1`,
		`{"temperature":{}}`:        `"temperature" must be a number, and is an object`,
		`{"stop":"x"}`:              `"stop" must be a list, and is a string`,
		`{"stop":[true]}`:           `"stop" must be a string, and is true or false`,
		`[]`:                        `the line must be an object, and is a list`,
		`{"max_tokns":3}`:           `no field is called "max_tokns"`,
		`{"prompt":`:                `ends within the object`,
		`{"prompt" "x"}`:            `it is no JSON`,
		`nonsense`:                  `it is no JSON`,
		``:                          `ends within the object`,
	} {
		var r Request
		err := decodeStrictly(line, &r)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; it must say %q", line, err, want)
			continue
		}
		for _, ours := range []string{"Go ", "struct", "infer.", "Request", "Input", "json:", "unmarshal", "[]", "uint"} {
			if strings.Contains(err.Error(), ours) {
				t.Errorf("%s: %q has %q", line, err, ours)
			}
		}
	}
}
