package checkpoint

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/internal/fixture"
	"github.com/antigravity-go/antigravity/internal/model"
)

// TestRounding reads config.json's object about BitNet's rounding. Whatever is not implemented is refused by its name.
func TestRounding(t *testing.T) {
	dir := fixture.Path(t, "families/bitnet")
	data, err := os.ReadFile(filepath.Join(dir, ConfigFile))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		object string
		want   model.Rounding
		words  string
	}{
		{object: `null`},
		{object: `{"quant_method": "bitnet"}`, want: model.Rounding{Rows: true, Divided: true}},
		{object: `{"quant_method": "bitnet", "linear_class": "bitlinear", "quantization_mode": "online"}`, want: model.Rounding{Rows: true, Divided: true}},
		{object: `{"quant_method": "bitnet", "linear_class": "autobitlinear"}`, want: model.Rounding{Rows: true}},
		{object: `{"quant_method": "bitnet", "linear_class": "autobitlinear", "quantization_mode": "online", "use_rms_norm": false, "rms_norm_eps": 1e-6, "modules_to_not_convert": ["lm_head"]}`,
			want: model.Rounding{Rows: true, Matrices: true}},
		{object: `{"quant_method": "bitnet", "use_rms_norm": true}`, words: "use_rms_norm"},
		{object: `{"quant_method": "bitnet", "modules_to_not_convert": ["q_proj"]}`, words: "q_proj"},
		{object: `{"quant_method": "bitnet", "linear_class": "nosuch"}`, words: "nosuch"},
		{object: `{"quant_method": "bitnet", "group_size": 64}`, words: "group_size"},
		{object: `{"quant_method": "gptq"}`, words: "gptq"},
		{object: `{}`, words: "method"},
	} {
		config := map[string]json.RawMessage{}
		if err := json.Unmarshal(data, &config); err != nil {
			t.Fatal(err)
		}
		config["quantization_config"] = json.RawMessage(c.object)
		changed, err := json.Marshal(config)
		if err != nil {
			t.Fatal(err)
		}
		got, err := parseConfig(changed)
		switch {
		case c.words != "":
			if err == nil || !errors.Is(err, errors.ErrUnsupported) || !strings.Contains(err.Error(), c.words) {
				t.Errorf("%s: the error is %v, want one with %s", c.object, err, c.words)
			}
		case err != nil:
			t.Errorf("%s: %v", c.object, err)
		case got.Rounding != c.want:
			t.Errorf("%s is %+v, want %+v", c.object, got.Rounding, c.want)
		}
	}
}
