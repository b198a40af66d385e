package families

import (
	"fmt"

	"github.com/antigravity-go/antigravity/internal/checkpoint/keys"
	"github.com/antigravity-go/antigravity/internal/gguf"
	"github.com/antigravity-go/antigravity/internal/unsupported"
)

// M-RoPE gives a row of an image three positions, and a section of a head's pairs turns by each (model.RoPE.Axis). config.json says it in RoPE's object, GGUF by
// a key with a fourth number that is always 0; whether sections alternate, the family knows:
//
//	"rope_parameters": {"mrope_section": [24, 20, 20], "mrope_interleaved": true}
//	qwen3vl.rope.dimension_sections = [24, 20, 20, 0]

// The keys of GGUF's metadata for sections, after the architecture's name and a dot: llama.cpp's, and the one of old files.
const (
	sectionsKey    = "rope.dimension_sections"
	oldSectionsKey = "rope.mrope_section"
)

// sectionsOfFolder takes the sections from RoPE's object.
func (c *walking) sectionsOfFolder(j *ropeJSON) error {
	if j.Interleaved != nil && *j.Interleaved != c.family.rope.interleaved {
		return unsupported.Errorf("mrope_interleaved is %v, which is not implemented for the architecture %s", *j.Interleaved, c.family.Name)
	}
	return c.setSections("mrope_section", j.Sections)
}

// sectionsOfFile reads the sections.
func (c *walking) sectionsOfFile(k *keys.Walk) error {
	key := sectionsKey
	if !k.HasList(key) && k.HasList(oldSectionsKey) {
		key = oldSectionsKey
	}
	return c.setSections(k.Key("", key), k.Ints(key, "a list of whole numbers"))
}

// sectionsToFile writes the sections. Of states llama.cpp wants some, though they count for nothing in a text: a third of the pairs each.
func (c *walking) sectionsToFile(k *keys.Walk) {
	s, pairs := c.RoPE.Sections, c.RoPE.Pairs(c.HeadDim)
	if s == [3]int{} {
		if c.Recurrent.KeyDim == 0 || !c.family.rope.interleaved {
			return
		}
		s = [3]int{(pairs + 2) / 3, (pairs + 1) / 3, pairs / 3}
	}
	k.Put("", sectionsKey, nil, gguf.ArrayOf([]int32{int32(s[0]), int32(s[1]), int32(s[2]), 0}))
}

// setSections notes sections that a key lists: three numbers, and perhaps a fourth that is 0.
func (c *walking) setSections(key string, list []int32) error {
	if len(list) == 0 {
		return nil
	}
	if len(list) < 3 || len(list) > 4 || len(list) == 4 && list[3] != 0 {
		return fmt.Errorf("%s is %v: three sections of pairs are known, one for each position of a row", key, list[:min(len(list), 8)])
	}
	r := &c.RoPE
	r.Sections, r.Interleaved = [3]int{int(list[0]), int(list[1]), int(list[2])}, c.family.rope.interleaved
	return nil
}

// deepstack walks over how many of the first layers add features of images to their rows. A folder lists the layers of the tower that these come from, among
// the keys of the tower, and the wrapper gives the list to the model of text.
func (c *walking) deepstack(k *keys.Walk) {
	if !k.ReadsFolder() {
		if k.Reads() || c.Deepstack > 0 {
			k.Int("", "n_deepstack_layers", &c.Deepstack, 0)
		}
		return
	}
	var from []int
	k.Decode("deepstack_visual_indexes", &from)
	c.Deepstack = len(from)
}
