package families

import (
	"fmt"
	"strings"

	"github.com/antigravity-go/antigravity/internal/checkpoint/keys"
	"github.com/antigravity-go/antigravity/internal/model"
	"github.com/antigravity-go/antigravity/internal/unsupported"
)

// exaones are EXAONE 4: norms as OLMo 2's, but those of queries and keys are of each head. If layers have a window, the others are without RoPE.
var exaones = []*Family{
	{
		Name: "exaone4", Type: "exaone4", Class: "Exaone4ForCausalLM", with: olmoWith, without: olmoWithout, unpaired: true,
		window: windows{rule: exceptEvery, every: 4, types: true, size: 4096, letters: true},
		keys: func(c *walking, k *keys.Walk) {
			if !k.Reads() || c.Window == 0 {
				return
			}
			c.NoRoPE = make([]bool, len(c.Windowed))
			for i, windowed := range c.Windowed {
				c.NoRoPE[i] = !windowed
			}
		},
		defaults: defaults{eps: 1e-5},
	},
}

// windowLetters reads a pattern of letters, such as LLLG, and reports whether there is one. A list of the layers' types counts more.
func (c *walking) windowLetters(k *keys.Walk, key string) bool {
	if raw := k.Raw(key); len(raw) == 0 || raw[0] != '"' {
		return false
	}
	var letters string
	switch k.Text(key, "", &letters, ""); {
	case k.Err() != nil || c.Windowed != nil:
	case letters == "" || strings.Trim(letters, "LG") != "":
		k.Fail(fmt.Errorf("%s is %.60q, and must be letters L and G", key, letters))
	case c.Layers%len(letters) != 0:
		k.Fail(unsupported.Errorf("%s is %.60q, whose length does not divide the number of layers, %d", key, letters, c.Layers))
	default:
		for i := range min(max(c.Layers, 0), model.MaxLayers) {
			c.Windowed = append(c.Windowed, letters[i%len(letters)] == 'L')
		}
	}
	return true
}
