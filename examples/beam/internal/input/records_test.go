package input

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/examples/beam/infer"
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem/local"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem/memfs"
	"github.com/parquet-go/parquet-go"
)

// collect returns a file's records.
func collect(file string) (all []string, err error) {
	for record, err := range records(context.Background(), file) {
		if err != nil {
			return all, err
		}
		all = append(all, record)
	}
	return all, nil
}

func write(t *testing.T, name string, data []byte) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, data, 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

func zipped(t *testing.T, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestJSONLines(t *testing.T) {
	text := "{\"a\":1}\r\n\n  {\"a\":2}\t\n \n{\"a\":3}"
	want := []string{`{"a":1}`, `{"a":2}`, `{"a":3}`}
	for _, file := range []string{write(t, "x.jsonl", []byte(text)), write(t, "x.jsonl.gz", zipped(t, text))} {
		if got, err := collect(file); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q, %v", file, got, err)
		}
	}
	if _, err := collect(write(t, "cut.jsonl.gz", zipped(t, strings.Repeat(text, 100))[:40])); err == nil {
		t.Error("a file that was cut is no error")
	}
	if _, err := collect(write(t, "long.jsonl", bytes.Repeat([]byte("x"), maxLine+2))); err == nil || !strings.Contains(err.Error(), "no more than") {
		t.Errorf("a line that is too long: %v", err)
	}
	if _, err := collect(filepath.Join(t.TempDir(), "none.jsonl")); !os.IsNotExist(err) {
		t.Errorf("no file: %v", err)
	}
}

type turn struct {
	Role    string `parquet:"role"`
	Content string `parquet:"content"`
}

type row struct {
	ID        string   `parquet:"id"`
	Prompt    *string  `parquet:"prompt,optional"`
	Messages  []turn   `parquet:"messages,list"`
	MaxTokens *int32   `parquet:"max_tokens,optional"`
	Stop      []string `parquet:"stop,list"`
}

// rows makes a file of n rows.
func rows(t testing.TB, n int) []byte {
	t.Helper()
	text, most := "What is 2 + 3?", int32(4)
	all := make([]row, n)
	for i := range all {
		all[i] = row{ID: strings.Repeat("x", i%7), Prompt: &text, MaxTokens: &most, Stop: []string{"a", "b"}}
		if i%2 == 1 {
			all[i].Prompt, all[i].MaxTokens, all[i].Messages = nil, nil, []turn{{"user", "Hi."}, {"assistant", "Hello."}}
		}
	}
	var b bytes.Buffer
	if err := parquet.Write(&b, all); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestParquet(t *testing.T) {
	data := rows(t, 150)
	memfs.Write("memfs://bucket/x.parquet", data) // no file of this machine
	for _, file := range []string{write(t, "x.parquet", data), "memfs://bucket/x.parquet"} {
		got, err := collect(file)
		if err != nil || len(got) != 150 {
			t.Fatalf("%s: %d rows, %v", file, len(got), err)
		}
		for i, want := range []string{
			`{"id":"","max_tokens":4,"messages":[],"prompt":"What is 2 + 3?","stop":["a","b"]}`,
			`{"id":"x","messages":[{"content":"Hi.","role":"user"},{"content":"Hello.","role":"assistant"}],"stop":["a","b"]}`,
		} {
			if got[i] != want {
				t.Errorf("%s, row %d: %s", file, i, got[i])
			}
		}
	}
	if _, err := collect(write(t, "damaged.parquet", data[:len(data)-9])); err == nil {
		t.Error("a damaged file is no error")
	}
}

// Damage is an error, or JSON: no panic, no hang.
func FuzzParquet(f *testing.F) {
	data := rows(f, 20)
	f.Add(data, 0, byte(0))
	for i := range 40 {
		f.Add(data, i*len(data)/40, byte(0x55))
	}
	f.Fuzz(func(t *testing.T, data []byte, at int, flip byte) {
		if len(data) > 1<<16 {
			t.Skip()
		}
		data = slices.Clone(data)
		if at >= 0 && at < len(data) {
			data[at] ^= flip
		}
		file, err := os.CreateTemp(t.TempDir(), "")
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		if _, err := file.Write(data); err != nil {
			t.Fatal(err)
		}
		n := 0
		for record, err := range parquetRows(file, "") {
			if err == nil && !json.Valid([]byte(record)) {
				t.Fatalf("%q is no JSON", record)
			}
			if n++; n > 1000 {
				break
			}
		}
	})
}

func TestNames(t *testing.T) {
	for file, want := range map[string]string{
		"a/prompts.jsonl": "out/prompts-000003.jsonl", "prompts.jsonl.gz": "out/prompts-000003.jsonl", "gs://b/p.x.parquet": "out/p.x-000003.jsonl",
	} {
		if got := Output("out/", file, 3); got != want {
			t.Errorf("%s: %s, and must be %s", file, got, want)
		}
	}
	if err := Distinct([]string{"a/x.jsonl", "b/y.jsonl"}); err != nil {
		t.Error(err)
	}
	if err := Distinct([]string{"a/x.jsonl", "b/x.parquet"}); err == nil || !strings.Contains(err.Error(), "b/x.parquet") {
		t.Errorf("%v", err)
	}
}

// Of a file that unpacks to gigabytes only a little is in memory at once: a record is at most maxLine, a group at most maxGroup.
func TestRecordsAreBounded(t *testing.T) {
	var long bytes.Buffer
	huge := strings.Repeat("x", 16<<20)
	type row struct {
		Prompt string `parquet:"prompt,zstd"`
	}
	if err := parquet.Write(&long, []row{{huge[:maxLine+1]}, {huge[:4*maxLine]}, {huge[:4*maxLine]}}); err != nil {
		t.Fatal(err)
	}
	for name, file := range map[string]string{
		"gzip":    write(t, "x.jsonl.gz", zipped(t, strings.Repeat(`{"prompt":"`+huge+"\"}\n", 3))),
		"parquet": write(t, "x.parquet", long.Bytes()),
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		got, err := collect(file)
		runtime.ReadMemStats(&after)
		if err == nil || !strings.Contains(err.Error(), "too long") || len(got) != 0 {
			t.Errorf("%s: %d records, %v", name, len(got), err)
		}
		if took := after.TotalAlloc - before.TotalAlloc; took > 80<<20 {
			t.Errorf("%s: reading it took %d bytes of memory", name, took)
		}
	}
}

// Groups end at maxGroup bytes, or at as many lines as there are to be in one.
func TestGroups(t *testing.T) {
	var text strings.Builder
	for range 40 {
		text.WriteString(`{"prompt":"` + strings.Repeat("x", 1<<19) + "\"}\n")
	}
	text.WriteString(strings.Repeat("{}\n", 30))
	file := write(t, "x.jsonl.gz", zipped(t, text.String()))
	next, total := 1, 0
	f := splitFn{Options{Out: t.TempDir(), Lines: 25}}
	err := f.ProcessElement(t.Context(), file, func(l infer.Lines) {
		size := 0
		for _, line := range l.Lines {
			size += len(line)
		}
		if l.First != next || size > maxGroup || len(l.Lines) > 25 || size < maxGroup-maxLine && len(l.Lines) < 25 && next+len(l.Lines) <= 70 {
			t.Errorf("%d lines from %d on, with %d bytes; the next line was %d", len(l.Lines), l.First, size, next)
		}
		next += len(l.Lines)
		total++
	})
	if err != nil || next != 71 || total < 4 {
		t.Errorf("%d groups up to line %d, %v", total, next, err)
	}
}
