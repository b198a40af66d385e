package checkpoint

import (
	"strings"
	"testing"
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
