package families

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/antigravity-go/antigravity/internal/checkpoint/keys"
	"github.com/antigravity-go/antigravity/internal/checkpoint/storage"
	"github.com/antigravity-go/antigravity/internal/gguf"
	"github.com/antigravity-go/antigravity/internal/model"
	"github.com/antigravity-go/antigravity/internal/unsupported"
)

// gemma3ns are Gemma 3n. It has several residual streams: a layer computes with the first, and the others follow it (AltUp). Attention has a bypass of a small
// width (LAuReL). The numbers of the first layers' gates count only if they are far above their mean. Inputs of layers, and layers that share keys and values, are as
// in Gemma 4, and so are norms, which are factors, and scores, which are not divided.
//
//   - activation_sparsity_pattern has probabilities, and GGUF the standard deviations that the normal distribution has for them: −∞ for 0.
//   - The table of layers' inputs may have fewer rows than the vocabulary: tokens of images and sounds have no row.
var gemma3ns = []*Family{
	{
		Name: "gemma3n", Type: "gemma3n_text", Class: "Gemma3nForCausalLM", with: slices.Concat(gemma3Parts, perLayerParts, streamParts),
		huggingFace: map[model.Part]string{model.FeedForwardNorm: "pre_feedforward_layernorm"}, unpaired: true, activation: geluTanh, rootScaled: true, scoreScale: 1,
		valueNorm: true, window: windows{rule: exceptEvery, every: 5, types: true, size: 512}, rope: gemma3RoPE, keys: (*walking).gemma3n,
		defaults: defaults{tied: true, headDim: 256, heads: 8, kvHeads: 2, vocab: 262400, context: 32768},
	},
}

var streamParts = []model.Part{model.StreamNorm, model.StreamRouter, model.StreamPredict, model.StreamCorrect, model.StreamScale, model.StreamSplit, model.StreamMerge,
	model.LaurelDown, model.LaurelUp, model.LaurelNorm}

// The keys of GGUF's metadata for streams, after the architecture's name and a dot.
const (
	streamsKey  = "altup.num_inputs"
	activeKey   = "altup.active_idx"
	sparsityKey = "activation_sparsity_scale"
)

// gemma3n walks over the streams and the sizes of layers.
func (c *walking) gemma3n(k *keys.Walk) {
	c.limit(k, logitCapKey, &c.LogitCap, 30)
	active := 0
	k.Int("altup_num_inputs", streamsKey, &c.Streams, 4)
	k.Int("altup_active_idx", activeKey, &active, 0)
	if k.Reads() && active != 0 {
		k.Fail(unsupported.Errorf("%s is %d; only 0 is implemented", k.Key("altup_active_idx", activeKey), active))
	}
	if !k.Reads() {
		c.gemma3nToFile(k)
		return
	}
	if c.Layers < 1 || c.Layers > model.MaxLayers || len(c.Windowed) != c.Layers {
		k.Fail(fmt.Errorf("%s has %d entries, the model %d layers", k.Key("layer_types", windowPatternKey), len(c.Windowed), c.Layers))
		return
	}
	shared, rows := 0, c.VocabSize
	k.Int("num_kv_shared_layers", sharedLayersKey, &shared, 15)
	if shared < 0 || shared >= c.Layers {
		k.Fail(fmt.Errorf("%s is %d, of %d layers: the first layer has none to share with", k.Key("num_kv_shared_layers", sharedLayersKey), shared, c.Layers))
		return
	}
	c.OwnSizes()
	c.setMixers(shared, func(int) bool { return false })
	c.settleSizes()
	k.Int("hidden_size_per_layer_input", inputWidthKey, &c.PerLayerWidth, 256)
	if k.ReadsFolder() {
		k.Int("laurel_rank", "", &c.LaurelRank, 64)
		k.Int("vocab_size_per_layer_input", "", &rows, 262144)
		scaled := true
		if k.Bool("altup_correct_scale", "", &scaled, true); !scaled {
			k.Fail(unsupported.Errorf("altup_correct_scale is false; only true is implemented"))
		}
		c.sparsityOfFolder(k)
	} else {
		if t, ok := k.Tensor(GGUF(model.LaurelDown, 0, false)); ok && len(t.Shape) == 2 {
			c.LaurelRank = t.Shape[0]
		}
		if t, ok := k.Tensor(GGUF(model.PerLayerEmbedding, 0, false)); ok && len(t.Shape) == 2 {
			rows = t.Shape[0]
		}
		for _, s := range k.Floats(sparsityKey) {
			if math.IsInf(float64(s), -1) {
				s = 0
			}
			c.Sparsity = append(c.Sparsity, s)
		}
	}
	if rows != c.VocabSize {
		c.PerLayerVocab = rows
	}
}

// sparsityOfFolder reads which share of a gate's numbers does not count in each layer.
func (c *walking) sparsityOfFolder(k *keys.Walk) {
	const usual, usualLayers = 0.95, 10
	list := make([]float64, c.Layers)
	if c.Layers > usualLayers {
		for i := range usualLayers {
			list[i] = usual
		}
	}
	k.Decode("activation_sparsity_pattern", &list)
	if len(list) != c.Layers {
		k.Fail(fmt.Errorf("activation_sparsity_pattern has %d entries, the model %d layers", len(list), c.Layers))
		return
	}
	for _, share := range list {
		if !(share >= 0 && share < 1) {
			k.Fail(fmt.Errorf("activation_sparsity_pattern has %g, not between 0 and 1", share))
			return
		}
		deviations := float32(0)
		if share > 0 {
			deviations = float32(math.Sqrt2 * math.Erfinv(2*share-1))
		}
		c.Sparsity = append(c.Sparsity, deviations)
	}
}

// gemma3nToFile writes a GGUF file's keys.
func (c *walking) gemma3nToFile(k *keys.Walk) {
	if k.Folder() {
		return
	}
	shared := 0
	for _, m := range c.Mixers {
		if m == model.SharedAttention {
			shared++
		}
	}
	k.Int("", sharedLayersKey, &shared, 0)
	k.Int("", inputWidthKey, &c.PerLayerWidth, 0)
	list := slices.Clone(c.Sparsity)
	for i := range list {
		if list[i] == 0 {
			list[i] = float32(math.Inf(-1))
		}
	}
	k.Put("", sparsityKey, nil, gguf.ArrayOf(list))
}

// streamLayouts returns the layouts of what makes one of the further streams, or ends it. GGUF has those of all streams in one tensor.
func streamLayouts(c *model.Config, p model.Part, number int) (folder, file storage.Layout) {
	end := ".weight"
	folder.Name = names[p].huggingFace + "." + strconv.Itoa(number) + end
	all := (c.Streams - 1) * c.HiddenSize
	file = storage.Layout{Name: names[p].gguf + "." + strconv.Itoa(number) + end, Tables: true, Shape: []int{c.Streams - 1, c.HiddenSize, c.HiddenSize},
		Within: storage.Within{Name: names[p].gguf + end, Rows: all, First: number * c.HiddenSize}}
	return folder, file
}
