package engine

import (
	"slices"

	"github.com/antigravity-go/antigravity/internal/checkpoint"
)

// layout is in what a model's layers differ, as far as a pass and a conversation have memory for it.
type layout struct {
	shapes      []headShape // of attention: a pass has memory for each
	widths      []int       // of dense networks, likewise
	normsValues bool        // some layer does
	cacheOf     []int       // for each layer, the layer that has the cache it reads: itself, unless it shares
	remembering int         // how many of the first layers there are up to the last one that remembers something
}

// headShape is the shape of a layer's queries, and of its keys and values.
type headShape struct{ heads, kvHeads, headDim int }

// shapeOf returns the number of a layer's shape, a new one if no layer before had it.
func (l *layout) shapeOf(c *checkpoint.Config, is *checkpoint.Layer) int {
	return numberOf(&l.shapes, headShape{c.Heads, is.KVHeads, is.HeadDim})
}

// widthOf returns the number of a layer's width, a new one if no layer before had it.
func (l *layout) widthOf(is *checkpoint.Layer) int { return numberOf(&l.widths, is.IntermediateSize) }

// numberOf returns the place of v in a list, to which it is added if it is not there.
func numberOf[T comparable](list *[]T, v T) int {
	if i := slices.Index(*list, v); i >= 0 {
		return i
	}
	*list = append(*list, v)
	return len(*list) - 1
}

// findCaches finds which layer has the cache that each layer reads, and which layers end the model and remember nothing.
func (l *layout) findCaches(c *checkpoint.Config) {
	l.cacheOf = make([]int, c.Layers)
	for i := range l.cacheOf {
		is := c.Layer(i)
		if is.Mixer == checkpoint.SharedAttention {
			l.cacheOf[i] = l.cacheOf[is.Source]
			continue
		}
		l.cacheOf[i] = i
		l.remembering = i + 1
	}
}
