package llama

import (
	"fmt"
	"strings"

	"github.com/antigravity-go/antigravity/llama/internal/source"
)

// ignoredOf lists what of a model's files is not used, once its tensors have been found: files, tensors, keys. Tensors come together by what they belong
// to: the first part of each name, and the second one too if the first is "model" or "blk". Those of model.visual.blocks.0.norm1.weight belong to
// model.visual, of vision_tower.patch_embedding.weight to vision_tower, of mtp.fc.weight to mtp, and of blk.24.nextn.eh_proj.weight to blk.24, a layer
// that predicts several tokens at once.
func ignoredOf(files *source.Model) (list []Ignored) {
	for _, i := range files.Leftovers {
		list = append(list, Ignored{i.Name, i.Why})
	}
	type group struct{ of, why string }
	var groups []group
	count, first := map[group]int{}, map[group]string{}
	for _, i := range files.Idle {
		tower, rest, _ := strings.Cut(i.Name, ".")
		if second, _, ok := strings.Cut(rest, "."); ok && (tower == "model" || tower == "blk") {
			tower += "." + second
		}
		g := group{tower, i.Why}
		if count[g]++; count[g] == 1 {
			groups, first[g] = append(groups, g), i.Name
		}
	}
	for _, g := range groups {
		what := fmt.Sprintf("%d tensors of %s", count[g], g.of)
		if count[g] == 1 {
			what = "the tensor " + first[g]
		}
		list = append(list, Ignored{what, g.why})
	}
	for _, i := range files.IdleKeys {
		list = append(list, Ignored{i.Name, i.Why})
	}
	if files.Ahead.Why != "" {
		list = append(list, Ignored{"the head that predicts further tokens", files.Ahead.Why})
	}
	if files.Blind != "" {
		list = append(list, Ignored{"the tower that sees", files.Blind})
	}
	if t := files.Tower; t != nil {
		for _, i := range append(t.IdleKeys, t.Idle...) {
			list = append(list, Ignored{i.Name, i.Why})
		}
	}
	return list
}

// inVain lists what files next to a tokenizer.json say of it without effect.
func inVain(t *Tokenizer) (list []Ignored) {
	for _, i := range t.ignored {
		list = append(list, Ignored{i.Name, i.Why})
	}
	return list
}
