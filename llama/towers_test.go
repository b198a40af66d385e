package llama

import (
	"slices"
	"testing"
)

// TestTowers names what tensors that nothing uses belong to.
func TestTowers(t *testing.T) {
	names := []string{"blk.24.nextn.eh_proj.weight", "blk.24.attn_q.weight", "model.visual.blocks.0.norm1.weight", "mtp.fc.weight", "mtp.layers.0.mlp.up_proj.weight", "vision_tower.x"}
	if got, want := towers(names), []string{"blk.24", "model.visual", "mtp", "vision_tower"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
