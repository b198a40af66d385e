package flakyworkers

import (
	"bytes"
	"slices"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/coder"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/mtime"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/window"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/runtime/exec"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/typex"
	pipepb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/pipeline_v1"
)

// coders of these tests, by their ID.
var coders = map[string]*pipepb.Coder{}

func init() {
	for id, c := range map[string]struct {
		urn   string
		parts []string
	}{
		"bytes": {"bytes", nil}, "text": {"string_utf8", nil}, "int": {"varint", nil}, "bool": {"bool", nil}, "double": {"double", nil},
		"row": {"row", nil}, "prefixed": {"length_prefix", []string{"row"}},
		"global": {"global_window", nil}, "interval": {"interval_window", nil},
		"pair": {"kv", []string{"text", "list"}}, "list": {"iterable", []string{"maybe"}}, "maybe": {"nullable", []string{"int"}},
		"half": {"kv", []string{"int"}}, "rows": {"iterable", []string{"row"}},
		"element": {"windowed_value", []string{"pair", "global"}}, "timed": {"windowed_value", []string{"prefixed", "interval"}},
	} {
		coders[id] = &pipepb.Coder{Spec: &pipepb.FunctionSpec{Urn: "beam:coder:" + c.urn + ":v1"}, ComponentCoderIds: c.parts}
	}
}

func mustSkip(t testing.TB, id string) skip {
	t.Helper()
	s, err := skipper(id, coders)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestEndsOfElementsAreFound(t *testing.T) {
	for id, elements := range map[string][]string{
		"bytes":    {"\x03abc", "\x00", "\x01x"},
		"text":     {"\x02hi", "\x00"},
		"int":      {"\x05", "\xff\x01", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"},
		"bool":     {"\x00", "\x01"},
		"double":   {"12345678", "abcdefgh"},
		"prefixed": {"\x04rows", "\x00"},
		"pair":     {"\x01k\x00\x00\x00\x03\x00\x01\x07\x01\xff\x01", "\x00\x00\x00\x00\x00"},
		"element":  {"12345678\x00\x00\x00\x01\x0f\x00\x00\x00\x00\x00", "12345678\x00\x00\x00\x02\x1f\x07\x01x\x00\x00\x00\x00"},
		"timed":    {"12345678\x00\x00\x00\x02abcdefgh\x05abcdefgh\x06\x2f\x01\x02\x01r"},
	} {
		all := []byte{}
		for _, e := range elements {
			all = append(all, e...)
		}
		for n := range len(elements) + 2 {
			want := []byte{}
			for _, e := range elements[:min(n, len(elements))] {
				want = append(want, e...)
			}
			if got, err := mustSkip(t, id).first(all, int64(n)); err != nil || !bytes.Equal(got, want) {
				t.Errorf("the first %d of %s are %q, error %v; want %q", n, id, got, err, want)
			}
		}
	}
}

// This package reads what Beam's own encoder writes.
func TestWindowedValuesAreBeams(t *testing.T) {
	var all bytes.Buffer
	windows := exec.MakeWindowEncoder(coder.NewGlobalWindow())
	ends := []int{0}
	for i, pane := range []typex.PaneInfo{typex.NoFiringPane(), {Timing: typex.PaneOnTime, Index: 300, NonSpeculativeIndex: 2}} {
		if err := exec.EncodeWindowedValueHeader(windows, window.SingleGlobalWindow, mtime.Time(i), pane, &all); err != nil {
			t.Fatal(err)
		}
		all.WriteString("\x01k\x00\x00\x00\x00")
		ends = append(ends, all.Len())
	}
	for n, end := range ends {
		if got, err := mustSkip(t, "element").first(all.Bytes(), int64(n)); err != nil || len(got) != end {
			t.Errorf("the first %d elements have %d bytes, error %v; want %d", n, len(got), err, end)
		}
	}
}

func TestUnknownCodersAreRefused(t *testing.T) {
	for _, id := range []string{"row", "rows", "half", "none"} {
		if _, err := skipper(id, coders); err == nil {
			t.Errorf("the ends of values of coder %q are said to be known", id)
		}
	}
}

func FuzzFirst(f *testing.F) {
	f.Add([]byte("12345678\x00\x00\x00\x01\x0f\x01k\x00\x00\x00\x03\x00\x01\x07\x01\xff\x01"), int64(1))
	f.Add([]byte("12345678\x7f\xff\xff\xff\x0f\x01k\xff\xff\xff\xff"), int64(3))
	f.Fuzz(func(t *testing.T, data []byte, n int64) {
		for _, id := range []string{"element", "timed"} {
			kept := slices.Clone(data)
			got, err := mustSkip(t, id).first(data, n)
			if err == nil && !bytes.HasPrefix(data, got) || !bytes.Equal(data, kept) {
				t.Errorf("the first %d of %q are %q", n, data, got)
			}
		}
	})
}
