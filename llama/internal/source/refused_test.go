package source_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/antigravity-go/antigravity/internal/checkpoint"
	"github.com/antigravity-go/antigravity/internal/fixture"
	"github.com/antigravity-go/antigravity/internal/gguf"
	"github.com/antigravity-go/antigravity/internal/safetensors"
	"github.com/antigravity-go/antigravity/llama"
)

// TestUnknownArchitecturesAreRefused names those that are known.
func TestUnknownArchitecturesAreRefused(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "config.json"), []byte(`{"model_type":"mamba"}`), 0o644); err != nil {
		t.Fatal(err)
	}
	_, err := llama.Load(dir, nil)
	if !errors.Is(err, llama.ErrUnsupported) {
		t.Fatalf("%v does not wrap ErrUnsupported", err)
	}
	for _, name := range []string{"mamba", "llama", "mistral", "qwen2", "qwen3", "smollm3", "granite", "phi3", "olmo2", "gemma3_text"} {
		if !strings.Contains(err.Error(), name) {
			t.Errorf("%v does not name %s", err, name)
		}
	}
}

// TestOthersAreRefused loads what says that it is RecurrentGemma, as folders, as a wrapper and in GGUF: the error has its name.
func TestOthersAreRefused(t *testing.T) {
	refused := func(path, name string) {
		t.Helper()
		if _, err := llama.Load(path, nil); !errors.Is(err, llama.ErrUnsupported) || !strings.Contains(err.Error(), name) {
			t.Errorf("%v, want an error with %q that wraps ErrUnsupported", err, name)
		}
	}
	for name, config := range map[string]string{
		`"recurrent_gemma_text"`: `{"model_type": "recurrent_gemma_text"}`,
		`"recurrent_gemma"`:      `{"model_type": "recurrent_gemma"}`,
		`recurrent_gemma`:        `{"model_type": "recurrent_gemma", "vision_config": {}, "text_config": {"model_type": "recurrent_gemma_text", "hidden_size": 64}}`,
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "config.json"), []byte(config), 0o644); err != nil {
			t.Fatal(err)
		}
		refused(dir, name)
	}
	path := filepath.Join(t.TempDir(), "model.gguf")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	w, err := gguf.NewWriter(file, []gguf.KeyValue{{Key: checkpoint.ArchitectureKey, Value: gguf.ValueOf("recurrent_gemma")}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	refused(path, `"recurrent_gemma"`)
}

// folderAndTensor returns a fixture's folder with a further tensor.
func folderAndTensor(t *testing.T, clean string, extra safetensors.Tensor) fstest.MapFS {
	t.Helper()
	files := fstest.MapFS{}
	for _, name := range []string{"config.json", "model.safetensors"} {
		data, err := os.ReadFile(filepath.Join(clean, name))
		if err != nil {
			t.Fatal(err)
		}
		files[name] = &fstest.MapFile{Data: data}
	}
	file, err := safetensors.Parse(files["model.safetensors"].Data)
	if err != nil {
		t.Fatal(err)
	}
	all := append(file.Tensors(), extra)
	var infos []safetensors.TensorInfo
	for _, tensor := range all {
		infos = append(infos, safetensors.TensorInfo{Name: tensor.Name, DType: tensor.DType, Shape: tensor.Shape})
	}
	var b bytes.Buffer
	w, err := safetensors.NewWriter(&b, nil, infos)
	if err != nil {
		t.Fatal(err)
	}
	for _, tensor := range all {
		if err := w.WriteTensor(tensor.Name, tensor.Data); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	files["model.safetensors"] = &fstest.MapFile{Data: b.Bytes()}
	return files
}

// TestHeadsThatAreNotTied puts an output head into a folder with tied embeddings: it is used if it is another matrix, and else it is said that it is not.
func TestHeadsThatAreNotTied(t *testing.T) {
	clean := fixture.Path(t, "families/qwen3")
	data, err := os.ReadFile(filepath.Join(clean, "model.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	file, err := safetensors.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	for _, same := range []bool{true, false} {
		head, ok := file.Tensor("model.embed_tokens.weight")
		if !ok {
			t.Fatal("there is no table of embeddings")
		}
		head.Name, head.Data = "lm_head.weight", slices.Clone(head.Data)
		if !same {
			head.Data[0] ^= 1
		}
		r, err := llama.InspectFS(t.Context(), folderAndTensor(t, clean, head), ".")
		if err != nil || len(r.Problems) > 0 || r.Config.TiedEmbeddings != same || len(r.Ignored) > 0 != same {
			t.Errorf("a head that is the table: %v; %+v, %v", same, r, err)
		}
	}
}

// TestTensorsThatNothingReads puts further tensors into folders of a decoder and of an encoder: they are refused by name, unless it is known that they have
// no effect.
func TestTensorsThatNothingReads(t *testing.T) {
	for _, c := range []struct {
		folder, tensor string
		loads          bool
	}{
		{"qwen3", "model.layers.0.mlp.foo.weight", false}, {"qwen3", "lm_head.bias", false}, {"qwen3", "model.norm.bias", false},
		{"qwen3", "model.layers.0.self_attn.q_proj.weight_scale", false}, {"qwen3", "model.layers.1.self_attn.q_proj.bias", false}, {"qwen3", "score.weight", false},
		{"qwen3", "foo", false}, {"qwen3", "model.layers.0.self_attn.rotary_emb.inv_freq", true}, {"qwen3", "model.visual.blocks.0.norm1.weight", true},
		{"qwen3", "mtp.fc.weight", true}, {"qwen3", "vision_tower.x", true}, {"qwen3", "model.layers.4.eh_proj.weight", true}, {"qwen3", "model.layers.4.mlp.up_proj.weight", false},
		{"enc-bert", "cls.predictions.bias", true}, {"enc-bert", "embeddings.position_ids", true}, {"enc-bert", "encoder.layer.0.foo.weight", false},
	} {
		files := folderAndTensor(t, fixture.Path(t, "families/"+c.folder), safetensors.Tensor{Name: c.tensor, DType: "F32", Shape: []int{1}, Data: []byte{0, 0, 128, 63}})
		m, err := llama.LoadFS(t.Context(), files, ".", nil)
		if err == nil {
			m.Close()
		}
		if c.loads != (err == nil) || err != nil && !strings.Contains(err.Error(), c.tensor) {
			t.Errorf("%s with %s: %v", c.folder, c.tensor, err)
		}
	}
}
