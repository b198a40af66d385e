package safetensors

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/internal/fixture"
	"github.com/antigravity-go/antigravity/internal/format"
)

const smallIndex = `{"metadata":{"total_size":8,"deep":[[{}]]},"weight_map":` +
	`{"b":"m-2.safetensors","a":"m-1.safetensors","c":"m-2.safetensors"}}`

func TestParseIndex(t *testing.T) {
	x, err := ParseIndex([]byte(smallIndex))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := x.Shards(), []string{"m-1.safetensors", "m-2.safetensors"}; !slices.Equal(got, want) {
		t.Errorf("shards %q, want %q", got, want)
	}
	if got, want := x.Names(), []string{"a", "b", "c"}; !slices.Equal(got, want) {
		t.Errorf("names %q, want %q", got, want)
	}
	if shard, ok := x.Shard("c"); !ok || shard != "m-2.safetensors" {
		t.Errorf("c lies in %q, %v", shard, ok)
	}
	if _, ok := x.Shard("d"); ok {
		t.Error("d has a shard")
	}
}

func TestParseIndexOfFixture(t *testing.T) {
	b, err := os.ReadFile(fixture.Path(t, "hf/llama32-sharded-f16/model.safetensors.index.json"))
	if err != nil {
		t.Fatal(err)
	}
	if x, err := ParseIndex(b); err != nil || len(x.Shards()) != 5 || len(x.Names()) != 39 {
		t.Errorf("got %+v, %v; want 39 tensors in 5 shards", x, err)
	}
}

func TestParseIndexRefuses(t *testing.T) {
	shard := func(name string) string { return `{"weight_map":{"a":"` + name + `"}}` }
	tests := []struct{ name, index, wants string }{
		{"empty", ``, "unexpected EOF"},
		{"no object", `[]`, "belongs"},
		{"no weight_map", `{}`, "no weight_map"},
		{"empty weight_map", `{"weight_map":{}}`, "no weight_map"},
		{"weight_map is null", `{"weight_map":null}`, "belongs"},
		{"weight_map twice", `{"weight_map":{},"weight_map":{}}`, "twice"},
		{"tensor twice", `{"weight_map":{"a":"x.safetensors","a":"y.safetensors"}}`, "twice"},
		{"shard is a number", `{"weight_map":{"a":1}}`, "not a string"},
		{"no name", shard(""), "no plain name"},
		{"only the suffix", shard(".safetensors"), "no plain name"},
		{"another kind of file", shard("id_rsa"), "no plain name"},
		{"a path", shard("a/b.safetensors"), "no plain name"},
		{"a path upwards", shard("../b.safetensors"), "no plain name"},
		{"dots", shard("...safetensors"), "no plain name"},
		{"a Windows path", shard(`a\\b.safetensors`), "no plain name"},
		{"a Windows drive", shard(`c:b.safetensors`), "no plain name"},
		{"a NUL byte", shard(`a\u0000.safetensors`), "no plain name"},
		{"too long", shard(strings.Repeat("a", 300) + ".safetensors"), "no plain name"},
		{"something after", smallIndex + "1", "follows"},
		{"deep nesting", `{"metadata":` + strings.Repeat("[", 1e6), "depth"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := ParseIndex([]byte(tt.index))
			if err == nil || !strings.Contains(err.Error(), tt.wants) {
				t.Fatalf("got %v, want an error with %q", err, tt.wants)
			}
			var at *format.OffsetError
			if !errors.As(err, &at) || at.Offset < 0 || at.Offset > int64(len(tt.index)) {
				t.Errorf("the error %v does not say where", err)
			}
		})
	}
}

func FuzzParseIndex(f *testing.F) {
	f.Add([]byte(smallIndex))
	f.Add([]byte(`{"weight_map":{"a":"model-00001-of-00002.safetensors"},"metadata":{"total_size":1e3}} `))
	f.Fuzz(func(t *testing.T, b []byte) {
		x, err := ParseIndex(b)
		if err != nil {
			var at *format.OffsetError
			if !errors.As(err, &at) {
				t.Errorf("the error %v does not say where", err)
			}
			return
		}
		for _, shard := range x.Shards() {
			if strings.ContainsAny(shard, `/\`) || strings.Contains(shard, "..") {
				t.Errorf("shard %q leads out of the folder", shard)
			}
		}
	})
}
