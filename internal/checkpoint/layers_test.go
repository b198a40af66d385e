package checkpoint

import (
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/internal/model"
)

func TestCheckLayers(t *testing.T) {
	for names, want := range map[string]string{
		"model.layers.0.a model.layers.1.a model.norm.weight":                "",
		"model.layers.0.a model.layers.2.b model.layers.2.a":                 `"model.layers.2.a" belongs to layer 2`,
		"blk.0.attn_q.weight blk.7.attn_q.weight blk.3.attn_q.weight":        "belongs to layer 3",
		"blk.1.attn_q.weight blk.2.attn_q.weight blk.2.nextn.eh_proj.weight": "",
		"model.layers.2.enorm.weight model.layers.2.mlp.up_proj.weight":      "",
		"vision_tower.encoder.layers.30.a blk.x.a blk.99999999999999999999":  "",
		"language_model.model.layers.5.a":                                    "belongs to layer 5",
	} {
		err := CheckLayers(strings.Fields(names), 2)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v", names, err)
		}
	}
}

// TestLayersOfDifferentSizes: a layer's tensors have its own sizes.
func TestLayersOfDifferentSizes(t *testing.T) {
	c := biased()
	c.Sizes = make([]model.LayerSizes, c.Layers)
	for i := range c.Sizes {
		c.Sizes[i] = model.LayerSizes{IntermediateSize: c.IntermediateSize, KVHeads: c.KVHeads, HeadDim: c.HeadDim}
	}
	c.Sizes[1] = model.LayerSizes{IntermediateSize: c.IntermediateSize / 2, KVHeads: 1, HeadDim: c.HeadDim / 2}
	if err := c.Validate(); err != nil {
		t.Fatal(err)
	}
	for _, ts := range Tensors(c) {
		if ts.Layer != 1 || ts.Bias {
			continue
		}
		want := map[model.Part]int{model.Gate: c.IntermediateSize / 2, model.Key: c.HeadDim / 2, model.Query: c.Heads * c.HeadDim / 2}[ts.Part]
		if want != 0 && ts.Shape[0] != want {
			t.Errorf("%s has %d rows, not %d", ts.GGUF.Name, ts.Shape[0], want)
		}
	}
	c.Sizes[1].HeadDim = 2 * c.HeadDim
	if err := c.Validate(); err == nil {
		t.Error("a layer's head is larger than the configuration's")
	}
}
