package families

import (
	"cmp"
	"fmt"

	"github.com/antigravity-go/antigravity/internal/checkpoint/keys"
	"github.com/antigravity-go/antigravity/internal/model"
	"github.com/antigravity-go/antigravity/internal/unsupported"
)

// Layers have a sliding window by a rule of the family, unless they are listed: config.json has a list of types, GGUF one of truths, or a number.

func always(*windowRule) bool        { return true }
func fromLayer(w *windowRule) bool   { return w.use && w.layer >= w.from }
func exceptFirst(w *windowRule) bool { return w.every < 1 || w.layer%w.every != 0 }
func exceptEvery(w *windowRule) bool { return w.every < 1 || (w.layer+1)%w.every != 0 }

// The values of layer_types.
const (
	wholeLayer  = "full_attention"
	windowLayer = "sliding_attention"
)

// The keys of GGUF's metadata for windows, after the architecture's name and a dot.
const (
	windowKey        = "attention.sliding_window"
	windowPatternKey = "attention.sliding_window_pattern" // a number: each such layer has no window; or a truth for each layer
)

// windows walks over the keys of sliding windows.
func (c *walking) windows(k *keys.Walk) {
	w := &c.family.window
	switch {
	case k.ReadsFolder() && w.rule != nil:
		c.windowsOfFolder(k, w)
	case k.ReadsFile():
		c.windowsOfFile(k, w)
	case k.WritesFile() && c.Windowed != nil:
		size := c.Window
		if w.eachWay {
			size /= 2
		}
		k.Int("", windowKey, &size, 0)
		k.Bools(windowPatternKey, &c.Windowed)
	}
}

// windowsOfFolder reads config.json.
func (c *walking) windowsOfFolder(k *keys.Walk, w *windows) {
	if w.types {
		kinds := c.layerTypes(k)
		if kinds != nil {
			c.Windowed = make([]bool, 0, len(kinds))
		}
		for _, kind := range kinds {
			if kind != wholeLayer && kind != windowLayer {
				k.Fail(unsupported.Errorf("layer_types has %.100q; known are %s and %s", kind, wholeLayer, windowLayer))
				return
			}
			c.Windowed = append(c.Windowed, kind == windowLayer)
		}
	}
	rule, size := windowRule{}, 0
	if w.key != "" {
		k.Int(w.key, "", &size, w.size)
		k.Int("global_attn_every_n_layers", "", &rule.every, w.every)
	} else {
		k.Int("sliding_window", "", &size, w.size)
		pattern := k.First("sliding_window_pattern", "_sliding_window_pattern") // the latter as transformers 5 writes it
		if !w.letters || !c.windowLetters(k, pattern) {
			k.Int(pattern, "", &rule.every, 0)
		}
		rule.every = cmp.Or(rule.every, w.every)
	}
	if k.Null(cmp.Or(w.key, "sliding_window")) { // transformers has a default for an absent key alone
		size = 0
	}
	if w.use {
		k.Bool("use_sliding_window", "", &rule.use, false)
	}
	if w.from {
		k.Int("max_window_layers", "", &rule.from, 0)
	}
	c.setWindow(w, size, rule)
}

// layerTypes reads the list of the layers' types.
func (c *walking) layerTypes(k *keys.Walk) (list []string) {
	k.Decode("layer_types", &list)
	return list
}

// windowsOfFile reads a GGUF file. Its keys count whatever the family.
func (c *walking) windowsOfFile(k *keys.Walk, w *windows) {
	size, rule := 0, windowRule{use: true, every: w.every}
	k.Int("", windowKey, &size, 0)
	if !k.HasList(windowPatternKey) {
		if k.Has("", windowPatternKey) {
			if k.Int("", windowPatternKey, &rule.every, 0); k.Err() == nil && rule.every < 2 {
				k.Fail(unsupported.Errorf("%s is %d: then all layers have a window, or none has, which is not said so", k.Key("", windowPatternKey), rule.every))
			}
		}
	} else if k.Bools(windowPatternKey, &c.Windowed); len(c.Windowed) < c.Layers {
		k.Fail(fmt.Errorf("%s has %d entries, the model %d layers", k.Key("", windowPatternKey), len(c.Windowed), c.Layers))
		return
	} else {
		c.Windowed = c.Windowed[:max(c.Layers, 0)]
	}
	if w.rule == nil {
		w = &windows{rule: always}
	}
	c.setWindow(w, size, rule)
}

// setWindow gives layers a window by the rule, unless layers have been listed.
func (c *walking) setWindow(w *windows, size int, rule windowRule) {
	if size == 0 {
		return
	}
	if w.eachWay {
		size = 2 * min(max(size, -1), model.MaxContext) // Validate refuses more than that
	}
	c.Window = size
	if c.Windowed != nil {
		return
	}
	c.Windowed = make([]bool, min(max(c.Layers, 0), model.MaxLayers))
	for i := range c.Windowed {
		rule.layer = i
		c.Windowed[i] = w.rule(&rule)
	}
}
