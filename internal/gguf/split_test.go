package gguf_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/internal/gguf"
)

// part makes a file with tensors of one element each.
func part(t *testing.T, keys []gguf.KeyValue, names ...string) *gguf.File {
	t.Helper()
	var file bytes.Buffer
	var infos []gguf.TensorInfo
	for _, name := range names {
		infos = append(infos, gguf.TensorInfo{Name: name, Type: gguf.F32, Shape: []int{1}})
	}
	w, err := gguf.NewWriter(&file, keys, infos)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if err := w.WriteTensor(name, make([]byte, 4)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	f, err := gguf.Parse(file.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestJoin(t *testing.T) {
	named := gguf.KeyValue{Key: "general.name", Value: gguf.ValueOf("x")}
	first := part(t, append(gguf.PartKeys(0, 2, 3), named), "a", "b")
	f, err := gguf.Join([]*gguf.File{first, part(t, gguf.PartKeys(1, 2, 3), "c")})
	if err != nil {
		t.Fatal(err)
	}
	if c, ok := f.Tensor("c"); !ok || c.Part != 1 || len(f.Tensors()) != 3 || !slices.Equal(f.Keys(), []string{"general.name"}) {
		t.Errorf("the tensors are %v, the keys %v", f.Tensors(), f.Keys())
	}
	for name, second := range map[string]*gguf.File{
		"of another model":    part(t, gguf.PartKeys(1, 2, 4), "c"),
		"of another position": part(t, gguf.PartKeys(0, 2, 3), "c"),
		"of another number":   part(t, gguf.PartKeys(1, 3, 3), "c"),
		"a tensor twice":      part(t, gguf.PartKeys(1, 2, 3), "b"),
		"too few tensors":     part(t, gguf.PartKeys(1, 2, 3)),
		"too many tensors":    part(t, gguf.PartKeys(1, 2, 3), "c", "d"),
		"no part":             part(t, nil, "c"),
	} {
		if _, err := gguf.Join([]*gguf.File{first, second}); err == nil || !strings.Contains(err.Error(), "part") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestParts(t *testing.T) {
	first := part(t, gguf.PartKeys(0, 3, 1), "a")
	for _, folder := range []string{"", "dir/", `C:\models\`} {
		names, err := first.Parts(folder + "my-model-00001-of-00003.gguf")
		want := []string{folder + "my-model-00001-of-00003.gguf", folder + "my-model-00002-of-00003.gguf", folder + "my-model-00003-of-00003.gguf"}
		if err != nil || !slices.Equal(names, want) {
			t.Errorf("the parts are %q, %v", names, err)
		}
	}
	if names, err := part(t, nil, "a").Parts("any"); err != nil || !slices.Equal(names, []string{"any"}) {
		t.Errorf("a whole file's parts are %q, %v", names, err)
	}
	for name, c := range map[string]struct {
		f    *gguf.File
		name string
	}{
		"another name":      {first, "model.gguf"},
		"another number":    {first, "model-00001-of-00004.gguf"},
		"the second's name": {first, "model-00002-of-00003.gguf"},
		"the second part":   {part(t, gguf.PartKeys(1, 3, 1), "a"), "model-00002-of-00003.gguf"},
		"beyond the last":   {part(t, gguf.PartKeys(3, 3, 1), "a"), "model-00001-of-00003.gguf"},
		"too many":          {part(t, gguf.PartKeys(0, 5000, 1), "a"), "model-00001-of-05000.gguf"},
	} {
		if names, err := c.f.Parts(c.name); err == nil {
			t.Errorf("%s: the parts are %q", name, names)
		}
	}
}

func TestSplit(t *testing.T) {
	var infos []gguf.TensorInfo
	for _, n := range []int{1, 8, 16, 100, 1} {
		infos = append(infos, gguf.TensorInfo{Type: gguf.F32, Shape: []int{n}})
	}
	for bytes, want := range map[int64][]int{1: {1, 2, 3, 4, 5}, 64: {2, 3, 4, 5}, 128: {3, 4, 5}, 1 << 40: {5}} {
		if ends, err := gguf.Split(infos, bytes); err != nil || !slices.Equal(ends, want) {
			t.Errorf("parts of %d bytes end at %v, %v; want %v", bytes, ends, err, want)
		}
	}
}

// TestPartNames has names of parts in letters of either case.
func TestPartNames(t *testing.T) {
	for whole, want := range map[string]string{
		"m.gguf": "m-00001-of-00002.gguf", "UP.GGUF": "UP-00001-of-00002.gguf", "a.b/m.Gguf": "a.b/m-00001-of-00002.gguf",
		"m": "m-00001-of-00002.gguf", "m.gguf.GGUF": "m.gguf-00001-of-00002.gguf",
	} {
		if got := gguf.PartName(whole, 0, 2); got != want {
			t.Errorf("the first part of %s is %s, want %s", whole, got, want)
		}
	}
	f := part(t, gguf.PartKeys(0, 2, 3), "a")
	for name, want := range map[string]string{
		"d/m-00001-of-00002.gguf": "d/m-00002-of-00002.gguf", "M-00001-of-00002.GGUF": "M-00002-of-00002.GGUF",
	} {
		if got, err := f.Parts(name); err != nil || !slices.Equal(got, []string{name, want}) {
			t.Errorf("the parts of %s are %v, %v", name, got, err)
		}
	}
}
