package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/antigravity-go/antigravity/examples/internal/cli"
	"github.com/antigravity-go/antigravity/internal/atomicfile"
	"github.com/antigravity-go/antigravity/internal/checkpoint"
	"github.com/antigravity-go/antigravity/internal/format"
	"github.com/antigravity-go/antigravity/internal/gguf"
	"github.com/antigravity-go/antigravity/internal/model"
	"github.com/antigravity-go/antigravity/tensor"
)

// A shape may have a tower that sees, which -tower writes as GGUF has it, a file of its own. Filters of patches are F16 at least, vectors F32, and bounds
// wide enough for anything.

// qwenTower is the tower of Qwen3-VL 2B and 4B, and of Qwen 3.5 4B.
func qwenTower(out int, deepstack ...int) model.Tower {
	return model.Tower{Kind: "qwen3vl", HiddenSize: 1024, IntermediateSize: 4096, Layers: 24, Heads: 16, HeadDim: 64, Out: out, Patch: 3 * 16 * 16, Frames: 2, Merge: 2,
		Positions: 48 * 48, Eps: 1e-6, Theta: 10000, Traits: model.TowerTraits{LayerNorm: true, Biased: true}, Deepstack: deepstack}
}

// towers are the towers of shapes.
var towers = map[string]model.Tower{
	"qwen3-vl-2b": qwenTower(2048, 5, 11, 17),
	"qwen3.5-4b":  qwenTower(2560),
	"glm-ocr": {Kind: "glm4v", HiddenSize: 1024, IntermediateSize: 4096, Layers: 24, Heads: 16, HeadDim: 64, Out: 1536, Patch: 3 * 14 * 14, Frames: 2, Merge: 2,
		MergeSize: 3 * 1536, Eps: 1e-5, Theta: 10000, Traits: model.TowerTraits{Biased: true, Gated: true, HeadNorms: true, Activation: model.SiLU}},
	"gemma3-4b": {Kind: "gemma3", HiddenSize: 1152, IntermediateSize: 4304, Layers: 27, Heads: 16, HeadDim: 72, Out: 2560, Patch: 3 * 14 * 14, Frames: 1, Merge: 4,
		Positions: 64 * 64, Eps: 1e-6, Traits: model.TowerTraits{LayerNorm: true, Biased: true}},
	"smolvlm-500m": {Kind: "idefics3", HiddenSize: 768, IntermediateSize: 3072, Layers: 12, Heads: 12, HeadDim: 64, Out: 960, Patch: 3 * 16 * 16, Frames: 1, Merge: 4,
		Positions: 32 * 32, Eps: 1e-6, Traits: model.TowerTraits{LayerNorm: true, Biased: true}},
	"lfm2-1.2b": {Kind: "lfm2", HiddenSize: 1152, IntermediateSize: 4304, Layers: 26, Heads: 16, HeadDim: 72, Out: 2048, Patch: 3 * 16 * 16, Frames: 1, Merge: 2,
		MergeSize: 2560, Positions: 16 * 16, Eps: 1e-6, Traits: model.TowerTraits{LayerNorm: true, Biased: true, JoinNorm: true}},
	"ministral3-3b": {Kind: "pixtral", HiddenSize: 1024, IntermediateSize: 4096, Layers: 24, Heads: 16, HeadDim: 64, Out: 3072, Patch: 3 * 14 * 14, Frames: 1, Merge: 2,
		Eps: 1e-5, TextEps: 1e-5, Theta: 10000, Traits: model.TowerTraits{Gated: true, Activation: model.SiLU}},
	"gemma4-e2b": {Kind: "gemma4v", HiddenSize: 768, IntermediateSize: 3072, Layers: 16, Heads: 12, HeadDim: 64, Out: 1536, Patch: 3 * 16 * 16, Frames: 1, Merge: 3,
		Positions: 10240, Eps: 1e-6, Theta: 100, Traits: model.TowerTraits{Gated: true, HeadNorms: true, ValueNorms: true, PostNorms: true, Unscaled: true, Clipped: true}},
	"tiny-qwen3.5": {Kind: "qwen3vl", HiddenSize: 64, IntermediateSize: 128, Layers: 2, Heads: 4, HeadDim: 16, Out: 256, Patch: 3 * 16 * 16, Frames: 2, Merge: 2,
		Positions: 64, Eps: 1e-6, Theta: 10000, Traits: model.TowerTraits{LayerNorm: true, Biased: true}},
}

// tower returns the tower that the options describe.
func (o *options) tower() (*randomTower, error) {
	shape, ok := towers[o.shape]
	if !ok {
		return nil, cli.Usagef("-tower: the shape %q has no tower; known are those of %s", o.shape, strings.Join(slices.Sorted(maps.Keys(towers)), ", "))
	}
	r, ok := recipes[strings.ToLower(o.kind)]
	if !ok {
		return nil, cli.Usagef("unknown -type %q: known are %s", o.kind, recipeNames())
	}
	if o.format != "gguf" {
		return nil, cli.Usagef("-tower writes -format gguf alone")
	}
	t, err := checkpoint.NewTower(&shape)
	if err != nil {
		return nil, err
	}
	return &randomTower{fmt.Sprintf("%s %s, random weights", o.shape, o.kind), t, r, o.seed}, nil
}

// randomTower is a tower to make.
type randomTower struct {
	name   string
	tower  *checkpoint.Tower
	recipe recipe
	seed   uint64
}

// write writes the tower.
func (r *randomTower) write(ctx context.Context, files *atomicfile.Set, path string, progress func(done, total int64)) error {
	tensors := r.plan()
	infos, err := infosOf(tensors)
	if err != nil {
		return err
	}
	metadata, err := r.tower.Metadata(r.name, gguf.KeyValue{Key: checkpoint.DescriptionKey, Value: gguf.ValueOf("random weights, for benchmarks")})
	if err != nil {
		return err
	}
	m := &randomModel{seed: r.seed}
	return m.writeFile(ctx, files, path, tensors, 0, counter(progress, size(tensors)), func(w io.Writer) (*format.TensorWriter, error) {
		return gguf.NewWriter(w, metadata, infos)
	})
}

// plan lists the tensors.
func (r *randomTower) plan() (list []planned) {
	written := map[string]bool{}
	t := r.tower
	tensors := t.Tensors()
	for i := range tensors {
		of := t.TensorOf(&tensors[i])
		p := planned{name: of.GGUF.Name, dtype: tensor.F32, dims: slices.Clone(of.Shape), norm: of.Role == model.Vector && !of.Bias && len(of.Shape) == 1}
		if of.GGUF.Within.Name != "" {
			p.name, p.dims[0] = of.GGUF.Within.Name, of.GGUF.Within.Rows
		}
		_, bound, bounded := of.Part.BoundOf()
		switch {
		case written[p.name]:
			continue
		case bounded:
			p.content = []float32{1000}
			if bound == model.InputMin || bound == model.OutputMin {
				p.content[0] = -1000
			}
		case of.Part == model.Downsample && !of.Bias:
			p.dims = []int{p.dims[0], t.HiddenSize, t.Merge, t.Merge}
			p.dtype = tensor.F16
		case of.GGUF.Flat:
			p.dims = []int{p.dims[0], 3, t.Side(), t.Side()}
			if r.recipe.linear != tensor.F32 {
				p.dtype = tensor.F16
			}
		case of.GGUF.Tables && p.dims[0] == 2*t.Positions:
			p.dims = []int{2, t.Positions, p.dims[1]}
		case of.GGUF.Transposed:
			slices.Reverse(p.dims)
			if r.recipe.linear != tensor.F32 {
				p.dtype = tensor.F16
			}
		case of.Role == model.Linear:
			if p.dtype = r.recipe.linear; p.dims[1]%p.dtype.BlockLen() != 0 { // SigLIP's networks are 4304 wide
				p.dtype = tensor.F16
			}
		}
		written[p.name] = true
		list = append(list, p)
	}
	if copied := t.Copied(); copied.Name != "" {
		list = append(list, planned{name: copied.Name, dtype: tensor.F32, dims: []int{t.Out}, norm: true})
	}
	return list
}
