package checkpoint

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// An architecture is one entry of the table families: it says in which parts, names and defaults the architecture differs from Llama.
// Readers and writers of files ask the entry. For example, the entry of qwen2 says
//
//	biased, bare: AttentionOutput        queries, keys and values have biases, the output of attention has no bias
//	unpaired                             GGUF has the rows of queries and keys in Hugging Face's order
//	window: fromLayer                    with use_sliding_window, layers from max_window_layers on have a window
//	keys: "sliding_window", …            these keys of config.json count
//
// and of gemma3, with the rule exceptEvery and 6 for every, layers 0 to 4 have a window, layer 5 sees all positions, and so on.

// family is what an architecture has that Llama has not, and the other way round. The zero value, but for its names, is Llama.
//
// Everything here is data: README.md says how to add a family.
type family struct {
	name  string // GGUF's name of the architecture, with which its keys begin
	model string // Hugging Face's: model_type
	class string // what config.json calls the program

	// Parts.
	with        []Part                 // that Llama has not
	without     []Part                 // that Llama has
	huggingFace map[Part]string        // names other than those of the table of parts
	ggufNames   map[Part]string        // the same for GGUF
	fused       map[Part]fusedPart     // parts that are some of the rows of a tensor
	fusedGGUF   map[Part]fusedPart     // the same for GGUF alone
	bare        []Part                 // parts without a bias in models with biases of attention
	biased      bool                   // queries, keys and values always have biases
	unpaired    bool                   // GGUF has the rows of queries and keys in Hugging Face's order
	gguf        string                 // GGUF's name of the architecture if it is another one; "": it is name
	plusOne     bool                   // Hugging Face stores the weights of norms less one
	normOf      map[Part]size          // the elements of a norm of queries or keys: of a head, or of all together
	activation  string                 // of the feed-forward layer, as Hugging Face names it
	window      func(*windowRule) bool // whether a layer has a sliding window, if the configuration has one; nil: no layer
	unstretched bool                   // layers with a window have RoPE's base and no scaling
	scaledTypes []string               // the types of layers that rope_scaling changes, if each type has parameters of its own
	unrounded   bool                   // YaRN is not rounded to whole pairs, which GGUF does not say
	unscaled    bool                   // attention's scores are not divided by the root of a head's length
	valueNorm   bool                   // see Layer.ValueNorm
	attention   Mixer                  // of the layers with attention
	recurrent   Mixer                  // of the layers without; Attention: no such layers
	tiled       bool                   // GGUF has value heads in another order: see Tiling
	allGGUF     string                 // GGUF's name of the architecture if all layers have attention; "": the usual one
	ggufExperts string                 // that if all layers have attention, and some have experts
	embedding   bool                   // embeddings are multiplied by the square root of the width, rounded to BF16
	encoding
	experts *expertRule // nil: the family has no layers with experts
	keys    []string    // of config.json besides Llama's: see special

	defaults defaults
}

// encoding has the parts of families that read a text as a whole: see Encoder.
type encoding struct {
	whole          bool
	centred        bool
	normBiased     bool   // norms always have biases
	plain          bool   // the feed-forward network has no gate
	positions      bool   // positions are learned
	padded         bool   // those of a folder begin after that of padding
	localAttention bool   // the window is called local_attention
	layers         string // with what the names of the parts of layers begin in Hugging Face's terms; "": as Llama's
	firstWithout   []Part // that the first layer has not
}

// defaults are what config.json need not say.
type defaults struct {
	tied                           bool
	eps                            float32
	theta                          float64
	localTheta                     float64 // of layers with a window, if it is another one
	window                         int
	headDim                        int
	heads, kvHeads, vocab, context int // of Gemma 3: its wrappers leave out usual values
	rope                           *ropeJSON
	rotated                        float64 // which part of a head is rotated; 0: all
	every                          int     // each such layer is unlike the others: it has no RoPE (SmolLM3), or no window (Gemma 3)
	scoreCap, logitCap             float64
	// wideLayers is the number of layers of the size that divides scores by √(HiddenSize/Heads) instead of √HeadDim. GGUF does not say so;
	// llama.cpp knows these sizes (27B of Gemma 2 and 3) by their layers.
	wideLayers int
}

// fusedPart is a part that is some of the rows of a tensor.
type fusedPart struct {
	huggingFace, gguf string // names, without the layer and what follows; gguf is "" if GGUF has the parts apart
	parts             []Part // that the tensor has, in their order
	groups            size   // how many groups the rows lie in, each with an equal share of each part; nil: one
}

// windowRule is what decides whether a layer has a sliding window.
type windowRule struct {
	layer int
	use   bool // use_sliding_window
	from  int  // max_window_layers
	every int  // each such layer has no window; 0: not given
}

func always(*windowRule) bool        { return true }
func fromLayer(w *windowRule) bool   { return w.use && w.layer >= w.from }
func exceptFirst(w *windowRule) bool { return w.every < 1 || w.layer%w.every != 0 }
func exceptEvery(w *windowRule) bool { return w.every < 1 || (w.layer+1)%w.every != 0 }

// The names of tensors that several families have.
const (
	afterAttention   = "post_attention_layernorm"
	afterFeedForward = "post_feedforward_layernorm"
)

// activations are the names of activations by what Hugging Face calls them.
const (
	silu     = "silu"
	gelu     = "gelu"
	geluTanh = "gelu_pytorch_tanh"
)

var (
	fusedAttention   = fusedPart{"self_attn.qkv_proj", "attn_qkv", []Part{Query, Key, Value}, nil}
	fusedFeedForward = fusedPart{"mlp.gate_up_proj", "ffn_up", []Part{Gate, Up}, nil}
	// Granite 4's, which is called shared since models with experts have it too. GGUF has gate and up apart.
	sharedFeedForward = fusedPart{"shared_mlp.input_linear", "", []Part{Gate, Up}, nil}
)

// The tensors of recurrent layers and gated attention that hold several parts.
var (
	gatedQuery  = fusedPart{"self_attn.q_proj", "attn_q", []Part{Query, QueryGate}, queryHeads}
	deltaInput  = fusedPart{"linear_attn.in_proj_qkv", "attn_qkv", []Part{RecurrentQuery, RecurrentKey, RecurrentValue}, nil}
	deltaFilter = fusedPart{"linear_attn.conv1d", "ssm_conv1d", []Part{QueryFilter, KeyFilter, ValueFilter}, nil}
	nextInput   = fusedPart{"linear_attn.in_proj_qkvz", "", []Part{RecurrentQuery, RecurrentKey, RecurrentValue, RecurrentGate}, keyHeads}
	nextRates   = fusedPart{"linear_attn.in_proj_ba", "ssm_ba", []Part{RecurrentBeta, RecurrentStep}, keyHeads}
	mambaInput  = fusedPart{"mamba.in_proj", "ssm_in", []Part{RecurrentGate, RecurrentValue, RecurrentKey, RecurrentQuery, RecurrentStep}, nil}
	mambaFilter = fusedPart{"mamba.conv1d", "ssm_conv1d", []Part{ValueFilter, KeyFilter, QueryFilter}, nil}
	shortInput  = fusedPart{"conv.in_proj", "shortconv.in_proj", []Part{InputGate, OutputGate, ConvolutionInput}, nil}
	mambaNames  = map[Part]string{
		Down: "shared_mlp.output_linear", SharedDown: "shared_mlp.output_linear", Router: "block_sparse_moe.router.layer", StepBias: "mamba.dt_bias", Decay: "mamba.A_log", Skip: "mamba.D", RecurrentNorm: "mamba.norm",
		RecurrentOutput: "mamba.out_proj",
	}
)

// families is the table of architectures.
var families = []family{
	{name: "llama", model: "llama", class: "LlamaForCausalLM"},
	{
		name: "mistral", model: "mistral", class: "MistralForCausalLM", gguf: "llama", window: always, keys: []string{"sliding_window"},
		defaults: defaults{window: 4096},
	},
	{
		name: "ministral3", model: "ministral3", class: "Ministral3ForCausalLM", gguf: "mistral3", window: always, keys: []string{"sliding_window", queryScaleName},
		defaults: defaults{eps: 1e-5, theta: 1000000, headDim: 128, heads: 32, kvHeads: 8, vocab: 131072, context: 262144, rope: &ropeJSON{
			Type: yarn, Factor: 16, OriginalContext: 16384, MScale: 1, MScaleAll: 1, QueryScale: 0.1,
		}},
	},
	{
		name: "qwen2", model: "qwen2", class: "Qwen2ForCausalLM", biased: true, bare: []Part{AttentionOutput}, unpaired: true, window: fromLayer,
		keys: []string{"sliding_window", "use_sliding_window", "max_window_layers", "layer_types"},
	},
	{
		name: "qwen3", model: "qwen3", class: "Qwen3ForCausalLM", with: []Part{QueryNorm, KeyNorm}, normOf: headNorms, unpaired: true, window: fromLayer,
		keys: []string{"sliding_window", "use_sliding_window", "max_window_layers", "layer_types"}, defaults: defaults{headDim: 128},
	},
	{
		name: "smollm3", model: "smollm3", class: "SmolLM3ForCausalLM", window: fromLayer,
		keys:     []string{"sliding_window", "use_sliding_window", "layer_types", "no_rope_layers", "no_rope_layer_interval"},
		defaults: defaults{tied: true, theta: 2000000, every: 4},
	},
	{
		name: "granite", model: "granite", class: "GraniteForCausalLM",
		keys: []string{"embedding_multiplier", "attention_multiplier", "residual_multiplier", "logits_scaling"},
	},
	{
		name: "granitehybrid", model: "granitemoehybrid", class: "GraniteMoeHybridForCausalLM", allGGUF: "granite", ggufExperts: "granitemoe", experts: &graniteExperts, recurrent: SelectiveScan,
		huggingFace: mambaNames, fused: map[Part]fusedPart{
			Gate: sharedFeedForward, Up: sharedFeedForward, RecurrentGate: mambaInput, RecurrentValue: mambaInput, RecurrentKey: mambaInput,
			RecurrentQuery: mambaInput, RecurrentStep: mambaInput, SharedGate: sharedExpert, SharedUp: sharedExpert, ValueFilter: mambaFilter, KeyFilter: mambaFilter, QueryFilter: mambaFilter,
		},
		keys: []string{"embedding_multiplier", "attention_multiplier", "residual_multiplier", "logits_scaling", "num_local_experts", sharedWidthName},
	},
	{
		name: "granitemoe", model: "granitemoe", class: "GraniteMoeForCausalLM", experts: &graniteExperts,
		huggingFace: graniteExpertNames, fused: map[Part]fusedPart{SharedGate: sharedExpert, SharedUp: sharedExpert},
		keys: []string{"embedding_multiplier", "attention_multiplier", "residual_multiplier", "logits_scaling", "num_local_experts"},
	},
	{
		name: "mixtral", model: "mixtral", class: "MixtralForCausalLM", gguf: "llama", experts: &mixedExperts, window: always,
		huggingFace: map[Part]string{Router: "block_sparse_moe.gate"}, keys: []string{"sliding_window", "num_local_experts"},
		defaults: defaults{eps: 1e-5, theta: 1000000},
	},
	{
		name: "qwen3moe", model: "qwen3_moe", class: "Qwen3MoeForCausalLM", with: []Part{QueryNorm, KeyNorm}, normOf: headNorms, unpaired: true, window: fromLayer,
		experts: &qwenExperts,
		keys:    []string{"sliding_window", "use_sliding_window", "max_window_layers", "num_experts", "num_local_experts", "norm_topk_prob", "decoder_sparse_step", "mlp_only_layers"},
	},
	{
		name: "glm4moe", model: "glm4_moe", class: "Glm4MoeForCausalLM", with: []Part{QueryNorm, KeyNorm}, normOf: headNorms, unpaired: true, bare: []Part{AttentionOutput},
		huggingFace: map[Part]string{SharedGate: "mlp.shared_experts.gate_proj", SharedUp: "mlp.shared_experts.up_proj", SharedDown: "mlp.shared_experts.down_proj"},
		ggufNames:   map[Part]string{FeedForwardNorm: "post_attention_norm"}, experts: &glmExperts,
		keys:     []string{"n_routed_experts", "n_shared_experts", "norm_topk_prob", "routed_scaling_factor", "first_k_dense_replace", "use_qk_norm", "partial_rotary_factor"},
		defaults: defaults{eps: 1e-5, rotated: 0.5},
	},
	{
		name: "gpt-oss", model: "gpt_oss", class: "GptOssForCausalLM", with: []Part{Sinks}, unpaired: true, biased: true, window: exceptEvery, unrounded: true,
		huggingFace: map[Part]string{Router: "mlp.router"}, ggufNames: map[Part]string{FeedForwardNorm: "post_attention_norm"}, experts: &gptExperts,
		keys: []string{"sliding_window", "layer_types", "num_local_experts", "swiglu_limit", "quantization_config"},
		defaults: defaults{eps: 1e-5, theta: 150000, window: 128, headDim: 64, every: 2, rope: &ropeJSON{
			Type: yarn, Factor: 32, OriginalContext: 4096, BetaFast: 32, BetaSlow: 1, Truncate: new(bool),
		}},
	},
	{
		name: "qwen35", model: "qwen3_5_text", class: "Qwen3_5ForCausalLM", with: []Part{QueryNorm, KeyNorm}, normOf: headNorms, unpaired: true, plusOne: true,
		attention: GatedAttention, recurrent: DeltaRule, tiled: true, ggufNames: map[Part]string{FeedForwardNorm: "post_attention_norm"},
		fused: map[Part]fusedPart{
			Query: gatedQuery, QueryGate: gatedQuery, RecurrentQuery: deltaInput, RecurrentKey: deltaInput, RecurrentValue: deltaInput,
			QueryFilter: deltaFilter, KeyFilter: deltaFilter, ValueFilter: deltaFilter,
		},
		keys:     []string{"partial_rotary_factor", "attn_output_gate"},
		defaults: defaults{headDim: 256, heads: 16, kvHeads: 4, vocab: 248320, context: 32768, rotated: 0.25, every: 4},
	},
	{
		name: "qwen35moe", model: "qwen3_5_moe_text", class: "Qwen3_5MoeForCausalLM", with: []Part{QueryNorm, KeyNorm}, normOf: headNorms, unpaired: true, plusOne: true,
		attention: GatedAttention, recurrent: DeltaRule, tiled: true, ggufNames: map[Part]string{FeedForwardNorm: "post_attention_norm"}, experts: &gatedExperts,
		fused: map[Part]fusedPart{
			Query: gatedQuery, QueryGate: gatedQuery, RecurrentQuery: deltaInput, RecurrentKey: deltaInput, RecurrentValue: deltaInput,
			QueryFilter: deltaFilter, KeyFilter: deltaFilter, ValueFilter: deltaFilter,
		},
		keys:     []string{"partial_rotary_factor", "attn_output_gate", "num_experts", "num_local_experts", "shared_expert_intermediate_size"},
		defaults: defaults{headDim: 256, heads: 16, kvHeads: 2, vocab: 248320, context: 32768, rotated: 0.25, every: 4},
	},
	{
		name: "qwen3next", model: "qwen3_next", class: "Qwen3NextForCausalLM", with: []Part{QueryNorm, KeyNorm}, normOf: headNorms, unpaired: true, plusOne: true,
		attention: GatedAttention, recurrent: DeltaRule, ggufNames: map[Part]string{FeedForwardNorm: "post_attention_norm"}, experts: &gatedExperts,
		fused: map[Part]fusedPart{
			Query: gatedQuery, QueryGate: gatedQuery, RecurrentQuery: nextInput, RecurrentKey: nextInput, RecurrentValue: nextInput, RecurrentGate: nextInput,
			RecurrentBeta: nextRates, RecurrentStep: nextRates, QueryFilter: deltaFilter, KeyFilter: deltaFilter, ValueFilter: deltaFilter,
		},
		fusedGGUF: map[Part]fusedPart{RecurrentQuery: deltaInput, RecurrentKey: deltaInput, RecurrentValue: deltaInput},
		keys:      []string{"partial_rotary_factor", "num_experts", "num_local_experts", "norm_topk_prob", "decoder_sparse_step", "mlp_only_layers", "shared_expert_intermediate_size"},
		defaults:  defaults{headDim: 256, heads: 16, kvHeads: 2, vocab: 151936, context: 32768, rotated: 0.25, every: 4},
	},
	{
		name: "lfm2", model: "lfm2", class: "Lfm2ForCausalLM", with: []Part{QueryNorm, KeyNorm}, normOf: headNorms, unpaired: true, recurrent: ShortConvolution,
		huggingFace: map[Part]string{
			AttentionNorm: "operator_norm", FeedForwardNorm: "ffn_norm", QueryNorm: "self_attn.q_layernorm", KeyNorm: "self_attn.k_layernorm",
			AttentionOutput: "self_attn.out_proj", Gate: "feed_forward.w1", Up: "feed_forward.w3", Down: "feed_forward.w2", OutputNorm: "model.embedding_norm",
		},
		ggufNames: map[Part]string{OutputNorm: "token_embd_norm"}, // as llama.cpp's first files called it
		fused:     map[Part]fusedPart{InputGate: shortInput, OutputGate: shortInput, ConvolutionInput: shortInput},
		defaults:  defaults{tied: true, eps: 1e-5, theta: 1000000, heads: 32, kvHeads: 8, vocab: 65536, context: 128000},
	},
	{
		name: "phi3", model: "phi3", class: "Phi3ForCausalLM", unpaired: true, window: always,
		fused: map[Part]fusedPart{Query: fusedAttention, Key: fusedAttention, Value: fusedAttention, Gate: fusedFeedForward, Up: fusedFeedForward},
		keys:  []string{"sliding_window", "original_max_position_embeddings", "partial_rotary_factor"}, defaults: defaults{eps: 1e-5},
	},
	{
		name: "olmo2", model: "olmo2", class: "Olmo2ForCausalLM", without: []Part{AttentionNorm, FeedForwardNorm},
		with: []Part{QueryNorm, KeyNorm, AttentionPostNorm, FeedForwardPostNorm}, normOf: wholeNorms, unpaired: true, unstretched: true, defaults: defaults{eps: 1e-5},
	},
	{
		name: "olmo3", model: "olmo3", class: "Olmo3ForCausalLM", scaledTypes: scaledWhole, gguf: "olmo2", without: []Part{AttentionNorm, FeedForwardNorm},
		with: []Part{QueryNorm, KeyNorm, AttentionPostNorm, FeedForwardPostNorm}, normOf: wholeNorms, unpaired: true, unstretched: true, window: exceptEvery,
		keys: []string{"sliding_window", "layer_types"}, defaults: defaults{eps: 1e-5, theta: 500000, window: 4096, every: 4},
	},
	{
		name: "gemma", model: "gemma", class: "GemmaForCausalLM", unpaired: true, plusOne: true, activation: geluTanh, embedding: true,
		defaults: defaults{tied: true, headDim: 256},
	},
	{
		name: "gemma2", model: "gemma2", class: "Gemma2ForCausalLM", with: []Part{AttentionPostNorm, FeedForwardPostNorm},
		huggingFace: map[Part]string{FeedForwardNorm: "pre_feedforward_layernorm"}, unpaired: true, plusOne: true,
		activation: geluTanh, window: exceptEvery, embedding: true,
		keys:     []string{"sliding_window", "layer_types", "query_pre_attn_scalar", "attn_logit_softcapping", "final_logit_softcapping"},
		defaults: defaults{tied: true, window: 4096, headDim: 256, every: 2, scoreCap: 50, logitCap: 30, wideLayers: 46},
	},
	{
		name: "gemma3", model: "gemma3_text", class: "Gemma3ForCausalLM", scaledTypes: scaledWhole, with: []Part{QueryNorm, KeyNorm, AttentionPostNorm, FeedForwardPostNorm},
		huggingFace: map[Part]string{FeedForwardNorm: "pre_feedforward_layernorm"}, normOf: headNorms, unpaired: true, plusOne: true,
		activation: geluTanh, window: exceptEvery, embedding: true,
		keys: []string{"sliding_window", "sliding_window_pattern", "_sliding_window_pattern", "layer_types", "query_pre_attn_scalar", "rope_local_base_freq"},
		defaults: defaults{tied: true, theta: 1000000, localTheta: 10000, window: 4096, headDim: 256, every: 6,
			heads: 8, kvHeads: 4, vocab: 262208, context: 131072, wideLayers: 62},
	},
	{
		name: "gemma4", model: "gemma4_text", class: "Gemma4ForCausalLM", with: gemma4Parts,
		huggingFace: map[Part]string{FeedForwardNorm: "pre_feedforward_layernorm", Router: "router.proj"}, normOf: headNorms, unpaired: true, activation: geluTanh, window: exceptEvery,
		unscaled: true, valueNorm: true, embedding: true, experts: &gemmaExperts,
		keys: append([]string{"num_experts"}, gemma4Keys...),
		defaults: defaults{tied: true, theta: 1000000, localTheta: 10000, window: 512, headDim: 256, every: 6, heads: 8, kvHeads: 4, vocab: 262144, context: 131072,
			rope: gemma4RoPE},
	},
	{
		name: "gemma4-unified", model: "gemma4_unified_text", class: "Gemma4UnifiedForCausalLM", gguf: "gemma4",
		with:        []Part{QueryNorm, KeyNorm, AttentionPostNorm, FeedForwardPostNorm, LayerScale},
		huggingFace: map[Part]string{FeedForwardNorm: "pre_feedforward_layernorm"}, normOf: headNorms, unpaired: true, activation: geluTanh, window: exceptEvery,
		unscaled: true, valueNorm: true, embedding: true,
		keys: gemma4Keys,
		defaults: defaults{tied: true, theta: 1000000, localTheta: 10000, window: 1024, headDim: 256, every: 6, heads: 8, kvHeads: 4, vocab: 262144, context: 262144,
			rope: gemma4RoPE},
	},
	{
		name: "gemma-embedding", model: "gemma3_text", class: "Gemma3TextModel", scaledTypes: scaledWhole, with: []Part{QueryNorm, KeyNorm, AttentionPostNorm, FeedForwardPostNorm},
		huggingFace: map[Part]string{FeedForwardNorm: "pre_feedforward_layernorm"}, normOf: headNorms, unpaired: true, plusOne: true,
		activation: geluTanh, window: exceptEvery, embedding: true, encoding: encoding{whole: true},
		keys: []string{"sliding_window", "sliding_window_pattern", "_sliding_window_pattern", "layer_types", "query_pre_attn_scalar", "rope_local_base_freq",
			"use_bidirectional_attention"},
		defaults: defaults{tied: true, theta: 1000000, localTheta: 10000, window: 4096, headDim: 256, every: 6,
			heads: 8, kvHeads: 4, vocab: 262208, context: 131072},
	},
	{
		name: "bert", model: "bert", class: "BertModel", with: bertParts, without: bertLacks, huggingFace: bertNames, biased: true, unpaired: true,
		activation: gelu, encoding: bertEncoding, defaults: defaults{tied: true, eps: 1e-12},
	},
	{
		name: "xlm-roberta", model: "xlm-roberta", class: "XLMRobertaModel", gguf: "bert", with: bertParts, without: bertLacks, huggingFace: robertaNames, biased: true,
		unpaired: true, activation: gelu, encoding: roberta, defaults: defaults{tied: true, eps: 1e-5},
	},
	{
		name: "roberta", model: "roberta", class: "RobertaModel", gguf: "bert", with: bertParts, without: bertLacks, huggingFace: robertaNames, biased: true,
		unpaired: true, activation: gelu, encoding: roberta, defaults: defaults{tied: true, eps: 1e-5},
	},
	{
		name: "nomic-bert", model: "nomic_bert", class: "NomicBertModel", with: []Part{TypeEmbedding, EmbeddingNorm, AttentionSumNorm, FeedForwardSumNorm},
		without: []Part{AttentionNorm, FeedForwardNorm, OutputNorm}, unpaired: true,
		huggingFace: map[Part]string{
			Embedding: "model.embeddings.word_embeddings", EmbeddingNorm: "model.emb_ln", AttentionOutput: "attn.out_proj", AttentionSumNorm: "norm1",
			Gate: "mlp.fc12", Up: "mlp.fc11", Down: "mlp.fc2", FeedForwardSumNorm: "norm2",
		},
		fused:    map[Part]fusedPart{Query: nomicQKV, Key: nomicQKV, Value: nomicQKV},
		encoding: encoding{whole: true, centred: true, normBiased: true, layers: "model.encoder.layers."}, defaults: defaults{tied: true, eps: 1e-12, theta: 1000},
	},
	{
		name: "modern-bert", model: "modernbert", class: "ModernBertModel", scaledTypes: []string{wholeLayer, windowLayer}, with: []Part{EmbeddingNorm, ScoreDense, ScoreNorm, ScoreOutput}, unpaired: true,
		activation: gelu, window: exceptFirst,
		huggingFace: map[Part]string{
			Embedding: "model.embeddings.tok_embeddings", EmbeddingNorm: "model.embeddings.norm", AttentionNorm: "attn_norm", AttentionOutput: "attn.Wo",
			FeedForwardNorm: "mlp_norm", Down: "mlp.Wo", OutputNorm: "model.final_norm", ScoreDense: "head.dense", ScoreNorm: "head.norm", ScoreOutput: "classifier",
		},
		fused:    map[Part]fusedPart{Query: nomicQKV, Key: nomicQKV, Value: nomicQKV, Gate: modernMLP, Up: modernMLP},
		encoding: encoding{whole: true, centred: true, localAttention: true, firstWithout: []Part{AttentionNorm}},
		keys:     []string{"layer_types"}, defaults: defaults{tied: true, eps: 1e-5, theta: 160000, localTheta: 10000, every: 3},
	},
}

// The names of BERT's tensors.
var bertNames = map[Part]string{
	Embedding: "model.embeddings.word_embeddings", Query: "attention.self.query", Key: "attention.self.key", Value: "attention.self.value",
	AttentionOutput: "attention.output.dense", Up: "intermediate.dense", Down: "output.dense", ScoreDense: "model.pooler.dense", ScoreOutput: "classifier",
}

// robertaNames are BERT's but for the head that classifies.
var robertaNames = func() map[Part]string {
	names := maps.Clone(bertNames)
	names[ScoreDense], names[ScoreOutput] = "classifier.dense", "classifier.out_proj"
	return names
}()

var (
	bertParts    = []Part{PositionEmbedding, TypeEmbedding, EmbeddingNorm, AttentionSumNorm, FeedForwardSumNorm, ScoreDense, ScoreOutput}
	bertLacks    = []Part{AttentionNorm, FeedForwardNorm, OutputNorm}
	bertEncoding = encoding{whole: true, centred: true, normBiased: true, plain: true, positions: true, layers: "model.encoder.layer."}
	roberta      = encoding{whole: true, centred: true, normBiased: true, plain: true, positions: true, layers: "model.encoder.layer.", padded: true}
	nomicQKV     = fusedPart{"attn.Wqkv", "attn_qkv", []Part{Query, Key, Value}, nil}
	modernMLP    = fusedPart{"mlp.Wi", "ffn_up", []Part{Gate, Up}, nil}
)

// gemma4Keys are the keys that Gemma 4 has and Llama has not.
var gemma4Keys = []string{"sliding_window", "layer_types", "final_logit_softcapping", "use_bidirectional_attention", sharedLayersName, inputWidthName}

// gemma4RoPE is Gemma 4's if nothing is said.
var gemma4RoPE = func() *ropeJSON {
	quarter, theta, local := 0.25, 1000000.0, 10000.0
	return &ropeJSON{Whole: &ropeJSON{Type: proportional, Partial: &quarter, Theta: &theta}, Local: &ropeJSON{Theta: &local}}
}()

// gemma4Parts are the parts that Gemma 4 has and Llama has not.
var gemma4Parts = append([]Part{QueryNorm, KeyNorm, AttentionPostNorm, FeedForwardPostNorm, LayerScale}, perLayerParts...)

// scaledWhole is family.scaledTypes if only layers without a window are scaled.
var scaledWhole = []string{wholeLayer}

var (
	headNorms  = map[Part]size{QueryNorm: headDim, KeyNorm: headDim}
	wholeNorms = map[Part]size{QueryNorm: queries, KeyNorm: keys}
)

// familyOf returns a configuration's family; Llama's if the name is unknown.
func familyOf(name string) *family {
	for i := range families {
		if families[i].name == name {
			return &families[i]
		}
	}
	return &families[0]
}

// familyBy returns the family with a name, and an error that lists all names if there is no such family.
func familyBy(key, name string, of func(f *family) string) (*family, error) {
	var known []string
	for i := range families {
		known = append(known, of(&families[i]))
		if of(&families[i]) == name {
			return &families[i], nil
		}
	}
	slices.Sort(known)
	return nil, unsupported("%s is %.100q; known are %s", key, name, strings.Join(slices.Compact(known), ", "))
}

// hasPart reports whether models of the family have a part.
func (f *family) hasPart(p Part) bool {
	if slices.Contains(optionalParts, p) {
		return slices.Contains(f.with, p)
	}
	return !slices.Contains(f.without, p)
}

// optionalParts are those that Llama has not.
var optionalParts = []Part{
	PositionEmbedding, TypeEmbedding, EmbeddingNorm, QueryNorm, KeyNorm, Sinks, AttentionPostNorm, AttentionSumNorm, FeedForwardPostNorm, FeedForwardSumNorm,
	ScoreDense, ScoreNorm, ScoreOutput, PerLayerEmbedding, PerLayerProjection, PerLayerNorm, PerLayerGate, PerLayerUp, PerLayerPostNorm, LayerScale,
}

// bidirectional returns the family of models that are f's but for attention, which sees later tokens too if the value of
// use_bidirectional_attention is true.
func (f *family) bidirectional(value any) (*family, error) {
	if value == nil || value == false || f.whole || value == "vision" { // which is of tokens that stand for images
		return f, nil
	}
	for i := range families {
		if other := &families[i]; value == true && other.whole && other.model == f.model {
			return other, nil
		}
	}
	return nil, unsupported("use_bidirectional_attention is %.100v, which is not implemented for the architecture %s", value, f.name)
}

// architecture returns GGUF's name.
func (f *family) architecture() string {
	if f.gguf != "" {
		return f.gguf
	}
	return f.name
}

// architecture returns GGUF's name of the model's architecture.
func (c *Config) architecture() string {
	f := familyOf(c.Family)
	switch {
	case c.Mixers == nil && c.Experts.Count > 0:
		return first(f.ggufExperts, f.architecture())
	case c.Mixers == nil:
		return first(f.allGGUF, f.architecture())
	}
	return f.architecture()
}

// Variant has the differences of a model from Llama, besides its parts. The zero value is Llama.
type Variant struct {
	Family     string // the architecture's name; "" stands for "llama"
	Activation string // of the feed-forward layer: "" for SiLU, "gelu_tanh", or "gelu" for that with the error function
	// Window is how many positions a token sees, itself included, in the layers that Windowed marks; 0: all positions. An encoder's sees
	// half as many before itself, and as many after itself.
	Window   int
	Windowed []bool // one for each layer; nil: no layer
	NoRoPE   []bool // layers without RoPE; nil: no such layer
	// Of each layer; nil: all have attention, the family's feed-forward network, and the sizes of Config.
	Mixers       []Mixer
	Recurrent    Recurrent
	FeedForwards []FeedForward
	Sizes        []LayerSizes
	Experts      Experts // of the layers with experts
	Unnormed     bool    // queries and keys have no norms, though the family may have them
	// PerLayerWidth is the width of inputs that each layer has of its own, which come from the tokens alone (Gemma 4's per-layer
	// embeddings); 0: no such inputs.
	PerLayerWidth int
	LocalRoPE     RoPE // of layers with a window; a Theta of 0: theirs is Config.RoPE
	// What embeddings, scores of attention, the results of a layer's two halves and logits are multiplied by; 0: 1, for ScoreScale
	// 1/√HeadDim.
	EmbeddingScale, ScoreScale, ResidualScale, LogitScale float64
	// What scores of attention and logits x are limited to, cap·tanh(x/cap) for a cap; 0: they are not limited.
	ScoreCap, LogitCap float64
}

// validate checks that the sizes fit together, for a number of layers and the length of a head.
func (v *Variant) validate(layers, headDim int) error {
	if v.Window < 0 || v.Window > maxContext {
		return fmt.Errorf("sliding_window is %d, not between 1 and %d", v.Window, maxContext)
	}
	for _, list := range [][]bool{v.Windowed, v.NoRoPE} {
		if list != nil && len(list) != layers {
			return fmt.Errorf("a list of layers has %d entries, the model %d layers", len(list), layers)
		}
	}
	for _, s := range []struct {
		name  string
		value float64
	}{
		{"the multiplier of embeddings", v.EmbeddingScale}, {"the multiplier of attention's scores", v.ScoreScale},
		{"the multiplier of residuals", v.ResidualScale}, {"the multiplier of logits", v.LogitScale},
		{"the limit of attention's scores", v.ScoreCap}, {"the limit of logits", v.LogitCap},
	} {
		if s.value != 0 && !(s.value >= minScale && s.value <= maxScale) {
			return fmt.Errorf("%s is %g, not between %g and %g", s.name, s.value, minScale, maxScale)
		}
	}
	if v.LocalRoPE.Theta == 0 {
		return nil
	}
	return v.LocalRoPE.validate(headDim)
}

// The range of multipliers: they keep activations finite.
const (
	minScale = 1e-6
	maxScale = 1e6
)

// setWindow gives layers a window by the family's rule, unless layers have been listed.
func (c *Config) setWindow(f *family, window int, w windowRule) {
	if f.window == nil || window == 0 {
		return
	}
	c.Window = window
	if c.Windowed != nil {
		return
	}
	c.Windowed = make([]bool, min(max(c.Layers, 0), maxLayers))
	for i := range c.Windowed {
		w.layer = i
		c.Windowed[i] = f.window(&w)
	}
}

// normalize makes what changes nothing zero: a window that no layer has, multipliers that are 1.
func (c *Config) normalize() {
	v := &c.Variant
	const rounding = 1e-6 // some formats have multipliers in 32 bits
	if d := v.ScoreScale*math.Sqrt(float64(c.HeadDim)) - 1; d > -rounding && d < rounding {
		v.ScoreScale = 0
	}
	for _, scale := range []*float64{&v.EmbeddingScale, &v.ResidualScale, &v.LogitScale} {
		if *scale == 1 {
			*scale = 0
		}
	}
	if v.Window == 0 || len(v.Windowed) == c.Layers && !slices.Contains(v.Windowed, true) {
		v.Window, v.Windowed, v.LocalRoPE = 0, nil, RoPE{}
	}
	if len(v.NoRoPE) == c.Layers && !slices.Contains(v.NoRoPE, true) { // Validate refuses other lengths
		v.NoRoPE = nil
	}
}

// everyNth returns a list of layers in which every every-th one is set.
func everyNth(layers, every int) []bool {
	list := make([]bool, min(max(layers, 0), maxLayers))
	for i := range list {
		list[i] = (i+1)%every == 0
	}
	return list
}
