package llama

import (
	"slices"
	"strings"
)

// towers returns what names of tensors that nothing uses belong to, in the order of the names, at most MaxProblems: the first part of each name, and the
// second one too if the first is "model" or "blk". Of model.visual.blocks.0.norm1.weight it is model.visual, of vision_tower.patch_embedding.weight
// vision_tower, of mtp.fc.weight mtp, and of blk.24.nextn.eh_proj.weight blk.24, a layer that predicts several tokens at once.
func towers(names []string) (list []string) {
	for _, name := range names {
		tower, rest, _ := strings.Cut(name, ".")
		if second, _, ok := strings.Cut(rest, "."); ok && (tower == "model" || tower == "blk") {
			tower += "." + second
		}
		if len(list) < MaxProblems && !slices.Contains(list, tower) {
			list = append(list, tower)
		}
	}
	return list
}
