package runs

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

// example is a run of ten tokens, 2 ms apart, after a prompt of 100 that took 50 ms.
func example() *Run {
	r := &Run{
		Config:     Config{Model: "pebble", Backend: "cpu", KV: "f16", Policy: "none", Prompt: 100, Generate: 10},
		Repetition: 1, Began: time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC), Load: 0.1, Reading: [2]float64{0.1, 0.15}, Weights: 4e6,
		Memory:   []Memory{{At: 0.1, Resident: 30e6, Cache: 1e6}, {At: 0.2, Resident: 31e6, Cache: 2e6}},
		Accuracy: []Accuracy{{"needle", 10, 9}, {"needle_late", 30, 21}},
	}
	for i := range 10 {
		r.Tokens = append(r.Tokens, 0.152+0.002*float64(i))
	}
	return r
}

func TestMetrics(t *testing.T) {
	want := map[string]float64{
		"generating": 500, "reading": 2000, "first": 52, "gap50": 2, "gap99": 2, "accuracy": 0.75, "resident": 31, "cache": 2, "weights": 4,
		"evictions": 0, "load": 0.1,
	}
	for _, m := range Metrics {
		got, ok := m.Of(example())
		if !ok || got < want[m.Name]-1e-6 || got > want[m.Name]+1e-6 {
			t.Errorf("%s: %v %v, want %v", m.Name, got, ok, want[m.Name])
		}
		if got, ok := m.Of(&Run{Error: "the model is missing"}); ok {
			t.Errorf("%s of a run that failed: %v", m.Name, got)
		}
	}
	if _, ok := MetricNamed("first"); !ok {
		t.Error("there is no metric of a name that is in the list")
	}
}

// TestAxes changes each field of a Config, and wants one axis to differ.
func TestAxes(t *testing.T) {
	fields := reflect.TypeFor[Config]()
	for i := range fields.NumField() {
		var c Config
		switch f := reflect.ValueOf(&c).Elem().Field(i); f.Kind() {
		case reflect.String:
			f.SetString("x")
		case reflect.Int:
			f.SetInt(1)
		case reflect.Float64:
			f.SetFloat(0.5)
		case reflect.Bool:
			f.SetBool(true)
		}
		var told []string
		for _, a := range Axes {
			if a.Of(&c) != a.Of(&Config{}) {
				told = append(told, a.Name)
			}
		}
		if len(told) != 1 {
			t.Errorf("the field %s is told by the axes %v", fields.Field(i).Name, told)
		}
	}
}

func TestFolder(t *testing.T) {
	f := Folder(filepath.Join(t.TempDir(), "results"))
	r := example()
	if got, err := f.Read(&r.Config, 1); got != nil || err != nil {
		t.Fatalf("before any was written: %v, %v", got, err)
	}
	for range 2 { // the second takes the place of the first
		if err := f.Write(r); err != nil {
			t.Fatal(err)
		}
	}
	got, err := f.Read(&r.Config, 1)
	if err != nil || !reflect.DeepEqual(got, r) {
		t.Fatalf("%+v, %v, want %+v", got, err, r)
	}
	if list, err := f.All(); err != nil || len(list) != 1 {
		t.Fatalf("%d runs, %v", len(list), err)
	}
	bad := filepath.Join(string(f), "bad.run.json")
	for _, text := range []string{"{", "{}", "[]"} {
		if err := os.WriteFile(bad, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		if _, err := f.All(); err == nil || !strings.Contains(err.Error(), "bad.run.json") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestEqualConfigsHaveEqualIDs(t *testing.T) {
	a, b := example().Config, example().Config
	if a.ID() != b.ID() || len(a.ID()) != 12 {
		t.Errorf("%q and %q", a.ID(), b.ID())
	}
	b.Window = 128
	if a.ID() == b.ID() {
		t.Error("two configs have one ID")
	}
}

func TestFiles(t *testing.T) {
	root := t.TempDir()
	f := Folder(filepath.Join(root, "results"))
	if list, err := f.Files(); !errors.Is(err, fs.ErrNotExist) || len(list) != 0 {
		t.Fatalf("of a folder that does not exist: %v, %v", list, err)
	}
	for _, part := range []string{"", "later"} {
		if err := Folder(filepath.Join(string(f), part)).Write(example()); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{"bad.run.json": "{", "notes.txt": "of something else"} {
		if err := os.WriteFile(filepath.Join(string(f), name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(string(f), "folder.run.json"), 0o777); err != nil {
		t.Fatal(err)
	}
	list, err := f.Files()
	if err != nil || len(list) != 3 {
		t.Fatalf("%v, %v, want three files", list, err)
	}
	read := 0
	for _, file := range list {
		r, err := file.Read()
		if bad := strings.HasSuffix(file.Path, "bad.run.json"); bad != (err != nil) || bad && !strings.Contains(err.Error(), "bad.run.json") {
			t.Errorf("%s: %v", file.Path, err)
		}
		if err == nil && reflect.DeepEqual(r, example()) && file.Size > 0 && !file.Modified.IsZero() {
			read++
		}
	}
	if read != 2 {
		t.Errorf("%d runs were read, want 2", read)
	}
}
