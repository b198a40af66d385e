package checkpoint

import (
	"fmt"
	"strconv"
	"strings"
)

// layerPrefixes begin the names of a layer's tensors, before its number, in Hugging Face's files and in GGUF.
var layerPrefixes = []string{"model.layers.", "language_model.model.layers.", "model.language_model.layers.", "blk.", "model.encoder.layer.", "model.encoder.layers.", "model.transformer.layer."}

// aheadNames are in the names of tensors of layers that come after a model's own and predict several tokens at once: GGUF's and Hugging
// Face's. Nothing here computes them, and a model is whole without.
var aheadNames = []string{".nextn.", ".eh_proj.", ".enorm.", ".hnorm.", ".shared_head."}

// CheckLayers returns an error if there are tensors of layers beyond the number that the configuration has: then the configuration
// belongs to another model, or is damaged, and only a part of the layers would be computed. Layers that predict several tokens at once
// are no error, nor is anything else that belongs to no layer, such as a vision tower.
func CheckLayers(names []string, layers int) error {
	beyond, ahead := map[int]string{}, map[int]bool{}
	for _, name := range names {
		n, ok := layerOf(name)
		if !ok || n < layers {
			continue
		}
		if first, known := beyond[n]; !known || name < first {
			beyond[n] = name
		}
		for _, part := range aheadNames {
			ahead[n] = ahead[n] || strings.Contains(name, part)
		}
	}
	least := -1
	for n := range beyond {
		if !ahead[n] && (least < 0 || n < least) {
			least = n
		}
	}
	if least < 0 {
		return nil
	}
	return fmt.Errorf("the tensor %.100q belongs to layer %d, and the configuration has %d layers, numbered from 0: the two are not of one model",
		beyond[least], least, layers)
}

// layerOf returns the number of the layer that a tensor belongs to.
func layerOf(name string) (n int, ok bool) {
	for _, prefix := range layerPrefixes {
		if rest, found := strings.CutPrefix(name, prefix); found {
			number, _, _ := strings.Cut(rest, ".")
			n, err := strconv.Atoi(number)
			return n, err == nil
		}
	}
	return 0, false
}
