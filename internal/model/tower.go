package model

import (
	"fmt"
	"math"
	"slices"
)

// Tower is a model that sees: it makes features of a picture's patches, rows as wide as the residual stream of the model of text, which stand in
// the text in place of tokens. Its layers are those of an encoder: attention without a mask, and a feed-forward network.
//
//	Qwen3-VL, a picture of 640×416 pixels: patches [1040, 768] → layers [1040, 1024] → features [260, 2048], and as many for each of Deepstack
type Tower struct {
	Kind             string // as package pixels calls it: it says how patches are read, and how their states become features
	HiddenSize       int
	IntermediateSize int
	Layers           int
	Heads            int
	HeadDim          int
	Out              int // the width of features: HiddenSize of the model of text
	Patch            int // the values of a patch in one frame
	Frames           int // the matrices that patches are multiplied by: a picture is each frame once
	Merge            int // the patches of a soft token's side
	MergeSize        int // the width of the network that makes features, in towers that choose it; 0: others
	Positions        int // the rows of a table of learned positions, or of each of two; 0: there is no table
	Eps              float32
	TextEps          float32 // of the norms of the model of text
	Theta            float64 // of RoPE: a half of each head turns by the row and the other half by the column; 0: heads do not turn
	Traits           TowerTraits
	Deepstack        []int // the layers after which states become features that later layers of the model of text add, in this order
	Window           int   // the soft tokens of a window's side: in most layers a patch sees its window alone; 0: it sees the picture in all layers
	Unwindowed       []int // the layers in which a patch sees the picture, though there are windows, ascending
}

// TowerTraits are the choices that towers leave open. The zero value has RMSNorm, no biases, and queries, keys and values as they are projected.
type TowerTraits struct {
	LayerNorm    bool // norms subtract the mean, and have biases
	Biased       bool // the projections of layers have biases
	Gated        bool // the network is down(act(gate(x))·up(x)), otherwise down(act(up(x)))
	Unscaled     bool // scores of attention are not divided by √HeadDim
	HeadNorms    bool // queries and keys of each head are normalised
	ValueNorms   bool // values of each head are normalised, without weights
	PostNorms    bool // what attention and the network give is normalised
	Clipped      bool // the inputs and the outputs of the layers' projections have bounds
	JoinNorm     bool // states of a soft token are normalised together before they become features
	Standardized bool // pooled states are moved and scaled
	Entirely     bool // in the model of text an image's rows see each other Entirely, which GGUF says of that model by its tower alone
	Activation   TowerActivation
}

// TowerActivation is the activation act of a tower's networks.
type TowerActivation int

// The activations.
const (
	GELUTanh  TowerActivation = iota // GELU with the hyperbolic tangent
	GELUQuick                        // x/(1+e^(−1.702·x))
	SiLU                             // x/(1+e⁻ˣ)
	GELU                             // x·Φ(x), with the normal distribution Φ
)

// Deep returns how many features a row has besides the first.
func (t *Tower) Deep() int { return len(t.Deepstack) }

// Side returns the pixels of a patch's side.
func (t *Tower) Side() int {
	side := 0
	for 3*(side+1)*(side+1) <= t.Patch && side < MaxHeadDim {
		side++
	}
	return side
}

// The parts of towers that models of text have not. Those of layers that both have are Query, Gate and their like.
const (
	PatchEmbedding  = NumParts + iota // patches to states
	FrameEmbedding                    // the same of the second frame
	PatchNorm                         // of patches, before they become states
	PatchStateNorm                    // of what patches become
	PatchPositions                    // a table, or two
	PatchSumNorm                      // of states with positions
	MergeNorm                         // of states, before they become features
	Downsample                        // makes one state of those of a soft token's patches
	PatchMerger                       // the same, if states alternate element by element
	MergeProjection                   // of that state
	MergeInnerNorm                    // of what the projection gives
	MergeGate                         // of a network with a gate
	MergeUp                           // the network that makes features of states: down(gelu(up(x)))
	MergeDown                         // or the one matrix that does
	DeepNorm                          // the same for Deepstack, by its numbers
	DeepUp
	DeepDown
	StateNorm    // of states, after the layers
	StandardBias // is subtracted from pooled states
	StandardScale
	firstBound
	numTowerParts = firstBound + 4*numClipped
)

// numClipped is how many projections of a layer have bounds if any have.
const numClipped = 7

// clipped are these.
var clipped = [numClipped]Part{Query, Key, Value, AttentionOutput, Gate, Up, Down}

// Bound is one of the bounds of a projection: inputs or outputs below or above are cut off.
type Bound uint8

// The bounds.
const (
	InputMin Bound = iota
	InputMax
	OutputMin
	OutputMax
	NumBounds
)

var boundNames = [NumBounds]string{"least input", "greatest input", "least output", "greatest output"}

// BoundOf returns the part that is a bound of a projection.
func BoundOf(p Part, b Bound) Part { return firstBound + Part(4*slices.Index(clipped[:], p)) + Part(b) }

// BoundOf returns the projection that a part is a bound of, and which; ok is false if the part is no bound.
func (p Part) BoundOf() (of Part, b Bound, ok bool) {
	if p < firstBound || p >= numTowerParts {
		return 0, 0, false
	}
	n := p - firstBound
	return clipped[n/4], Bound(n % 4), true
}

// ofTower reports whether the part is one of towers alone.
func (p Part) ofTower() bool { return p >= NumParts }

// towerNames are the parts in words.
var towerNames = map[Part]string{
	PatchEmbedding: "patch embedding", FrameEmbedding: "patch embedding of the second frame", PatchNorm: "patch norm", PatchStateNorm: "norm of embedded patches",
	PatchPositions: "patch positions", PatchSumNorm: "norm of patches with positions", StateNorm: "norm of states", PatchMerger: "patch merger", MergeNorm: "merger norm", MergeUp: "merger up", MergeDown: "merger down",
	DeepNorm: "deepstack norm", DeepUp: "deepstack up", DeepDown: "deepstack down", StandardBias: "standard bias", StandardScale: "standard scale",
}

// towerName returns a part of towers in words.
func (p Part) towerName() string {
	if of, b, ok := p.BoundOf(); ok {
		return boundNames[b] + " of " + of.String()
	}
	return towerNames[p]
}

// Tensors lists the tensors of the tower, in the order of computation.
func (t *Tower) Tensors() []Tensor {
	l := towerList{tower: t}
	towers[t.Kind].before(&l)
	for layer := range t.Layers {
		l.layer = layer
		l.ofLayer()
		if i := slices.Index(t.Deepstack, layer); i >= 0 {
			l.layer = i
			wide := t.HiddenSize * t.Merge * t.Merge
			l.norm(DeepNorm, wide)
			l.linear(DeepUp, wide, wide, true)
			l.linear(DeepDown, t.Out, wide, true)
		}
	}
	l.layer = 0
	towers[t.Kind].after(&l)
	return l.list
}

// towerKind lists what a kind of towers reads before its layers and after them.
type towerKind struct{ before, after func(l *towerList) }

// towers has what kinds of towers read before their layers and after them.
var towers = map[string]towerKind{
	"qwen3vl": {
		before: func(l *towerList) {
			beforeFrames(l, true)
			l.vector(PatchPositions, l.tower.Positions, l.tower.HiddenSize)
		},
		after: afterMerging,
	},
	"qwen2vl":   qwen2Tower,
	"qwen2.5vl": qwen2Tower,
	"glm4v": {
		before: func(l *towerList) { beforeFrames(l, true) },
		after: func(l *towerList) {
			t := l.tower
			l.norm(MergeNorm, t.HiddenSize)
			l.linear(Downsample, t.Out, t.HiddenSize*t.Merge*t.Merge, true)
			l.linear(MergeProjection, t.Out, t.Out, false)
			l.vector(MergeInnerNorm, t.Out)
			l.bias(MergeInnerNorm, t.Out)
			l.linear(MergeGate, t.MergeSize, t.Out, false)
			l.linear(MergeUp, t.MergeSize, t.Out, false)
			l.linear(MergeDown, t.Out, t.MergeSize, false)
		},
	},
	"gemma3": {
		before: (*towerList).embedded,
		after: func(l *towerList) {
			t := l.tower
			l.norm(StateNorm, t.HiddenSize)
			l.vector(MergeNorm, t.HiddenSize)
			l.linear(MergeDown, t.Out, t.HiddenSize, false)
		},
	},
	"gemma4v": {
		before: func(l *towerList) {
			t := l.tower
			l.linear(PatchEmbedding, t.HiddenSize, t.Patch, false)
			l.vector(PatchPositions, 2*t.Positions, t.HiddenSize)
		},
		after: func(l *towerList) {
			t := l.tower
			if t.Traits.Standardized {
				l.vector(StandardBias, t.HiddenSize)
				l.vector(StandardScale, t.HiddenSize)
			}
			l.linear(MergeDown, t.Out, t.HiddenSize, false)
		},
	},
	"gemma4uv": {
		before: func(l *towerList) {
			t := l.tower
			l.norm(PatchNorm, t.Patch)
			l.linear(PatchEmbedding, t.HiddenSize, t.Patch, true)
			l.norm(PatchStateNorm, t.HiddenSize)
			l.vector(PatchPositions, 2*t.Positions, t.HiddenSize)
			l.norm(PatchSumNorm, t.HiddenSize)
		},
		after: func(l *towerList) { l.linear(MergeDown, l.tower.Out, l.tower.HiddenSize, false) },
	},
	"idefics3": {
		before: (*towerList).embedded,
		after: func(l *towerList) {
			t := l.tower
			l.norm(StateNorm, t.HiddenSize)
			l.linear(MergeDown, t.Out, t.HiddenSize*t.Merge*t.Merge, false)
		},
	},
	"lfm2": {
		before: (*towerList).embedded,
		after: func(l *towerList) {
			t := l.tower
			wide := t.HiddenSize * t.Merge * t.Merge
			l.norm(StateNorm, t.HiddenSize)
			if t.Traits.JoinNorm {
				l.norm(MergeNorm, wide)
			}
			l.linear(MergeUp, t.MergeSize, wide, true)
			l.linear(MergeDown, t.Out, t.MergeSize, true)
		},
	},
	"pixtral": {
		before: func(l *towerList) {
			l.linear(PatchEmbedding, l.tower.HiddenSize, l.tower.Patch, false)
			l.norm(PatchSumNorm, l.tower.HiddenSize)
		},
		after: func(l *towerList) {
			t := l.tower
			l.norm(StateNorm, t.HiddenSize)
			l.linear(PatchMerger, t.HiddenSize, t.HiddenSize*t.Merge*t.Merge, false)
			l.linear(MergeUp, t.Out, t.HiddenSize, false)
			l.linear(MergeDown, t.Out, t.Out, false)
		},
	},
}

// qwen2Tower is the kind of Qwen2-VL's and 2.5-VL's towers.
var qwen2Tower = towerKind{func(l *towerList) { beforeFrames(l, false) }, afterMerging}

// afterMerging lists the network that makes features of the states of a soft token's patches.
func afterMerging(l *towerList) {
	t := l.tower
	wide := t.HiddenSize * t.Merge * t.Merge
	l.norm(MergeNorm, t.HiddenSize)
	l.linear(MergeUp, wide, wide, true)
	l.linear(MergeDown, t.Out, wide, true)
}

// beforeFrames lists the filters of towers that see films.
func beforeFrames(l *towerList, biased bool) {
	t := l.tower
	l.linear(PatchEmbedding, t.HiddenSize, t.Patch, biased)
	if t.Frames == 2 {
		l.linear(FrameEmbedding, t.HiddenSize, t.Patch, false)
	}
}

// towerList is a list of tensors in the making.
type towerList struct {
	tower *Tower
	layer int
	list  []Tensor
}

// embedded adds an embedding of patches with a bias, and a table of positions.
func (l *towerList) embedded() {
	t := l.tower
	l.linear(PatchEmbedding, t.HiddenSize, t.Patch, true)
	l.vector(PatchPositions, t.Positions, t.HiddenSize)
}

func (l *towerList) vector(p Part, shape ...int) {
	l.list = append(l.list, Tensor{Part: p, Layer: l.layer, Shape: shape, Role: Vector})
}

// norm adds a norm, with a bias if norms subtract the mean.
func (l *towerList) norm(p Part, n int) {
	l.vector(p, n)
	if l.tower.Traits.LayerNorm {
		l.bias(p, n)
	}
}

func (l *towerList) bias(p Part, n int) {
	l.list = append(l.list, Tensor{Part: p, Layer: l.layer, Bias: true, Shape: []int{n}, Role: Vector})
}

// linear adds a matrix [out, in] and, perhaps, its bias.
func (l *towerList) linear(p Part, out, in int, biased bool) {
	l.list = append(l.list, Tensor{Part: p, Layer: l.layer, Shape: []int{out, in}, Role: Linear})
	if biased {
		l.bias(p, out)
	}
}

// ofLayer adds the tensors of a layer.
func (l *towerList) ofLayer() {
	t, is := l.tower, &l.tower.Traits
	heads := t.Heads * t.HeadDim
	projection := func(p Part, out, in int) {
		l.linear(p, out, in, is.Biased)
		for b := range NumBounds {
			if is.Clipped {
				l.vector(BoundOf(p, b), 1)
			}
		}
	}
	l.norm(AttentionNorm, t.HiddenSize)
	for _, p := range []Part{Query, Key, Value} {
		projection(p, heads, t.HiddenSize)
	}
	if is.HeadNorms {
		l.vector(QueryNorm, t.HeadDim)
		l.vector(KeyNorm, t.HeadDim)
	}
	projection(AttentionOutput, t.HiddenSize, heads)
	if is.PostNorms {
		l.norm(AttentionPostNorm, t.HiddenSize)
	}
	l.norm(FeedForwardNorm, t.HiddenSize)
	if is.Gated {
		projection(Gate, t.IntermediateSize, t.HiddenSize)
	}
	projection(Up, t.IntermediateSize, t.HiddenSize)
	projection(Down, t.HiddenSize, t.IntermediateSize)
	if is.PostNorms {
		l.norm(FeedForwardPostNorm, t.HiddenSize)
	}
}

// maxPositions is the most rows of a table of positions: models have up to 10,240.
const maxPositions = 1 << 16

// Validate checks that the sizes fit together. Whatever a file says, its tensors are bounded then.
func (t *Tower) Validate() error {
	if _, known := towers[t.Kind]; !known {
		return fmt.Errorf("there is no tower of kind %.60q", t.Kind)
	}
	for _, f := range []struct {
		name            string
		value, min, max int
	}{
		{"hidden_size", t.HiddenSize, 1, MaxWidth}, {"the width of features", t.Out, 1, MaxWidth}, {"the values of a patch", t.Patch, 1, MaxWidth},
		{"frames", t.Frames, 1, 2}, {"patches of a soft token's side", t.Merge, 1, 32}, {"positions", t.Positions, 0, maxPositions}, {"the width of the merger's network", t.MergeSize, 0, MaxWidth}, {"layers", t.Layers, 0, MaxLayers},
	} {
		if f.value < f.min || f.value > f.max {
			return fmt.Errorf("a tower of kind %s: %s: %d is not between %d and %d", t.Kind, f.name, f.value, f.min, f.max)
		}
	}
	if t.Layers > 0 {
		for _, f := range []struct {
			name       string
			value, max int
		}{{"intermediate_size", t.IntermediateSize, MaxWidth}, {"heads", t.Heads, MaxHeads}, {"elements of a head", t.HeadDim, MaxHeadDim}} {
			if f.value < 1 || f.value > f.max {
				return fmt.Errorf("a tower of kind %s: %s: %d is not between 1 and %d", t.Kind, f.name, f.value, f.max)
			}
		}
		if t.HeadDim%4 != 0 || t.Heads*t.HeadDim > MaxSpread*t.HiddenSize || t.Heads*t.HeadDim > MaxWidth {
			return fmt.Errorf("a tower of kind %s: %d heads of %d elements do not fit a width of %d: a head has a multiple of 4", t.Kind, t.Heads, t.HeadDim, t.HiddenSize)
		}
	}
	wide := t.HiddenSize * t.Merge * t.Merge
	switch {
	case wide > MaxWidth:
		return fmt.Errorf("a tower of kind %s: the states of %d×%d patches are %d elements, more than %d", t.Kind, t.Merge, t.Merge, wide, MaxWidth)
	case max(wide, t.Patch, t.IntermediateSize, t.Out, t.MergeSize, 2*t.Positions) > math.MaxInt/4/wide: // on a system of 32 bits
		return fmt.Errorf("a tower of kind %s: matrices of %d by %d elements are more than this system can address", t.Kind, max(wide, t.IntermediateSize), wide)
	case t.Window < 0 || t.Window > maxPositions || t.Window == 0 && t.Unwindowed != nil:
		return fmt.Errorf("a tower of kind %s: windows of %d soft tokens, and %d layers without", t.Kind, t.Window, len(t.Unwindowed))
	case !(t.Eps >= 0 && t.Eps < 1):
		return fmt.Errorf("a tower of kind %s: the epsilon of norms is %g, not between 0 and 1", t.Kind, t.Eps)
	case t.Layers > 0 && t.Theta != 0 && !(t.Theta >= 1 && t.Theta <= maxTheta):
		return fmt.Errorf("a tower of kind %s: rope_theta is %g, not between 1 and %g", t.Kind, t.Theta, maxTheta)
	}
	for _, f := range []struct {
		what string
		list []int
	}{{"features come from the layers", t.Deepstack}, {"there are no windows in the layers", t.Unwindowed}} {
		for i, layer := range f.list {
			if layer < 0 || layer >= t.Layers || i > 0 && layer <= f.list[i-1] {
				return fmt.Errorf("a tower of kind %s: %s %v, which must be some of %d in ascending order", t.Kind, f.what, f.list[:min(len(f.list), 32)], t.Layers)
			}
		}
	}
	return nil
}
