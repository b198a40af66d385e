package bpe

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"slices"
	"testing"

	"github.com/antigravity-go/antigravity/internal/fixture"
)

// ggufReader reads the metadata of a GGUF file that is known to be good.
type ggufReader struct{ data []byte }

func (r *ggufReader) take(n uint64) []byte {
	b := r.data[:n]
	r.data = r.data[n:]
	return b
}
func (r *ggufReader) u32() uint32  { return binary.LittleEndian.Uint32(r.take(4)) }
func (r *ggufReader) u64() uint64  { return binary.LittleEndian.Uint64(r.take(8)) }
func (r *ggufReader) text() string { return string(r.take(r.u64())) }

// value reads a value of a GGUF type: integers and booleans become int64.
func (r *ggufReader) value(kind uint32) any {
	switch kind {
	case 0, 1, 7:
		return int64(r.take(1)[0])
	case 2, 3:
		return int64(binary.LittleEndian.Uint16(r.take(2)))
	case 4, 5:
		return int64(int32(r.u32()))
	case 6:
		return math.Float32frombits(r.u32())
	case 8:
		return r.text()
	case 9:
		kind, n := r.u32(), r.u64()
		list := make([]any, n)
		for i := range list {
			list[i] = r.value(kind)
		}
		return list
	case 12:
		return math.Float64frombits(r.u64())
	}
	return int64(r.u64())
}

func listOf[T any](list any, convert func(any) T) []T {
	values, _ := list.([]any)
	out := make([]T, len(values))
	for i, v := range values {
		out[i] = convert(v)
	}
	return out
}

// readVocab reads the vocabulary of a GGUF fixture.
func readVocab(t testing.TB, name string) Vocab {
	t.Helper()
	data, err := os.ReadFile(fixture.Path(t, name))
	if err != nil {
		t.Fatal(err)
	}
	r := ggufReader{data[16:]} // magic, version, number of tensors
	meta := map[string]any{}
	for range r.u64() {
		key := r.text()
		meta[key] = r.value(r.u32())
	}
	text := func(v any) string { s, _ := v.(string); return s }
	id := func(key string) int32 {
		if v, ok := meta[key].(int64); ok {
			return int32(v)
		}
		return -1
	}
	model := text(meta["tokenizer.ggml.model"])
	addBOS, addSpace := model == "llama", model == "llama"
	if v, ok := meta["tokenizer.ggml.add_bos_token"].(int64); ok {
		addBOS = v != 0
	}
	if v, ok := meta["tokenizer.ggml.add_space_prefix"].(int64); ok {
		addSpace = v != 0
	}
	return Vocab{
		Model:          model,
		Pre:            text(meta["tokenizer.ggml.pre"]),
		Tokens:         listOf(meta["tokenizer.ggml.tokens"], text),
		Scores:         listOf(meta["tokenizer.ggml.scores"], func(v any) float32 { return v.(float32) }),
		Types:          listOf(meta["tokenizer.ggml.token_type"], func(v any) int32 { return int32(v.(int64)) }),
		Merges:         listOf(meta["tokenizer.ggml.merges"], text),
		BOS:            id("tokenizer.ggml.bos_token_id"),
		EOS:            id("tokenizer.ggml.eos_token_id"),
		Unknown:        id("tokenizer.ggml.unknown_token_id"),
		AddBOS:         addBOS,
		AddSpacePrefix: addSpace,
	}
}

// TestMarkedModel reads a vocabulary of Gemma 4's kind: marks for spaces, merges in their own order, bytes for missing characters.
func TestMarkedModel(t *testing.T) {
	v := Vocab{Model: MarkedModel, Tokens: []string{"<unk>", "<bos>", "▁", "a", "b", "ab", "▁ab", "ba", "\n", "<turn|>"}, Merges: []string{"a b", "▁ ab", "b a"}, BOS: 1, EOS: 9, SEP: -1, Unknown: 0}
	v.Types = []int32{TypeUnknown, TypeControl, TypeNormal, TypeNormal, TypeNormal, TypeNormal, TypeNormal, TypeNormal, TypeNormal, TypeControl}
	for b := range 256 {
		v.Tokens, v.Types = append(v.Tokens, fmt.Sprintf("<0x%02X>", b)), append(v.Types, TypeByte)
	}
	tokenizer, err := FromVocab(v)
	if err != nil {
		t.Fatal(err)
	}
	text := "ab aba\né"
	got := tokenizer.Encode(nil, text)
	if want := []int32{5, 6, 3, 8, 10 + 0xC3, 10 + 0xA9}; !slices.Equal(got, want) {
		t.Errorf("%q gives %v, want %v", text, got, want)
	}
	if back := tokenizer.Decode(got); back != text {
		t.Errorf("%v gives %q, want %q", got, back, text)
	}
}
