package checkpoint

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/internal/checkpoint/keys"
	"github.com/antigravity-go/antigravity/internal/gguf"
	"github.com/antigravity-go/antigravity/internal/model"
)

// TestKeysAreAccountedFor adds keys to the file of a small Llama: those that may have an effect are refused by name, the others are listed.
func TestKeysAreAccountedFor(t *testing.T) {
	for _, c := range []struct {
		key     string
		value   gguf.Value
		refused bool
	}{
		{"llama.something_new", gguf.ValueOf(uint32(1)), true},
		{"llama.something_new", gguf.ValueOf(uint32(0)), true},
		{"llama.attention.clamp_kqv", gguf.ValueOf(float32(8)), true},
		{"llama.attention.clamp_kqv", gguf.ValueOf(float32(0)), false},
		{"llama.attention.max_alibi_bias", gguf.ValueOf("8"), true},
		{"llama.swiglu_clamp_exp", gguf.ArrayOf([]float32{0, 0, 0}), false},
		{"llama.swiglu_clamp_exp", gguf.ArrayOf([]float32{0, 7, 0}), true},
		{"llama.use_parallel_residual", gguf.ValueOf(true), true},
		{"llama.use_parallel_residual", gguf.ValueOf(false), false},
		{"llama.vocab_size", gguf.ValueOf("many"), false},
		{"llama.vision.block_count", gguf.ValueOf(uint32(3)), false},
		{"llama.expert_used_count", gguf.ValueOf(uint32(2)), false},
		{"llama.ssm.conv_kernel", gguf.ValueOf(uint32(4)), false},
		{"llama.rope.scaling.yarn_beta_fast", gguf.ValueOf(float32(4)), false},
		{"llama.rope.scaling.attn_factor", gguf.ValueOf(float32(1.5)), true},
		{"llama.rope.scaling.attn_factor", gguf.ValueOf(float32(1)), false},
		{"llama.attention.value_length", gguf.ValueOf(uint32(5)), true},
		{"llama.pooling_type", gguf.ValueOf(uint32(0)), false},
		{"qwen2.block_count", gguf.ValueOf(uint32(5)), false}, // of another architecture
		{"general.author", gguf.ValueOf(uint32(5)), false},
	} {
		f := smallFile(t, gguf.KeyValue{Key: c.key, Value: c.value})
		_, _, err := ConfigOf(f)
		switch {
		case c.refused && (err == nil || !strings.Contains(err.Error(), c.key)):
			t.Errorf("%s = %s: %v, want an error that names it", c.key, keys.ValueText(c.value), err)
		case c.refused && !strings.Contains(c.key, "value_length") && !errors.Is(err, errors.ErrUnsupported):
			t.Errorf("%s = %s: %v is not about something unsupported", c.key, keys.ValueText(c.value), err)
		case !c.refused && err != nil:
			t.Errorf("%s = %s: %v", c.key, keys.ValueText(c.value), err)
		}
	}
}

// TestFactorWithoutType stretches RoPE by a factor without the name of a scaling, as llama.cpp does.
func TestFactorWithoutType(t *testing.T) {
	for _, key := range []string{"llama.rope.scaling.factor", "llama.rope.scale_linear"} {
		for factor, scaling := range map[float32]string{0: "", 1: "", 4: "linear"} {
			c, _, err := ConfigOf(smallFile(t, gguf.KeyValue{Key: key, Value: gguf.ValueOf(factor)}))
			if err != nil || c.RoPE.Scaling != scaling || scaling != "" && c.RoPE.Factor != float64(factor) {
				t.Errorf("%s = %g: %+v, %v", key, factor, c, err)
			}
		}
	}
}

// TestTokenNumbers checks how files say that there is no such token, and that other numbers outside vocabularies are refused.
func TestTokenNumbers(t *testing.T) {
	for _, c := range []struct {
		value gguf.Value
		want  int32
		fails bool
	}{
		{gguf.ValueOf(int32(-1)), -1, false}, {gguf.ValueOf(uint32(1<<32 - 1)), -1, false}, {gguf.ValueOf(int64(3)), 3, false}, {gguf.ValueOf(float32(3)), 3, false},
		{gguf.ValueOf(uint32(1 << 30)), 0, true}, {gguf.ValueOf("3"), 0, true}, {gguf.ValueOf(int32(-7)), 0, true}, {gguf.ValueOf(float32(2.5)), 0, true},
	} {
		got, _, err := ConfigOf(smallFile(t, gguf.KeyValue{Key: BOSKey, Value: c.value}))
		if (err != nil) != c.fails || err == nil && got.BOS != c.want {
			t.Errorf("%s: %v, %v", keys.ValueText(c.value), got, err)
		}
	}
}

// smallFile is a GGUF file of a small Llama's configuration, with further keys.
func smallFile(t *testing.T, more ...gguf.KeyValue) *gguf.File {
	t.Helper()
	c := &model.Config{HiddenSize: 8, IntermediateSize: 16, Layers: 2, Heads: 2, KVHeads: 1, HeadDim: 4, VocabSize: 10, ContextLength: 32, RMSNormEps: 1e-5, RoPE: model.RoPE{Theta: 10000}, BOS: -1, TiedEmbeddings: true}
	keys := Metadata(c, "small")
	for _, kv := range more {
		keys = slices.DeleteFunc(keys, func(other gguf.KeyValue) bool { return other.Key == kv.Key })
	}
	return fileWith(t, c, append(keys, more...))
}
