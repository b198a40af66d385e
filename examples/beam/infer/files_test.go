package infer

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem"
)

// A file has the results of its lines in their order. Lines without a result are in the second file.
func TestWriteFiles(t *testing.T) {
	out := t.TempDir()
	name := filepath.Join(out, "a-000000.jsonl")
	lines := Lines{
		Task: Answers, Output: name, Source: "a.jsonl", First: 7, Defaults: json.RawMessage(`{"max_tokens":4,"system":"Be brief."}`),
		Lines: []string{
			`{"prompt":"What is 2 + 3?"}`,
			`{"prompt":"What is 2 + 3?","max_tokns":3}`,
			`{"id":"mine","prompt":"What is 2 + 3? Is it < 6 & odd?","max_tokens":2}`,
			`{"prompt":`,
			`{"prompt":"x"} {}`,
			`[]`,
		},
	}
	seen, _ := runPipeline(t, func(s beam.Scope) {
		beam.ParDo0(s, takeFile, WriteFiles(s, flintModel, beam.Create(s, lines)))
	})
	if got := fmt.Sprint(seen[name]); got != fmt.Sprintf("[{%s 2 4}]", name) {
		t.Errorf("%s", got)
	}
	results := readLines[Answer](t, name)
	if len(results) != 2 || results[0].ID != "a.jsonl:7" || results[0].Tokens != 4 || results[1].ID != "mine" || results[1].Tokens != 2 {
		t.Errorf("%+v", results)
	}
	failures := readLines[Failure](t, FailuresOf(name))
	if len(failures) != 4 {
		t.Fatalf("%+v", failures)
	}
	for i, says := range []string{`no field is called "max_tokns"`, "ends within the object", "one JSON object", "the line must be an object, and is a list"} {
		want := raw(lines.Lines[[]int{1, 3, 4, 5}[i]])
		if f := failures[i]; !strings.Contains(f.Error, says) || string(f.Element) != string(want) && !json.Valid(want) {
			t.Errorf("%d: %+v, and must say %q", i, f, says)
		}
	}
	if files, err := os.ReadDir(out); err != nil || len(files) != 2 {
		t.Errorf("%v, %v", files, err)
	}
}

// readLines reads a file of JSON lines.
func readLines[T any](t *testing.T, file string) (all []T) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(strings.TrimSuffix(string(data), "\n"), "\n") {
		var v T
		if err := json.Unmarshal([]byte(line), &v); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		all = append(all, v)
	}
	return all
}

// What cannot be written fails the bundle: it is no failure of an element.
func TestWriteFilesWhereNothingCanBeWritten(t *testing.T) {
	blocked := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(blocked, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for task, says := range map[Task]string{Answers: "write", "nonsense": "no task"} {
		l, release, _, err := loadedModels.use(t.Context(), flintModel)
		if err != nil {
			t.Fatal(err)
		}
		lines := Lines{Task: task, Output: blocked + "/a.jsonl", Lines: []string{`{"prompt":"x","max_tokens":1}`}}
		_, _, err = lines.compute(t.Context(), l)
		if _, ok := err.(*bundleError); !ok || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", task, err)
		}
		release()
	}
}

// What a killed worker leaves is removed, and nothing else.
func TestUnfinishedFilesAreRemoved(t *testing.T) {
	out := t.TempDir()
	kept := []string{"a-000000.jsonl", "a-000001.jsonl.part-XYZ", "mine.part-1", "mine.tmp", "mine.jsonl.01234567.tmp", "a-000001.jsonl.mine.tmp"}
	for _, name := range append([]string{"a-000001.jsonl.01234567.tmp", "a-000001.jsonl.failures.89abcdef.tmp"}, kept...) {
		if err := os.WriteFile(filepath.Join(out, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	fs, err := filesystem.New(t.Context(), out)
	if err != nil {
		t.Fatal(err)
	}
	if err := RemoveUnfinished(t.Context(), fs, out); err != nil {
		t.Fatal(err)
	}
	files, err := Written(t.Context(), fs, out+"/")
	if err != nil || len(files) != 1 || filepath.Base(files[0]) != "a-000000.jsonl" {
		t.Errorf("%v, %v", files, err)
	}
	all, err := os.ReadDir(out)
	if err != nil || len(all) != len(kept) {
		t.Errorf("%v, %v; want %v", all, err, kept)
	}
}
