package main

import (
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/antigravity-go/antigravity/examples/internal/cli"
	"github.com/antigravity-go/antigravity/internal/checkpoint"
	"github.com/antigravity-go/antigravity/internal/model"
)

// A shape is a configuration by name. The functions below the table build those parts of it that models of a family share. shapeOf copies a
// shape, and replaces its vocabulary and its context if the flags say so. For example, gemma4 for tiny-gemma4, with 6 layers, every third
// of them without a window:
//
//	layer   Windowed   Mixers          KVHeads   HeadDim
//	0, 1    true       Attention       2         64
//	2       false      TiedAttention   1         128
//	3, 4    true       Attention       2         64
//	5       false      TiedAttention   1         128

// shapes are the published sizes: the config.json of the models' repositories. Names that begin with tiny are ours, for tests; these
// models' rows are whole blocks of every format.
var shapes = map[string]model.Config{
	"llama-3.2-1b": {HiddenSize: 2048, IntermediateSize: 8192, Layers: 16, Heads: 32, KVHeads: 8, HeadDim: 64,
		VocabSize: 128256, ContextLength: 131072, RoPE: llama3(32), TiedEmbeddings: true},
	"llama-3.2-3b": {HiddenSize: 3072, IntermediateSize: 8192, Layers: 28, Heads: 24, KVHeads: 8, HeadDim: 128,
		VocabSize: 128256, ContextLength: 131072, RoPE: llama3(32), TiedEmbeddings: true},
	"llama-3.1-8b": {HiddenSize: 4096, IntermediateSize: 14336, Layers: 32, Heads: 32, KVHeads: 8, HeadDim: 128,
		VocabSize: 128256, ContextLength: 131072, RoPE: llama3(8)},
	"llama-2-7b": {HiddenSize: 4096, IntermediateSize: 11008, Layers: 32, Heads: 32, KVHeads: 32, HeadDim: 128,
		VocabSize: 32000, ContextLength: 4096, RoPE: model.RoPE{Theta: 10000}},
	"qwen3-0.6b": {HiddenSize: 1024, IntermediateSize: 3072, Layers: 28, Heads: 16, KVHeads: 8, HeadDim: 128, RMSNormEps: 1e-6,
		VocabSize: 151936, ContextLength: 40960, RoPE: model.RoPE{Theta: 1000000}, TiedEmbeddings: true, Variant: family("qwen3")},
	"qwen3-1.7b": {HiddenSize: 2048, IntermediateSize: 6144, Layers: 28, Heads: 16, KVHeads: 8, HeadDim: 128, RMSNormEps: 1e-6,
		VocabSize: 151936, ContextLength: 40960, RoPE: model.RoPE{Theta: 1000000}, TiedEmbeddings: true, Variant: family("qwen3")},
	"qwen3-vl-2b": {HiddenSize: 2048, IntermediateSize: 6144, Layers: 28, Heads: 16, KVHeads: 8, HeadDim: 128, RMSNormEps: 1e-6,
		VocabSize: 151936, ContextLength: 262144, RoPE: model.RoPE{Theta: 5000000, Sections: [3]int{24, 20, 20}, Interleaved: true}, Deepstack: 3, TiedEmbeddings: true, Variant: family("qwen3")},
	"glm-ocr": {HiddenSize: 1536, IntermediateSize: 4608, Layers: 16, Heads: 16, KVHeads: 8, HeadDim: 128,
		VocabSize: 59392, ContextLength: 131072, RoPE: model.RoPE{Theta: 10000, Sections: [3]int{16, 24, 24}}, Variant: family("glmocr")},
	"qwen3-4b-yarn": {HiddenSize: 2560, IntermediateSize: 9728, Layers: 36, Heads: 32, KVHeads: 8, HeadDim: 128, RMSNormEps: 1e-6,
		VocabSize: 151936, ContextLength: 131072, RoPE: yarn(1000000, 4, 32768, yarn4), TiedEmbeddings: true, Variant: family("qwen3")},
	"olmo3-7b": {HiddenSize: 4096, IntermediateSize: 11008, Layers: 32, Heads: 32, KVHeads: 32, HeadDim: 128, RMSNormEps: 1e-6,
		VocabSize: 100278, ContextLength: 65536, RoPE: yarn(500000, 8, 8192, yarn8), Variant: model.Variant{
			Family: "olmo3", Window: 4096, Windowed: exceptEveryFourth(32), LocalRoPE: model.RoPE{Theta: 500000}}},
	"ministral3-3b": {HiddenSize: 3072, IntermediateSize: 9216, Layers: 26, Heads: 32, KVHeads: 8, HeadDim: 128,
		VocabSize: 131072, ContextLength: 262144, RoPE: scaled(yarn(1000000, 16, 16384, 1), 0.1), TiedEmbeddings: true, Variant: family("ministral3")},
	"granite4-micro": {HiddenSize: 2560, IntermediateSize: 8192, Layers: 40, Heads: 40, KVHeads: 8, HeadDim: 64,
		VocabSize: 100352, ContextLength: 131072, RoPE: model.RoPE{Theta: 10000000}, TiedEmbeddings: true, Variant: model.Variant{
			Family: "granitehybrid", EmbeddingScale: 12, ScoreScale: 1. / 64, ResidualScale: 0.22, LogitScale: 0.1}},
	"gemma2-2b": {HiddenSize: 2304, IntermediateSize: 9216, Layers: 26, Heads: 8, KVHeads: 4, HeadDim: 256, RMSNormEps: 1e-6,
		VocabSize: 256000, ContextLength: 8192, RoPE: model.RoPE{Theta: 10000}, TiedEmbeddings: true, Variant: gemma2(26, 4096, 48)},
	"gemma3-4b": {HiddenSize: 2560, IntermediateSize: 10240, Layers: 34, Heads: 8, KVHeads: 4, HeadDim: 256, RMSNormEps: 1e-6,
		VocabSize: 262208, ContextLength: 131072, RoPE: model.RoPE{Theta: 1000000, Factor: 8, Scaling: "linear"}, TiedEmbeddings: true, Variant: gemma3(34, 1024)},
	"smolvlm-500m": {HiddenSize: 960, IntermediateSize: 2560, Layers: 32, Heads: 15, KVHeads: 5, HeadDim: 64,
		VocabSize: 49280, ContextLength: 8192, RoPE: model.RoPE{Theta: 100000}},
	"tiny-gemma2": {HiddenSize: 256, IntermediateSize: 512, Layers: 4, Heads: 4, KVHeads: 2, HeadDim: 64, RMSNormEps: 1e-6,
		VocabSize: 1024, ContextLength: 1024, RoPE: model.RoPE{Theta: 10000}, TiedEmbeddings: true, Variant: gemma2(4, 128, 16)},
	"tiny-yarn": {HiddenSize: 256, IntermediateSize: 512, Layers: 3, Heads: 4, KVHeads: 2, HeadDim: 64, RMSNormEps: 1e-6,
		VocabSize: 1024, ContextLength: 2048, RoPE: yarn(1000000, 4, 512, yarn4), TiedEmbeddings: true, Variant: family("qwen3")},
	"glm-4.7-flash":   glmFlash(47),
	"glm-4.7-10b":     glmFlash(16), // a third of the layers, for machines with little memory
	"apertus-8b":      apertus(32, 4096, 21504, 32, 8, 131072),
	"falcon-h1-1.5b":  falconH1(24, 2048, 4096, 8, 2, 128, model.Recurrent{Taps: 4, KeyHeads: 1, Heads: 48, KeyDim: 256, ValueDim: 64, FilterBias: true, Unnormed: true}, 65537),
	"gemma3n-e2b":     gemma3n(30, 2048, 8192, 512, 5, 10, 10, 4, 64, 256, 262400),
	"tiny-apertus":    apertus(2, 256, 512, 4, 2, 1024),
	"tiny-falcon-h1":  falconH1(2, 256, 512, 4, 2, 64, model.Recurrent{Taps: 4, KeyHeads: 1, Heads: 8, KeyDim: 64, ValueDim: 64, FilterBias: true, Unnormed: true}, 1024),
	"tiny-gemma3n":    gemma3n(6, 256, 512, 128, 3, 2, 2, 3, 32, 64, 1024),
	"nemotron-3-nano": nemotron("MEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEMEM*EMEMEMEME"),
	"nemotron-3-10b":  nemotron("MEMEM*EMEMEM*EMEM"),
	"qwen3-30b-a3b":   qwen3moe(48),
	"qwen3-10b-a1b":   qwen3moe(16), // a third of the layers, for machines with little memory
	"gpt-oss-20b":     gptOSS(24),
	"gpt-oss-7b":      gptOSS(8),
	"tiny-qwen3moe":   tinyExperts("qwen3moe", model.Experts{Normalized: true}, model.Variant{}),
	"tiny-mixtral":    tinyExperts("mixtral", model.Experts{Normalized: true}, model.Variant{}),
	"tiny-granitemoe": tinyExperts("granitemoe", model.Experts{Scores: model.SoftmaxChosen}, model.Variant{EmbeddingScale: 12, ResidualScale: 0.22, LogitScale: 0.1}),
	"tiny-glm4moe":    tinyExperts("glm4moe", model.Experts{Scores: model.Sigmoid, SharedWidth: 256, Normalized: true, Corrected: true, Scale: 1.5}, model.Variant{Unnormed: true}),
	"tiny-gpt-oss":    tinyGPTOSS(),
	"gemma4-e2b": {HiddenSize: 1536, IntermediateSize: 12288, Layers: 35, Heads: 8, KVHeads: 1, HeadDim: 512, RMSNormEps: 1e-6,
		VocabSize: 262144, ContextLength: 131072, RoPE: turned(64), TiedEmbeddings: true,
		Variant: gemma4(35, 5, 512, layerSizes{wide: 6144, kvHeads: 1, headDim: 256, globalKVHeads: 1, globalHeadDim: 512}, 256, 20, true, 39.25)},
	"gemma4-e4b": {HiddenSize: 2560, IntermediateSize: 10240, Layers: 42, Heads: 8, KVHeads: 2, HeadDim: 512, RMSNormEps: 1e-6,
		VocabSize: 262144, ContextLength: 131072, RoPE: turned(64), TiedEmbeddings: true,
		Variant: gemma4(42, 6, 512, layerSizes{wide: 10240, kvHeads: 2, headDim: 256, globalKVHeads: 2, globalHeadDim: 512}, 256, 18, false, 50.5)},
	"gemma4-12b": {HiddenSize: 3840, IntermediateSize: 15360, Layers: 48, Heads: 16, KVHeads: 8, HeadDim: 512, RMSNormEps: 1e-6,
		VocabSize: 262144, ContextLength: 262144, RoPE: turned(64), TiedEmbeddings: true,
		Variant: gemma4(48, 6, 1024, layerSizes{wide: 15360, kvHeads: 8, headDim: 256, globalKVHeads: 1, globalHeadDim: 512}, 0, 0, false, 62)},
	"gemma4-26b-a4b": gemma4Experts(30),
	"gemma4-10b-a2b": gemma4Experts(12), // for machines with little memory
	"tiny-gemma4-e": {HiddenSize: 256, IntermediateSize: 1024, Layers: 8, Heads: 4, KVHeads: 2, HeadDim: 128, RMSNormEps: 1e-6,
		VocabSize: 1024, ContextLength: 2048, RoPE: turned(16), TiedEmbeddings: true,
		Variant: gemma4(8, 4, 128, layerSizes{wide: 512, kvHeads: 2, headDim: 64, globalKVHeads: 2, globalHeadDim: 128}, 256, 4, true, 16)},
	"tiny-gemma4": {HiddenSize: 256, IntermediateSize: 512, Layers: 6, Heads: 4, KVHeads: 2, HeadDim: 128, RMSNormEps: 1e-6,
		VocabSize: 1024, ContextLength: 2048, RoPE: turned(16), TiedEmbeddings: true,
		Variant: gemma4(6, 3, 128, layerSizes{wide: 512, kvHeads: 2, headDim: 64, globalKVHeads: 1, globalHeadDim: 128}, 0, 0, false, 16)},
	"tiny-gemma4-moe": besides(model.Config{HiddenSize: 256, IntermediateSize: 512, Layers: 3, Heads: 4, KVHeads: 2, HeadDim: 128, RMSNormEps: 1e-6,
		VocabSize: 1024, ContextLength: 2048, RoPE: turned(16), TiedEmbeddings: true,
		Variant: gemma4(3, 3, 128, layerSizes{wide: 512, kvHeads: 2, headDim: 64, globalKVHeads: 1, globalHeadDim: 128}, 0, 0, false, 16)},
		model.Experts{Count: 8, Chosen: 2, Width: 256, Normalized: true}),
	"qwen3.5-0.8b": {HiddenSize: 1024, IntermediateSize: 3584, Layers: 24, Heads: 8, KVHeads: 2, HeadDim: 256, RMSNormEps: 1e-6,
		VocabSize: 248320, ContextLength: 262144, RoPE: quarter(256), TiedEmbeddings: true, Variant: qwen35(24, 16, 16, 128)},
	"qwen3.5-4b": {HiddenSize: 2560, IntermediateSize: 9216, Layers: 32, Heads: 16, KVHeads: 4, HeadDim: 256, RMSNormEps: 1e-6,
		VocabSize: 248320, ContextLength: 262144, RoPE: quarter(256), TiedEmbeddings: true, Variant: qwen35(32, 16, 32, 128)},
	"lfm2-1.2b": {HiddenSize: 2048, IntermediateSize: 8192, Layers: 16, Heads: 32, KVHeads: 8, HeadDim: 64,
		VocabSize: 65536, ContextLength: 128000, RoPE: model.RoPE{Theta: 1000000}, TiedEmbeddings: true, Variant: lfm2(16, 2, 5, 8, 10, 12, 14)},
	"granite4-h-350m": {HiddenSize: 768, IntermediateSize: 2048, Layers: 32, Heads: 12, KVHeads: 4, HeadDim: 64,
		VocabSize: 100352, ContextLength: 32768, RoPE: model.RoPE{Theta: 10000}, TiedEmbeddings: true, Variant: granite4(32, 48, 32, 10, 13, 17, 27)},
	"granite4-h-1b": {HiddenSize: 1536, IntermediateSize: 4096, Layers: 40, Heads: 12, KVHeads: 4, HeadDim: 128,
		VocabSize: 100352, ContextLength: 131072, RoPE: model.RoPE{Theta: 10000}, TiedEmbeddings: true, Variant: granite4(40, 48, 64, 5, 15, 25, 35)},
	"tiny-qwen3.5": {HiddenSize: 256, IntermediateSize: 512, Layers: 4, Heads: 4, KVHeads: 2, HeadDim: 64, RMSNormEps: 1e-6,
		VocabSize: 1024, ContextLength: 1024, RoPE: quarter(64), TiedEmbeddings: true, Variant: qwen35(4, 2, 4, 64)},
	"tiny-lfm2": {HiddenSize: 256, IntermediateSize: 512, Layers: 4, Heads: 4, KVHeads: 2, HeadDim: 64,
		VocabSize: 1024, ContextLength: 1024, RoPE: model.RoPE{Theta: 1000000}, TiedEmbeddings: true, Variant: lfm2(4, 2)},
	"tiny-granite4-h": {HiddenSize: 256, IntermediateSize: 512, Layers: 4, Heads: 4, KVHeads: 2, HeadDim: 64,
		VocabSize: 1024, ContextLength: 1024, RoPE: model.RoPE{Theta: 10000}, TiedEmbeddings: true, Variant: granite4(4, 8, 64, 2)},
	"minilm-l6": bert(6, 384, 1536),
	"bge-base":  bert(12, 768, 3072),
	"tiny": {HiddenSize: 256, IntermediateSize: 512, Layers: 2, Heads: 4, KVHeads: 2, HeadDim: 64,
		VocabSize: 1024, ContextLength: 512, RoPE: llama3(32), TiedEmbeddings: true},
}

// YaRN's factors of attention, 1 + ln(factor)/10, for the factors 4, 8 and 32.
const (
	yarn4  = 1.1386294361119891
	yarn8  = 1.2079441541679836
	yarn32 = 1.3465735902799727
)

// yarn is a RoPE stretched by YaRN, as Qwen 3 and OLMo 3 have it.
func yarn(theta, factor float64, original int, attention float64) model.RoPE {
	return model.RoPE{Theta: theta, Scaling: "yarn", Factor: factor, OriginalContext: original, Attention: attention, BetaFast: 32, BetaSlow: 1}
}

// scaled is a RoPE with queries that are scaled by their positions.
func scaled(r model.RoPE, by float64) model.RoPE {
	r.QueryScale = by
	return r
}

// family is a variant that differs from Llama by its family alone.
func family(name string) model.Variant { return model.Variant{Family: name} }

// gemma2 is what Gemma 2 has beyond Llama, with windows in every other layer, the first one too.
func gemma2(layers, window int, embedding float64) model.Variant {
	return model.Variant{Family: "gemma2", Activation: "gelu_tanh", Window: window, Windowed: everyOther(layers), EmbeddingScale: embedding, ScoreCap: 50, LogitCap: 30}
}

// gemma3 is Gemma 3 4B with a number of layers.
func gemma3(layers, window int) model.Variant {
	v := model.Variant{Family: "gemma3", Activation: "gelu_tanh", Window: window, LocalRoPE: model.RoPE{Theta: 10000}, EmbeddingScale: 50.5}
	for layer := range layers {
		v.Windowed = append(v.Windowed, layer%6 != 5)
	}
	return v
}

// qwen3moe is Qwen3-30B-A3B with a number of layers.
func qwen3moe(layers int) model.Config {
	return model.Config{
		HiddenSize: 2048, IntermediateSize: 6144, Layers: layers, Heads: 32, KVHeads: 4, HeadDim: 128, RMSNormEps: 1e-6,
		VocabSize: 151936, ContextLength: 40960, RoPE: model.RoPE{Theta: 1000000},
		Variant: routed("qwen3moe", layers, model.Experts{Count: 128, Chosen: 8, Width: 768, Normalized: true}),
	}
}

// gptOSS is gpt-oss-20b with a number of layers.
func gptOSS(layers int) model.Config {
	c := model.Config{
		HiddenSize: 2880, IntermediateSize: 2880, Layers: layers, Heads: 64, KVHeads: 8, HeadDim: 64, AttentionBias: true,
		VocabSize: 201088, ContextLength: 131072, RoPE: yarn(150000, 32, 4096, yarn32),
		Variant: routed("gpt-oss", layers, model.Experts{Count: 32, Chosen: 4, Width: 2880, Scores: model.SoftmaxChosen, Limit: 7, Biased: true}),
	}
	c.RoPE.Unrounded = true
	c.Window, c.Windowed = 128, everyOther(layers)
	return c
}

// tinyGPTOSS is gpt-oss in small.
func tinyGPTOSS() model.Config {
	c := tinyExperts("gpt-oss", model.Experts{Scores: model.SoftmaxChosen, Limit: 7, Biased: true}, model.Variant{Window: 128, Windowed: everyOther(3)})
	c.AttentionBias, c.RoPE = true, yarn(150000, 32, 64, yarn32)
	c.RoPE.Unrounded = true
	return c
}

// tinyExperts is a family with 8 experts, 2 of them for each token.
func tinyExperts(family string, e model.Experts, v model.Variant) model.Config {
	const layers = 3
	e.Count, e.Chosen, e.Width = 8, 2, 256
	v.Family, v.Experts = family, e
	c := model.Config{
		HiddenSize: 256, IntermediateSize: 256, Layers: layers, Heads: 4, KVHeads: 2, HeadDim: 64, RMSNormEps: 1e-6,
		VocabSize: 1024, ContextLength: 1024, RoPE: model.RoPE{Theta: 10000}, Variant: v,
	}
	c.FeedForwards = allRouted(layers)
	if family == "glm4moe" {
		c.FeedForwards[0], c.AttentionBias, c.RoPE.Rotated = model.Gated, true, 32
	}
	return c
}

// routed is a variant with experts in all layers.
func routed(family string, layers int, e model.Experts) model.Variant {
	return model.Variant{Family: family, FeedForwards: allRouted(layers), Experts: e}
}

func allRouted(layers int) []model.FeedForward {
	return slices.Repeat([]model.FeedForward{model.Routed}, layers)
}

// everyOther lists the layers with a window, the first one too.
func everyOther(layers int) (list []bool) {
	for i := range layers {
		list = append(list, i%2 == 0)
	}
	return list
}

// turned is the RoPE of Gemma 4's layers without a window, in which some pairs of each head's elements turn.
func turned(pairs int) model.RoPE { return model.RoPE{Theta: 1000000, RotatedPairs: pairs} }

// layerSizes are the sizes of Gemma 4's layers: with a window, and, global, without.
type layerSizes struct{ wide, kvHeads, headDim, globalKVHeads, globalHeadDim int }

// gemma4 is what Gemma 4 has beyond Llama, with windows in all layers but each every-th. The last shared layers share keys and values, and
// are double wide if wider; without an input of the layers' own, keys are values in layers without a window.
func gemma4(layers, every, window int, s layerSizes, input, shared int, wider bool, embedding float64) model.Variant {
	v := model.Variant{
		Family: "gemma4", Activation: "gelu_tanh", Window: window, PerLayerWidth: input, LocalRoPE: model.RoPE{Theta: 10000},
		EmbeddingScale: embedding, ScoreScale: 1, LogitCap: 30,
	}
	for i := range layers {
		global, shares := (i+1)%every == 0, i >= layers-shared
		sizes, mixer := model.LayerSizes{IntermediateSize: s.wide, KVHeads: s.kvHeads, HeadDim: s.headDim}, model.Attention
		switch {
		case shares:
			mixer = model.SharedAttention
		case global && input == 0:
			mixer = model.TiedAttention
		}
		if global {
			sizes.KVHeads, sizes.HeadDim = s.globalKVHeads, s.globalHeadDim
		}
		if wider && shares {
			sizes.IntermediateSize *= 2
		}
		v.Windowed, v.Sizes, v.Mixers = append(v.Windowed, !global), append(v.Sizes, sizes), append(v.Mixers, mixer)
	}
	return v
}

// gemma4Experts is Gemma 4 26B-A4B with a number of layers, a multiple of 6.
func gemma4Experts(layers int) model.Config {
	return besides(model.Config{
		HiddenSize: 2816, IntermediateSize: 2112, Layers: layers, Heads: 16, KVHeads: 8, HeadDim: 512, RMSNormEps: 1e-6,
		VocabSize: 262144, ContextLength: 262144, RoPE: turned(64), TiedEmbeddings: true,
		Variant: gemma4(layers, 6, 1024, layerSizes{wide: 2112, kvHeads: 8, headDim: 256, globalKVHeads: 2, globalHeadDim: 512}, 0, 0, false, 53),
	}, model.Experts{Count: 128, Chosen: 8, Width: 704, Normalized: true})
}

// besides gives all layers experts besides their dense networks.
func besides(c model.Config, e model.Experts) model.Config {
	c.Experts, c.FeedForwards = e, slices.Repeat([]model.FeedForward{model.GatedAndRouted}, c.Layers)
	return c
}

// quarter is Qwen 3.5's RoPE, which rotates a quarter of each head.
func quarter(headDim int) model.RoPE {
	return model.RoPE{Theta: 10000000, Rotated: headDim / 4}
}

// qwen35 is what Qwen 3.5 has beyond Llama: three of four layers have the gated delta rule.
func qwen35(layers, keyHeads, heads, headDim int) model.Variant {
	v := model.Variant{Family: "qwen35", Recurrent: model.Recurrent{Taps: 4, KeyHeads: keyHeads, Heads: heads, KeyDim: headDim, ValueDim: headDim, Tiled: true}}
	for i := range layers {
		v.Mixers = append(v.Mixers, map[bool]model.Mixer{false: model.DeltaRule, true: model.GatedAttention}[(i+1)%4 == 0])
	}
	return v
}

// lfm2 is what LFM2 has beyond Llama: short convolutions in all layers but some.
func lfm2(layers int, attention ...int) model.Variant {
	return model.Variant{Family: "lfm2", Mixers: except(layers, model.ShortConvolution, attention), Recurrent: model.Recurrent{Taps: 3}}
}

// granite4 is what Granite 4 with Mamba has beyond Llama.
func granite4(layers, heads, headDim int, attention ...int) model.Variant {
	return model.Variant{
		Family: "granitehybrid", EmbeddingScale: 12, ScoreScale: 1. / 64, ResidualScale: 0.22, LogitScale: 1. / 6, NoRoPE: slices.Repeat([]bool{true}, layers),
		Mixers:    except(layers, model.SelectiveScan, attention),
		Recurrent: model.Recurrent{Taps: 4, KeyHeads: 1, Heads: heads, KeyDim: 128, ValueDim: headDim, FilterBias: true},
	}
}

// except lists the mixers of layers that have all the same one, but for some with attention.
func except(layers int, mixer model.Mixer, attention []int) []model.Mixer {
	list := slices.Repeat([]model.Mixer{mixer}, layers)
	for _, i := range attention {
		list[i] = model.Attention
	}
	return list
}

// glmFlash is GLM 4.7 Flash with a number of layers: latent attention, and experts in all layers but the first.
func glmFlash(layers int) model.Config {
	c := model.Config{HiddenSize: 2048, IntermediateSize: 10240, Layers: layers, Heads: 20, KVHeads: 1, HeadDim: 576, VocabSize: 154880, ContextLength: 202752,
		RoPE: model.RoPE{Theta: 1000000, Rotated: 64}, Variant: model.Variant{
			Family: "glm4_moe_lite", Mixers: slices.Repeat([]model.Mixer{model.LatentAttention}, layers), ScoreScale: 1. / 16, FeedForwards: allRouted(layers),
			Latent:  model.Latent{Rank: 512, QueryRank: 768, KeyDim: 192, RotatedDim: 64, ValueDim: 256},
			Experts: model.Experts{Count: 64, Chosen: 4, Width: 1536, SharedWidth: 1536, Scores: model.Sigmoid, Normalized: true, Corrected: true, Scale: 1.8}}}
	c.FeedForwards[0] = model.Gated
	return c
}

// nemotron is Nemotron 3 Nano with layers by letters: M for Mamba 2, * for attention and E for experts.
func nemotron(pattern string) model.Config {
	c := model.Config{HiddenSize: 2688, IntermediateSize: 1856, Layers: len(pattern), Heads: 32, KVHeads: 2, HeadDim: 128, VocabSize: 131072, ContextLength: 262144,
		RoPE: model.RoPE{Theta: 10000}, Variant: model.Variant{
			Family: "nemotron_h", Activation: "relu2", NoRoPE: slices.Repeat([]bool{true}, len(pattern)),
			Recurrent: model.Recurrent{Taps: 4, KeyHeads: 8, Heads: 64, KeyDim: 128, ValueDim: 64, FilterBias: true},
			Experts:   model.Experts{Count: 128, Chosen: 6, Width: 1856, SharedWidth: 3712, Ungated: true, Scores: model.Sigmoid, Normalized: true, Corrected: true, Scale: 2.5}}}
	for _, kind := range pattern {
		mixer, network := model.NoMixer, model.NoFeedForward
		switch kind {
		case 'M':
			mixer = model.SelectiveScan
		case '*':
			mixer = model.Attention
		default:
			network = model.Routed
		}
		c.Mixers, c.FeedForwards = append(c.Mixers, mixer), append(c.FeedForwards, network)
	}
	return c
}

// apertus is Apertus, with every layer's curve as at the beginning of a training.
func apertus(layers, hidden, wide, heads, kvHeads, vocab int) model.Config {
	curve := model.Curve{AlphaP: 0.2, AlphaN: -1.05, Beta: 0.5, Eps: -1e-6}
	rope := llama3(8)
	rope.Theta = 12000000
	return model.Config{HiddenSize: hidden, IntermediateSize: wide, Layers: layers, Heads: heads, KVHeads: kvHeads, HeadDim: hidden / heads, VocabSize: vocab, ContextLength: 65536,
		RoPE: rope, Variant: model.Variant{Family: "apertus", Activation: "xielu", Curves: slices.Repeat([]model.Curve{curve}, layers)}}
}

// falconH1 is Falcon-H1 without multipliers, which a GGUF file has in its matrices.
func falconH1(layers, hidden, wide, heads, kvHeads, headDim int, r model.Recurrent, vocab int) model.Config {
	return model.Config{HiddenSize: hidden, IntermediateSize: wide, Layers: layers, Heads: heads, KVHeads: kvHeads, HeadDim: headDim, VocabSize: vocab, ContextLength: 131072,
		RoPE:    model.RoPE{Theta: 100000000000},
		Variant: model.Variant{Family: "falcon-h1", Mixers: slices.Repeat([]model.Mixer{model.AttentionAndScan}, layers), Recurrent: r}}
}

// gemma3n is Gemma 3n: every every-th layer sees all, the last shared layers share keys and values, and the first sparse ones have few of their gates' numbers.
func gemma3n(layers, hidden, wide, window, every, shared, sparse, streams, rank, headDim, vocab int) model.Config {
	const deviations = 1.6448536 // for 0.95
	c := model.Config{HiddenSize: hidden, IntermediateSize: wide, Layers: layers, Heads: 8, KVHeads: 2, HeadDim: headDim, RMSNormEps: 1e-6, VocabSize: vocab, ContextLength: 32768,
		RoPE: model.RoPE{Theta: 1000000}, TiedEmbeddings: true, Variant: model.Variant{
			Family: "gemma3n", Activation: "gelu_tanh", Window: window, LocalRoPE: model.RoPE{Theta: 10000}, PerLayerWidth: 256, Streams: streams, LaurelRank: rank,
			EmbeddingScale: math.Sqrt(float64(hidden)), ScoreScale: 1, LogitCap: 30, Sparsity: make([]float32, layers)}}
	for i := range layers {
		mixer := model.Attention
		if i >= layers-shared {
			mixer = model.SharedAttention
		}
		if i < sparse {
			c.Sparsity[i] = deviations
		}
		c.Mixers, c.Windowed = append(c.Mixers, mixer), append(c.Windowed, (i+1)%every != 0)
	}
	return c
}

// exceptEveryFourth lists the layers with a window.
func exceptEveryFourth(layers int) []bool {
	list := make([]bool, layers)
	for i := range list {
		list[i] = (i+1)%4 != 0
	}
	return list
}

// bert is an encoder of BERT's kind with 12 heads, for texts of up to 512 tokens.
func bert(layers, hidden, wide int) model.Config {
	const heads, context = 12, 512
	return model.Config{
		HiddenSize: hidden, IntermediateSize: wide, Layers: layers, Heads: heads, KVHeads: heads, HeadDim: hidden / heads, VocabSize: 30522, ContextLength: context,
		RoPE: model.RoPE{Theta: 10000}, AttentionBias: true, MLPBias: true, TiedEmbeddings: true, Variant: model.Variant{Family: "bert", Activation: "gelu"},
		Encoder: model.Encoder{Whole: true, LayerNorm: true, NormBias: true, Positions: context, Types: 2},
	}
}

// normEps is every shape's that says nothing.
const normEps = 1e-5

// llama3 is the RoPE of Llama 3.1 and later, stretched by a factor.
func llama3(factor float64) model.RoPE {
	return model.RoPE{Theta: 500000, Scaling: "llama3", Factor: factor, LowFreqFactor: 1, HighFreqFactor: 4, OriginalContext: 8192}
}

func shapeNames() string { return strings.Join(slices.Sorted(maps.Keys(shapes)), ", ") }

// shapeOf looks a shape up. vocab and context, unless 0, replace the shape's vocabulary and context.
func shapeOf(name string, vocab, context int) (*model.Config, error) {
	c, ok := shapes[name]
	if !ok {
		return nil, cli.Usagef("unknown -shape %q: known are %s", name, shapeNames())
	}
	if c.RMSNormEps == 0 {
		c.RMSNormEps = normEps
	}
	checkpoint.Describe(&c)
	if vocab != 0 {
		c.VocabSize = vocab
	}
	if context != 0 {
		c.ContextLength = context
	}
	if c.VocabSize < minVocab || c.VocabSize > maxVocab {
		return nil, cli.Usagef("-vocab %d must be between %d and %d", c.VocabSize, minVocab, maxVocab)
	}
	if c.ContextLength < 1 || c.ContextLength > 1<<24 {
		return nil, cli.Usagef("-context %d must be between 1 and %d", c.ContextLength, 1<<24)
	}
	return &c, nil
}
