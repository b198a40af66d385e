package source_test

import (
	"bytes"
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/internal/effort"
	"github.com/antigravity-go/antigravity/internal/fixture"
	"github.com/antigravity-go/antigravity/internal/fixture/families"
	"github.com/antigravity-go/antigravity/internal/gguf"
	"github.com/antigravity-go/antigravity/llama"
)

// expertFamilies are fixtures with experts.
var expertFamilies = []string{"qwen3moe", "mixtral", "granite-moe", "granite4h-moe", "glm4moe", "gptoss", "qwen35moe"}

// expertKeys are the keys of config.json that say what experts there are, and of GGUF, after the architecture's name.
var (
	expertKeys = []string{"num_experts", "num_local_experts", "n_routed_experts", "moe_intermediate_size", "intermediate_size", "num_experts_per_tok", "decoder_sparse_step",
		"mlp_only_layers", "first_k_dense_replace", "routed_scaling_factor", "n_group", "topk_group", "n_shared_experts", "swiglu_limit", "shared_intermediate_size",
		"shared_expert_intermediate_size", "norm_topk_prob", "num_hidden_layers"}
	expertMetadata = []string{"expert_count", "expert_used_count", "expert_feed_forward_length", "expert_shared_count", "expert_shared_feed_forward_length",
		"expert_weights_scale", "expert_gating_func", "expert_group_count", "leading_dense_block_count", "interleave_moe_layer_step", "feed_forward_length"}
)

// hostileNumbers are numbers that no model has there, and some that it may have.
var hostileNumbers = []any{0, 1, 2, 7, 9, -1, 1 << 12, 1<<12 + 1, int64(1) << 31, int64(1) << 40, int64(math.MaxInt64), 1.5, 1e300, -1e300, nil, "x", []int{}, []int64{-1, 1 << 40}, true}

// survives loads a model, which may be an error, and if it is not computes some tokens.
func survives(t *testing.T, path string) {
	t.Helper()
	m, err := llama.Load(path, nil)
	if err != nil {
		if strings.Contains(err.Error(), "no place") {
			t.Errorf("a tensor is asked for that nothing computes with: %v", err)
		}
		return
	}
	defer m.Close()
	s, err := m.NewSession(nil)
	if err != nil {
		return
	}
	defer s.Close()
	if err := s.Prefill(t.Context(), []llama.Token{1, 5, 9}); err != nil {
		t.Errorf("it loads, but computes nothing: %v", err)
	}
}

// hostileFolder writes a folder with a configuration like that of another one, in which keys have values that the random numbers choose, and
// returns it and the changes.
func hostileFolder(t *testing.T, dir string, r *rand.Rand) (to string, changes map[string]any) {
	t.Helper()
	to, changes = t.TempDir(), map[string]any{}
	data, err := os.ReadFile(filepath.Join(dir, "config.json"))
	if err != nil {
		t.Fatal(err)
	}
	var config map[string]any
	if err := json.Unmarshal(data, &config); err != nil {
		t.Fatal(err)
	}
	within := config
	if text, ok := config["text_config"].(map[string]any); ok {
		within = text
	}
	for range 1 + r.IntN(3) {
		key, value := expertKeys[r.IntN(len(expertKeys))], hostileNumbers[r.IntN(len(hostileNumbers))]
		within[key], changes[key] = value, value
	}
	if data, err = json.Marshal(config); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(to, "config.json"), data, 0o666); err != nil {
		t.Fatal(err)
	}
	weights := filepath.Join(dir, "model.safetensors")
	if err := os.Symlink(weights, filepath.Join(to, "model.safetensors")); err != nil {
		t.Skip(err)
	}
	return to, changes
}

// hostileFile returns a GGUF file like another one in which keys have values that the random numbers choose, or a tensor of a layer with experts is missing.
func hostileFile(t *testing.T, f *gguf.File, r *rand.Rand) (data []byte, changes []string) {
	t.Helper()
	metadata, missing := slices.Clone(f.Metadata()), ""
	architecture, _ := f.String("general.architecture")
	for range 1 + r.IntN(3) {
		key := architecture + "." + expertMetadata[r.IntN(len(expertMetadata))]
		metadata = slices.DeleteFunc(metadata, func(kv gguf.KeyValue) bool { return kv.Key == key })
		if value := []uint32{0, 1, 2, 7, 9, 1 << 12, 1<<12 + 1, 1 << 31, math.MaxUint32}[r.IntN(9)]; r.IntN(6) > 0 {
			metadata = append(metadata, gguf.KeyValue{Key: key, Value: gguf.ValueOf(value)})
		}
		changes = append(changes, key)
	}
	if r.IntN(4) == 0 {
		missing = []string{"ffn_gate_inp.weight", "exp_probs_b.bias", "ffn_up_exps.weight", "ffn_down_shexp.weight"}[r.IntN(4)]
		changes = append(changes, missing)
	}
	var infos []gguf.TensorInfo
	for _, s := range f.Tensors() {
		if missing == "" || !strings.HasSuffix(s.Name, missing) {
			infos = append(infos, gguf.TensorInfo{Name: s.Name, Type: s.Type, Shape: s.Shape})
		}
	}
	var b bytes.Buffer
	w, err := gguf.NewWriter(&b, metadata, infos)
	if err != nil {
		t.Fatal(err)
	}
	for _, info := range infos {
		s, _ := f.Tensor(info.Name)
		if err := w.WriteTensor(info.Name, s.Data); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes(), changes
}

// TestHostileExperts loads models with configurations that say of their experts what no model has: no load panics or eats memory.
// Unless the tests are long, a quarter of the models have their turn.
func TestHostileExperts(t *testing.T) {
	effort.Turn(t, 8)
	for i, family := range expertFamilies {
		if !effort.Share(i, 3) {
			continue
		}
		t.Run(family, func(t *testing.T) { hostileExperts(t, family, 1, 60) })
	}
}

// FuzzHostileExperts is TestHostileExperts for the fuzzer, which chooses seeds.
func FuzzHostileExperts(f *testing.F) {
	f.Add(uint64(2), uint8(3))
	f.Fuzz(func(t *testing.T, seed uint64, family uint8) {
		hostileExperts(t, expertFamilies[int(family)%len(expertFamilies)], seed, 1)
	})
}

// hostileExperts changes a family's fixture some times.
func hostileExperts(t *testing.T, family string, seed uint64, times int) {
	dir := fixture.Path(t, "families/"+family)
	data, err := os.ReadFile(families.GGUF(t, dir))
	if err != nil {
		t.Fatal(err)
	}
	f, err := gguf.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "model.gguf")
	for i := range times {
		if times > 1 && !effort.Share(i, 4) {
			continue
		}
		r := rand.New(rand.NewPCG(seed, uint64(i)))
		folder, changes := hostileFolder(t, dir, r)
		survives(t, folder)
		data, others := hostileFile(t, f, r)
		if err := os.WriteFile(path, data, 0o666); err != nil {
			t.Fatal(err)
		}
		survives(t, path)
		if t.Failed() {
			t.Fatalf("changes of config.json: %v; of the file: %v", changes, others)
		}
	}
}
