package llama

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/internal/fixture"
	"github.com/antigravity-go/antigravity/internal/fixture/families"
	"github.com/antigravity-go/antigravity/internal/gguf"
	"github.com/antigravity-go/antigravity/internal/safetensors"
)

// TestNomicRefusesOtherExperts gives keys of nomic-embed-text-v2-moe values that are not implemented: each is refused by its name.
func TestNomicRefusesOtherExperts(t *testing.T) {
	for key, value := range map[string]any{
		"moe_every_n_layers": 1, "activation_function": "swiglu", "qkv_proj_bias": false, "mlp_fc2_bias": false, "prenorm": true, "rotary_emb_interleaved": true,
		"rotary_emb_fraction": 0.5, "moe_normalize_expert_weights": true, "expert_choice_router": true, "num_shared_experts": 1, "ffn_div": 2,
	} {
		dir := fixture.Path(t, "families/enc-nomic-moe")
		families.EditConfig(t, dir, map[string]any{key: value})
		if _, err := Load(dir, nil); !errors.Is(err, ErrUnsupported) || !strings.Contains(err.Error(), key) {
			t.Errorf("%s = %v: %v", key, value, err)
		}
	}
	dir := fixture.Path(t, "families/enc-nomic-moe")
	families.EditConfig(t, dir, map[string]any{"moe_every_n_layers": 0})
	if _, err := Load(dir, nil); !errors.Is(err, ErrUnsupported) {
		t.Errorf("biases without experts: %v", err)
	}
}

// TestNomicWithoutSumBias takes the bias of the experts' sum out of a GGUF file, as llama.cpp's converter does: it counts as zero.
func TestNomicWithoutSumBias(t *testing.T) {
	dir := fixture.Path(t, "families/enc-nomic-moe")
	tokens := readTexts(t, dir).tokens[:1]
	file := families.ReadFile(t, asGGUF(t, dir))
	whole := len(file.Tensors)
	file.Tensors = slices.DeleteFunc(file.Tensors, func(x gguf.Tensor) bool { return strings.HasSuffix(x.Name, "ffn_exps.bias") })
	path := filepath.Join(t.TempDir(), "without.gguf")
	if err := os.WriteFile(path, file.Bytes(t), 0o644); err != nil {
		t.Fatal(err)
	}
	families.EditTensors(t, dir, func(list []safetensors.Tensor) []safetensors.Tensor {
		for i := range list {
			if strings.HasSuffix(list[i].Name, "experts.bias") {
				list[i].Data = make([]byte, len(list[i].Data))
			}
		}
		return list
	})
	without, zero := embedding{model: mustLoad(t, path, nil)}, embedding{model: mustLoad(t, dir, nil)}
	got, err1 := without.tokens(t.Context(), tokens)
	want, err2 := zero.tokens(t.Context(), tokens)
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	if d := farthest(got[0], want[0]); len(file.Tensors) != whole-2 || d > 1e-6 {
		t.Errorf("%d of %d tensors, vectors differ by %.2g", len(file.Tensors), whole, d)
	}
}
