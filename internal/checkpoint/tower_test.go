package checkpoint_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/internal/checkpoint"
	"github.com/antigravity-go/antigravity/internal/fixture"
	"github.com/antigravity-go/antigravity/internal/fixture/families"
	"github.com/antigravity-go/antigravity/internal/gguf"
	"github.com/antigravity-go/antigravity/internal/model"
)

// Keys of a file with a tower are read, known to have no effect, or refused by name, and a tower that belongs to another model says so.
func TestTowerKeys(t *testing.T) {
	for _, c := range []struct {
		folder, key string
		value       gguf.Value
		want        string // in the error; "": there is no error, and the key is idle
	}{
		{"vl-gemma4-e", "clip.use_gelu", gguf.ValueOf(false), ""},
		{"vl-gemma4-e", "clip.vision.image_min_pixels", gguf.ValueOf(uint32(7)), ""},
		{"vl-gemma4-e", "clip.audio.block_count", gguf.ValueOf(uint32(12)), ""},
		{"vl-qwen3vl", "clip.has_audio_encoder", gguf.ValueOf(true), ""},
		{"vl-qwen3vl", "clip.vision.something_new", gguf.ValueOf(uint32(1)), "clip.vision.something_new"},
		{"vl-qwen3vl", "clip.use_gelu", gguf.ValueOf(false), "clip.use_gelu"},
		{"vl-qwen3vl", "clip.use_silu", gguf.ValueOf(true), "clip.use_silu"},
		{"vl-qwen3vl", "clip.vision.block_count", gguf.ValueOf("many"), "clip.vision.block_count"},
		{"vl-qwen3vl", "clip.vision.block_count", gguf.ValueOf(uint32(1 << 31)), "layers"},
		{"vl-qwen3vl", "clip.vision.projection_dim", gguf.ValueOf(uint32(4096)), "do not belong together"},
		{"vl-qwen3vl", "clip.vision.image_mean", gguf.ArrayOf([]float32{0.5}), "clip.vision.image_mean"},
		{"vl-qwen3vl", "clip.projector_type", gguf.ValueOf("resampler"), "of MiniCPM-V: towers of qwen3vl_merger"},
		{"vl-qwen3vl", "clip.projector_type", gguf.ValueOf("internvl"), "without one the model of text loads alone"},
		{"vl-qwen3vl", "clip.has_vision_encoder", gguf.ValueOf(false), "clip.has_vision_encoder"},
		{"vl-qwen3vl", "general.architecture", gguf.ValueOf("llama"), "general.architecture"},
		{"vl-glmocr", "clip.use_silu", gguf.ValueOf(false), "clip.use_silu"},
		{"vl-glmocr", "clip.use_gelu", gguf.ValueOf(true), "clip.use_gelu"},
		{"vl-glmocr", "clip.vision.image_min_pixels", gguf.ValueOf(uint32(1 << 30)), "pixels"},
		{"vl-qwen2vl", "clip.use_gelu", gguf.ValueOf(true), "clip.use_gelu"},
		{"vl-qwen25vl", "clip.vision.window_size", gguf.ValueOf(uint32(15)), "clip.vision.window_size"},
		{"vl-qwen25vl", "clip.vision.n_wa_pattern", gguf.ValueOf("all"), "clip.vision.n_wa_pattern"},
		{"vl-qwen25vl", "clip.vision.wa_layer_indexes", gguf.ArrayOf([]int32{0}), "clip.vision.wa_layer_indexes"},
		{"vl-gemma4-dense", "clip.vision.attention.head_count_kv", gguf.ValueOf(uint32(1)), "clip.vision.attention.head_count_kv"},
		{"vl-gemma3", "clip.vision.projector.scale_factor", gguf.ValueOf(uint32(4)), "soft tokens of 48×48"},
		{"vl-gemma3", "clip.vision.image_size", gguf.ValueOf(uint32(1000)), "1000×1000"},
		{"vl-gemma3", "clip.use_gelu", gguf.ValueOf(false), "clip.use_gelu"},
		{"vl-gemma4-unified", "clip.vision.projector.scale_factor", gguf.ValueOf(uint32(4)), "clip.vision.projector.scale_factor"},
	} {
		dir := fixture.Path(t, "families/"+c.folder)
		config, err := checkpoint.Folder(func(name string) ([]byte, error) { return os.ReadFile(filepath.Join(dir, name)) }).Config()
		if err != nil {
			t.Fatal(err)
		}
		f := families.Tower(t, dir)
		f.Set(c.key, c.value)
		file, err := gguf.Parse(f.Bytes(t))
		if err != nil {
			t.Fatal(err)
		}
		_, idle, err := checkpoint.TowerOf(file, config)
		is := func(i checkpoint.Ignored) bool { return i.Name == c.key && i.Why != "" }
		switch {
		case c.want == "" && (err != nil || !slices.ContainsFunc(idle, is)):
			t.Errorf("%s, %s: %v, without effect are %v", c.folder, c.key, err, idle)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s, %s: %v, and not an error with %q", c.folder, c.key, err, c.want)
		}
		if c.key == "clip.projector_type" && !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("%s: %v", c.key, err)
		}
	}
}

// Published folders name the parts of SigLIP otherwise than transformers 5 does.
func TestPublishedNames(t *testing.T) {
	dir := fixture.Path(t, "families/vl-gemma3")
	read := checkpoint.Folder(func(name string) ([]byte, error) { return os.ReadFile(filepath.Join(dir, name)) })
	config, err := read.Config()
	if err != nil {
		t.Fatal(err)
	}
	weights, err := read.Weights(read)
	if err != nil {
		t.Fatal(err)
	}
	for _, prefix := range []string{"", "model."} {
		var names []string
		for _, name := range weights.OwnNames() {
			names = append(names, prefix+strings.Replace(name, "vision_tower.", "vision_tower.vision_model.", 1))
		}
		tower, why, err := read.Tower(config, names)
		if err != nil || tower == nil {
			t.Fatalf("%s, %v", why, err)
		}
		tensors := tower.Tensors()
		for i := range tensors {
			if name := tower.TensorOf(&tensors[i]).HuggingFace.Name; !slices.Contains(names, name) {
				t.Errorf("%v is looked for as %s", &tensors[i], name)
			}
		}
	}
}

// Towers of Mistral 3 have SiLU or GELU. A folder that names no activation has GELU, as in transformers; a file says which by two keys.
func TestTowerActivations(t *testing.T) {
	dir := fixture.Path(t, "families/vl-mistral3")
	read := checkpoint.Folder(func(name string) ([]byte, error) { return os.ReadFile(filepath.Join(dir, name)) })
	weights, err := read.Weights(read)
	if err != nil {
		t.Fatal(err)
	}
	for hiddenAct, want := range map[string]model.TowerActivation{`"hidden_act":"silu"`: model.SiLU, `"hidden_act":"gelu"`: model.GELU, `"hidden":"relu"`: model.GELU, `"hidden_act":"relu"`: -1} {
		changed := checkpoint.Folder(func(name string) ([]byte, error) {
			data, err := read(name)
			if err != nil || name != checkpoint.ConfigFile {
				return data, err
			}
			var outer, vision map[string]json.RawMessage
			if err := errors.Join(json.Unmarshal(data, &outer), json.Unmarshal(outer["vision_config"], &vision)); err != nil {
				return nil, err
			}
			delete(vision, "hidden_act")
			inner, err := json.Marshal(vision)
			if err != nil {
				return nil, err
			}
			outer["vision_config"] = json.RawMessage("{" + hiddenAct + "," + string(inner[1:]))
			return json.Marshal(outer)
		})
		c, err := changed.Config()
		if err != nil {
			t.Fatal(err)
		}
		tower, why, err := changed.Tower(c, weights.OwnNames())
		switch {
		case err != nil:
			t.Fatal(err)
		case want < 0 && (tower != nil || !strings.Contains(why, "relu")):
			t.Errorf("%s: %q", hiddenAct, why)
		case want >= 0 && (tower == nil || tower.Traits.Activation != want):
			t.Errorf("%s: the tower is %v, %s", hiddenAct, tower, why)
		}
	}
}

// A file's towers have the likeliest first: words of the model's name, and then the type.
func TestTowersFor(t *testing.T) {
	names := []string{"Qwen3VL-2B-Q4_K_M.gguf", "mmproj-gemma-3-4b-it-F16.gguf", "mmproj-Qwen3VL-2B-Q8_0.gguf", "MMPROJ-Qwen3VL-2B-F16.gguf", "mmproj.txt", "mmproj-F32.gguf"}
	want := []string{"MMPROJ-Qwen3VL-2B-F16.gguf", "mmproj-Qwen3VL-2B-Q8_0.gguf", "mmproj-gemma-3-4b-it-F16.gguf", "mmproj-F32.gguf"}
	if got := checkpoint.TowersFor(names, "Qwen3VL-2B-Q4_K_M.gguf"); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// Published folders of Qwen2-VL have the keys of the model of text among those of the wrapper, and vision_config has no model_type.
func TestFlatTower(t *testing.T) {
	dir := fixture.Path(t, "families/vl-qwen2vl")
	read := checkpoint.Folder(func(name string) ([]byte, error) { return os.ReadFile(filepath.Join(dir, name)) })
	var nested, text, vision map[string]json.RawMessage
	for _, level := range []struct {
		of   *map[string]json.RawMessage
		from func() ([]byte, error)
	}{
		{&nested, func() ([]byte, error) { return read(checkpoint.ConfigFile) }},
		{&text, func() ([]byte, error) { return nested["text_config"], nil }},
		{&vision, func() ([]byte, error) { return nested["vision_config"], nil }},
	} {
		data, err := level.from()
		if err == nil {
			err = json.Unmarshal(data, level.of)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	flat := maps.Clone(text)
	maps.Copy(flat, nested)
	delete(flat, "text_config")
	delete(flat, "rope_parameters")
	flat["rope_scaling"], flat["rope_theta"] = json.RawMessage(`{"type": "mrope", "mrope_section": [2, 3, 3]}`), json.RawMessage("1000000.0")
	delete(vision, "model_type")
	delete(vision, "hidden_act")
	flat["vision_config"], _ = json.Marshal(vision)
	published, err := json.Marshal(flat)
	if err != nil {
		t.Fatal(err)
	}
	var towers []model.Tower
	for _, f := range []checkpoint.Folder{read, func(name string) ([]byte, error) {
		if name == checkpoint.ConfigFile {
			return published, nil
		}
		return read(name)
	}} {
		c, err := f.Config()
		if err != nil {
			t.Fatal(err)
		}
		if c.RoPE.Sections != [3]int{2, 3, 3} || c.RoPE.Theta != 1e6 {
			t.Errorf("%+v", c.RoPE)
		}
		tower, why, err := f.Tower(c, []string{"visual.patch_embed.proj.weight"})
		if err != nil || tower == nil {
			t.Fatalf("%s, %v", why, err)
		}
		towers = append(towers, *tower.Tower)
	}
	if !reflect.DeepEqual(towers[0], towers[1]) {
		t.Errorf("%+v\n%+v", towers[0], towers[1])
	}
}

// What stands in a prompt for a picture is what transformers' processors write, {n} for n rows.
func TestFrames(t *testing.T) {
	const fake = "<fake_token_around_image>"
	for _, c := range []struct {
		folder        string
		width, height int
		token, frame  string
	}{
		{"vl-qwen25vl", 56, 56, "<|image_pad|>", "{16}"},
		{"vl-glmocr", 64, 64, "<|image|>", "{16}"},
		{"vl-gemma4-e", 64, 64, "<|image|>", "<|image>{64}<image|>"},
		{"vl-gemma3", 64, 64, "<start_of_image>", "\n\n<start_of_image>{9}<end_of_image>\n\n"},
		{"vl-smolvlm", 60, 30, "<image>", fake + "<row_1_col_1>{4}" + fake + "<row_1_col_2>{4}\n\n" + fake + "<global-img>{4}" + fake},
		{"vl-smolvlm", 60, 60, "<image>", fake + "<row_1_col_1>{4}" + fake + "<row_1_col_2>{4}\n" + fake + "<row_2_col_1>{4}" + fake + "<row_2_col_2>{4}\n\n" + fake + "<global-img>{4}" + fake},
		{"vl-lfm2", 32, 48, "<image>", "<|image_start|>{6}<|image_end|>"},
		{"vl-lfm2", 200, 100, "<image>", "<|image_start|><|img_row_1_col_1|>{4}<|img_row_1_col_2|>{4}<|img_thumbnail|>{8}<|image_end|>"},
		{"vl-mistral3", 96, 48, "[IMG]", "{6}[IMG_BREAK]{6}[IMG_BREAK]{6}[IMG_END]"},
	} {
		dir := fixture.Path(t, "families/"+c.folder)
		config, err := checkpoint.Folder(func(name string) ([]byte, error) { return os.ReadFile(filepath.Join(dir, name)) }).Config()
		if err != nil {
			t.Fatal(err)
		}
		file, err := gguf.Parse(families.Tower(t, dir).Bytes(t))
		if err != nil {
			t.Fatal(err)
		}
		tower, _, err := checkpoint.TowerOf(file, config)
		if err != nil {
			t.Fatal(err)
		}
		plan, err := tower.Pixels.Plan(c.width, c.height, 0)
		if err != nil {
			t.Fatal(err)
		}
		frame := ""
		for _, s := range tower.Frame(&plan) {
			if frame += s.Text; s.Rows > 0 {
				frame += fmt.Sprintf("{%d}", s.Rows)
			}
		}
		if token, _ := tower.Placeholder(); token != c.token || frame != c.frame {
			t.Errorf("%s: %q becomes %q, want %q and %q", c.folder, token, frame, c.token, c.frame)
		}
	}
}
