package checkpoint

import (
	"bytes"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/internal/checkpoint/families"
	"github.com/antigravity-go/antigravity/internal/checkpoint/storage"
	"github.com/antigravity-go/antigravity/internal/fixture"
	"github.com/antigravity-go/antigravity/internal/gguf"
	"github.com/antigravity-go/antigravity/internal/model"
)

// fixtures are the models of families that the repository has.
var fixtures = []string{"mistral", "qwen2", "qwen3", "smollm3", "granite", "phi3", "phi3-longrope", "olmo2", "gemma3", "gemma", "olmo3", "qwen3-yarn", "llama-yarn", "gemma3-wrapper", "mistral3-wrapper", "qwen3vl-wrapper", "phi4mini", "ministral3", "granite4-micro",
	"qwen35", "qwen35-wrapper", "lfm2", "granite4h", "qwen35moe", "qwen3moe", "mixtral", "granite-moe", "glm4moe", "gptoss", "gemma4-e", "gemma4-dense", "gemma4-moe", "seed-oss", "glm4", "ernie45", "exaone4", "nemotron-h", "nemotron-h-moe", "nemotron-h-latent", "deepseek-v2-lite", "glm4moelite", "lfm2moe", "starcoder2", "hunyuan-dense", "cohere2", "mtp-deepseek-v3", "apertus", "falcon-h1", "gemma3n", "cohere2-moe", "phi2", "gpt-bigcode", "stablelm", "ernie45-moe", "bitnet", "bitnet-online", "muse-glimmer"}

// TestFamiliesStayInGGUF writes the configurations of folders in GGUF's keys and reads them.
func TestFamiliesStayInGGUF(t *testing.T) {
	for _, name := range fixtures {
		dir := fixture.Path(t, "families/"+name)
		want, err := Folder(func(name string) ([]byte, error) { return os.ReadFile(filepath.Join(dir, name)) }).Config()
		if err != nil {
			t.Fatal(err)
		}
		if want.Activation == "xielu" { // tensors have the curves
			for i := range want.Layers {
				want.Curves = append(want.Curves, model.Curve{AlphaP: float32(i), AlphaN: 0.5, Beta: 0.25, Eps: -1e-6})
			}
		}
		got, _, err := ConfigOf(fileOf(t, want))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if shared, ok := map[string]string{"mistral": "", "mistral3-wrapper": "", "olmo3": "olmo2", "granite4-micro": "granite", "glm4moelite": "deepseek2", "mtp-deepseek-v3": "deepseek2"}[name]; ok {
			want.Family = shared // GGUF has no other name for it
		}
		if want.RoPE.Scaling == "llama3" { // GGUF has the divisors alone
			list, err := GGUFDivisors(want)
			if err != nil || len(list) != 1 {
				t.Fatalf("%s: %v, %v", name, list, err)
			}
			want.RoPE.Divisors, want.RoPE.OriginalContext = list[0].List, 0
		}
		near := func(a, b float64) bool { return a == b || math.Abs(a/b-1) < 1e-6 } // GGUF has numbers of 32 bits
		w, g := &want.Variant, &got.Variant
		if w.Family == "falcon-h1" { // GGUF has the multipliers in matrices, and tensors say whether there are norms
			w.EmbeddingScale, w.LogitScale, w.Recurrent.Unnormed = 0, 0, true
		}
		if w.Family == "muse-glimmer" { // GGUF has the scale of queries in the weights of their norm
			w.ScoreScale = 0
		}
		if g.Family != w.Family || g.Activation != w.Activation || g.Window != w.Window || !slices.Equal(g.Windowed, w.Windowed) ||
			!slices.Equal(g.NoRoPE, w.NoRoPE) || !slices.Equal(g.Curves, w.Curves) || g.LocalRoPE.Theta != w.LocalRoPE.Theta ||
			!near(g.EmbeddingScale, w.EmbeddingScale) || !near(g.ScoreScale, w.ScoreScale) || !near(g.ResidualScale, w.ResidualScale) || !near(g.LogitScale, w.LogitScale) {
			t.Errorf("%s: GGUF gives %+v, want %+v", name, *g, *w)
		}
		w.Recurrent.Tiled, w.Recurrent.FilterBias = w.Family == "qwen35" || w.Family == "qwen35moe", false // in GGUF tensors say whether filters have biases
		if !slices.Equal(g.Mixers, w.Mixers) || g.Recurrent != w.Recurrent || !slices.Equal(g.Sizes, w.Sizes) || !slices.Equal(g.FeedForwards, w.FeedForwards) || got.KVHeads != want.KVHeads {
			t.Errorf("%s: GGUF gives layers %v %+v, want %v %+v", name, g.Mixers, g.Recurrent, w.Mixers, w.Recurrent)
		}
		if !slices.Equal(got.RoPE.Divisors, want.RoPE.Divisors) || !slices.Equal(got.RoPE.Long, want.RoPE.Long) || got.RoPE.OriginalContext != want.RoPE.OriginalContext ||
			!near(got.RoPE.Attention, want.RoPE.Attention) || !near(got.RoPE.QueryScale, want.RoPE.QueryScale) || got.AttentionBias != want.AttentionBias || got.TiedEmbeddings != want.TiedEmbeddings {
			t.Errorf("%s: GGUF gives %+v, want %+v", name, *got, *want)
		}
	}
}

// TestFamilyConfigs reads keys and defaults of families.
func TestFamilyConfigs(t *testing.T) {
	const sizes = `"hidden_size":8,"intermediate_size":16,"num_hidden_layers":8,"num_attention_heads":2,"vocab_size":10,"max_position_embeddings":32`
	for _, c := range []struct {
		name, text string
		check      func(c *model.Config) bool
	}{
		{"mistral without a window", `"model_type":"mistral","sliding_window":null`, func(c *model.Config) bool { return c.Window == 0 && c.Windowed == nil }},
		{"mistral with a window", `"model_type":"mistral","sliding_window":7`, func(c *model.Config) bool {
			return c.Window == 7 && !slices.Contains(c.Windowed, false)
		}},
		{"qwen2", `"model_type":"qwen2","sliding_window":7,"use_sliding_window":false`, func(c *model.Config) bool { return c.Window == 0 && c.AttentionBias }},
		{"qwen2 whose last layers have a window", `"model_type":"qwen2","sliding_window":7,"use_sliding_window":true,"max_window_layers":6`, func(c *model.Config) bool {
			return slices.Equal(c.Windowed, []bool{false, false, false, false, false, false, true, true})
		}},
		{"smollm3", `"model_type":"smollm3"`, func(c *model.Config) bool {
			return slices.Equal(c.NoRoPE, []bool{false, false, false, true, false, false, false, true}) && c.TiedEmbeddings && c.RoPE.Theta == 2000000
		}},
		{"granite", `"model_type":"granite","embedding_multiplier":12,"attention_multiplier":0.25,"logits_scaling":8`, func(c *model.Config) bool {
			return c.EmbeddingScale == 12 && c.ScoreScale == 0.25 && c.LogitScale == 0.125 && c.ResidualScale == 0
		}},
		{"gemma3", `"model_type":"gemma3_text","sliding_window":7,"head_dim":16,"query_pre_attn_scalar":16`, func(c *model.Config) bool {
			return slices.Equal(c.Windowed, []bool{true, true, true, true, true, false, true, true}) && c.LocalRoPE.Theta == 10000 && c.RoPE.Theta == 1000000 &&
				c.ScoreScale == 0 && c.EmbeddingScale == 2.828125 && c.TiedEmbeddings && c.Activation == "gelu_tanh"
		}},
		{"gemma3 with another scale", `"model_type":"gemma3_text","head_dim":16,"query_pre_attn_scalar":64`, func(c *model.Config) bool {
			return c.ScoreScale == 0.125 && c.Window == 0 && c.Windowed == nil
		}},
		{"yarn, attention by mscale", `"model_type":"llama","head_dim":4,"rope_scaling":{"rope_type":"yarn","factor":16,"original_max_position_embeddings":8,"mscale":1,"mscale_all_dim":1,"truncate":false}`, func(c *model.Config) bool {
			return c.RoPE.Scaling == model.YaRN && c.RoPE.Attention == 1 && c.RoPE.Unrounded && c.RoPE.BetaFast == 32 && c.RoPE.BetaSlow == 1 && c.RoPE.OriginalContext == 8
		}},
		{"yarn, attention said", `"model_type":"qwen2","head_dim":4,"rope_scaling":{"type":"yarn","factor":4,"attention_factor":1.5}`, func(c *model.Config) bool {
			return c.RoPE.Attention == 1.5 && !c.RoPE.Unrounded && c.RoPE.OriginalContext == 32
		}},
		{"olmo3 as transformers 4 writes it", `"model_type":"olmo3","sliding_window":7,"rope_theta":5000,"rope_scaling":{"rope_type":"yarn","factor":8,"original_max_position_embeddings":8}`, func(c *model.Config) bool {
			return slices.Equal(c.Windowed, []bool{true, true, true, false, true, true, true, false}) && c.RoPE.Scaling == model.YaRN && c.LocalRoPE.Theta == 5000 && c.LocalRoPE.Scaling == ""
		}},
		{"ministral3 without a word of RoPE", `"model_type":"ministral3","head_dim":16`, func(c *model.Config) bool {
			r := &c.RoPE
			return r.Scaling == model.YaRN && r.Factor == 16 && r.OriginalContext == 16384 && r.Attention == 1 && r.Theta == 1000000 && r.QueryScale == float64(float32(0.1)) && c.Window == 0
		}},
		{"ministral3 within a wrapper", `"model_type":"mistral3","vision_config":{},"tie_word_embeddings":true,"text_config":{"model_type":"ministral3","hidden_size":512,"intermediate_size":16,"num_hidden_layers":2,"head_dim":16,
			"rope_parameters":{"type":"yarn","rope_type":"yarn","factor":16,"mscale":1,"mscale_all_dim":1,"llama_4_scaling_beta":0.5,"original_max_position_embeddings":8,"max_position_embeddings":128,"rope_theta":99}}`, func(c *model.Config) bool {
			return c.Family == "ministral3" && c.RoPE.QueryScale == 0.5 && c.RoPE.Theta == 99 && c.RoPE.Attention == 1 && c.TiedEmbeddings && c.Heads == 32 && c.VocabSize == 131072
		}},
		{"ministral3 that scales queries and nothing else", `"model_type":"ministral3","head_dim":16,"rope_parameters":{"rope_type":"default","llama_4_scaling_beta":0.5,"original_max_position_embeddings":8}`, func(c *model.Config) bool {
			r := &c.RoPE
			return r.Scaling == "" && r.QueryFactor(7) == 1 && r.QueryFactor(8) == float32(1+0.5*math.Log(2)) && r.QueryFactor(31) == float32(1+0.5*math.Log(4))
		}},
		{"gemma3 with parameters by type of layer", `"model_type":"gemma3_text","head_dim":16,"sliding_window":7,"rope_parameters":{
			"full_attention":{"rope_type":"yarn","factor":4,"rope_theta":5000,"original_max_position_embeddings":8,"beta_fast":16,"attention_factor":1.25,"truncate":false},
			"sliding_attention":{"rope_type":"linear","factor":8.0,"partial_rotary_factor":0.5}}`, func(c *model.Config) bool {
			r, local := c.Layer(5).RoPE, c.Layer(0).RoPE
			return r.Theta == 5000 && r.Scaling == model.YaRN && r.Factor == 4 && r.BetaFast == 16 && r.Attention == 1.25 && r.Unrounded && r.Rotated == 0 &&
				local.Theta == 10000 && local.Scaling == "linear" && local.Factor == 8 && local.Rotated == 8
		}},
		{"one base, other factors by type of layer", `"model_type":"qwen3","head_dim":16,"rope_theta":77,"sliding_window":7,"use_sliding_window":true,"max_window_layers":4,"rope_parameters":{
			"full_attention":{"rope_type":"linear","factor":2},"sliding_attention":{"rope_type":"llama3","factor":8,"low_freq_factor":1,"high_freq_factor":4,"original_max_position_embeddings":8}}`, func(c *model.Config) bool {
			r, local := c.Layer(0).RoPE, c.Layer(7).RoPE
			return r.Theta == 77 && r.Factor == 2 && local.Theta == 77 && local.Scaling == "llama3" && local.Factor == 8
		}},
		{"yarn of layers with a window alone", `"model_type":"olmo3","sliding_window":7,"rope_parameters":{
			"sliding_attention":{"rope_type":"yarn","factor":2,"rope_theta":99},"full_attention":{"rope_type":"default","rope_theta":100}}`, func(c *model.Config) bool {
			r, local := c.Layer(3).RoPE, c.Layer(0).RoPE
			return r.Theta == 100 && r.Scaling == "" && local.Theta == 99 && local.Scaling == model.YaRN && local.OriginalContext == 32
		}},
		{"a part of heads with norms", `"model_type":"qwen3","head_dim":16,"rope_parameters":{"rope_type":"default","partial_rotary_factor":0.25}`, func(c *model.Config) bool {
			for _, t := range Tensors(c) {
				if moved := t.Part == model.Query || t.Part == model.Key || t.Part == model.QueryNorm || t.Part == model.KeyNorm; moved != (t.GGUF.Rows == storage.Order(storage.Partial{HeadDim: 16, Rotated: 4})) {
					return false
				}
			}
			return c.RoPE.Rotated == 4
		}},
		{"Nemotron by letters", `"model_type":"nemotron_h","hybrid_override_pattern":"M*-EM*-E","head_dim":4,"mamba_num_heads":2,"n_groups":1,"n_routed_experts":4,"moe_latent_size":4`, func(c *model.Config) bool {
			last := c.Layer(7)
			return c.Experts.Ungated && c.Experts.Latent == 4 && c.Experts.SharedWidth == 7688 && c.Recurrent == model.Recurrent{Taps: 4, KeyHeads: 1, Heads: 2, ValueDim: 64, KeyDim: 128, FilterBias: true} &&
				c.Layer(0).Mixer == model.SelectiveScan && c.Layer(1).RoPE == nil && c.Layer(2).FeedForward == model.Ungated && last.Mixer == model.NoMixer && last.FeedForward == model.Routed && c.Activation == "relu2"
		}},
		{"Nemotron without experts", `"model_type":"nemotron_h","hybrid_override_pattern":"M*-MM*--","n_routed_experts":4,"attention_head_dim":6,"n_groups":1,"mamba_num_heads":2`, func(c *model.Config) bool {
			return c.Experts == model.Experts{} && c.HeadDim == 6 && slices.Equal(c.Mixers[2:4], []model.Mixer{model.NoMixer, model.SelectiveScan})
		}},
		{"DeepSeek V3 in small", `"model_type":"deepseek_v3","kv_lora_rank":8,"q_lora_rank":6,"qk_nope_head_dim":4,"qk_rope_head_dim":2,"v_head_dim":6,"n_group":8,"topk_group":4,"rope_scaling":{"type":"yarn","factor":40,"mscale":1,"mscale_all_dim":1,"original_max_position_embeddings":8}`, func(c *model.Config) bool {
			l, m := c.Layer(7), 1+0.1*math.Log(40)
			return c.Latent == model.Latent{Rank: 8, QueryRank: 6, KeyDim: 4, RotatedDim: 2, ValueDim: 6} && c.HeadDim == 10 && c.KVHeads == 1 && l.Mixer == model.LatentAttention && l.FeedForward == model.Routed &&
				c.Layer(2).FeedForward == model.Gated && c.Experts.Corrected && c.Experts.Groups == 8 && c.Experts.ChosenGroups == 4 && c.RoPE.Attention == 1 && c.RoPE.Rotated == 2 && math.Abs(c.ScoreScale-m*m/math.Sqrt(6)) < 1e-12
		}},
		{"GLM 4.7 Flash by a list", `"model_type":"glm4_moe_lite","kv_lora_rank":8,"q_lora_rank":null,"qk_nope_head_dim":4,"qk_rope_head_dim":2,"v_head_dim":6,"mlp_layer_types":["dense","dense","sparse","sparse","sparse","sparse","sparse","sparse"]`, func(c *model.Config) bool {
			return c.Latent.QueryRank == 0 && c.Layer(1).FeedForward == model.Gated && c.Layer(2).FeedForward == model.Routed && c.Experts.SharedWidth == 1536
		}},
		{"LFM 2 with experts", `"model_type":"lfm2_moe","layer_types":["conv","conv","full_attention","conv","conv","conv","full_attention","conv"],"use_expert_bias":false`, func(c *model.Config) bool {
			return c.IntermediateSize == 16 && c.Layer(1).FeedForward == model.Gated && c.Layer(2).FeedForward == model.Routed && !c.Experts.Corrected && c.Experts.Width == 1792
		}},
		{"StarCoder 2 without biases", `"model_type":"starcoder2","use_bias":false`, func(c *model.Config) bool {
			return c.LayerNorm && c.NormBias && !c.AttentionBias && !c.MLPBias && c.TiedEmbeddings && c.Layer(0).FeedForward == model.Ungated && c.RMSNormEps == 1e-5
		}},
		{"Hunyuan with an alpha", `"model_type":"hunyuan_v1_dense","head_dim":8,"use_qk_norm":true,"rope_scaling":{"type":"dynamic","alpha":1000.0,"factor":1.0,"mscale":1.0,"mscale_all_dim":1.0,"beta_fast":32,"beta_slow":1}`, func(c *model.Config) bool {
			return c.RoPE.Theta == float64(float32(1e4*math.Pow(1000, 8.0/6))) && c.RoPE.Scaling == "" && c.LateNorms && !c.Unnormed
		}},
		{"Cohere 2 that says little", `"model_type":"cohere2"`, func(c *model.Config) bool {
			return c.LayerNorm && !c.NormBias && c.Parallel && c.LogitScale == 0.0625 && c.Window == 4096 && c.Layer(3).RoPE == nil && c.Layer(0).RoPE != nil && c.Layer(3).Window == 0 && c.TiedEmbeddings
		}},
		{"Cohere 2 without a window", `"model_type":"cohere2","sliding_window":null,"logit_scale":0.5`, func(c *model.Config) bool {
			return c.LogitScale == 0.5 && c.Window == 0 && c.Layer(0).RoPE == nil
		}},
		{"GLM 4 that says little", `"model_type":"glm4","head_dim":16`, func(c *model.Config) bool {
			return c.AttentionBias && c.BareOutput && c.RoPE.Rotated == 8 && !c.TiedEmbeddings
		}},
		{"GLM 4 without biases", `"model_type":"glm4","head_dim":16,"attention_bias":false`, func(c *model.Config) bool {
			for _, t := range Tensors(c) {
				order := storage.Order(storage.Partial{HeadDim: 16, Rotated: 8, Neighbours: true})
				if moved := t.Part == model.Query || t.Part == model.Key; t.Bias || moved != (t.GGUF.Rows == order) || moved != (t.HuggingFace.Rows == order) {
					return false
				}
			}
			return !c.AttentionBias
		}},
		{"Seed-OSS that says little", `"model_type":"seed_oss","head_dim":16`, func(c *model.Config) bool { return c.AttentionBias && !c.MLPBias && c.BareOutput }},
		{"ERNIE with biases", `"model_type":"ernie4_5","head_dim":16,"use_bias":true`, func(c *model.Config) bool {
			return c.AttentionBias && c.MLPBias && !c.BareOutput && c.RoPE.Theta == 500000 && c.TiedEmbeddings
		}},
		{"EXAONE 4 that says little", `"model_type":"exaone4"`, func(c *model.Config) bool {
			return c.Window == 4096 && slices.Equal(c.Windowed, []bool{true, true, true, false, true, true, true, false}) && c.Layer(3).RoPE == nil && c.Layer(0).RoPE != nil
		}},
		{"EXAONE 4 without a window", `"model_type":"exaone4","sliding_window":null,"sliding_window_pattern":null`, func(c *model.Config) bool {
			return c.Window == 0 && c.Windowed == nil && c.NoRoPE == nil
		}},
		{"EXAONE 4 by letters", `"model_type":"exaone4","sliding_window":7,"sliding_window_pattern":"LG"`, func(c *model.Config) bool {
			return slices.Equal(c.Windowed, []bool{true, false, true, false, true, false, true, false}) && slices.Equal(c.NoRoPE, []bool{false, true, false, true, false, true, false, true})
		}},
		{"EXAONE 4 by types and letters", `"model_type":"exaone4","sliding_window":7,"sliding_window_pattern":"LLG","layer_types":["full_attention","full_attention","full_attention","full_attention",
			"full_attention","full_attention","full_attention","sliding_attention"]`, func(c *model.Config) bool {
			return slices.Equal(c.Windowed, []bool{false, false, false, false, false, false, false, true})
		}},
		{"the first Gemma", `"model_type":"gemma","hidden_act":"gelu","head_dim":4`, func(c *model.Config) bool {
			return c.Activation == "gelu_tanh" && c.TiedEmbeddings && c.EmbeddingScale == 2.828125
		}},
		{"Qwen 3.5 that says little", `"model_type":"qwen3_5_text","head_dim":16,"linear_key_head_dim":4,"linear_value_head_dim":4`, func(c *model.Config) bool {
			return c.RoPE.Rotated == 4 && c.Recurrent == model.Recurrent{Taps: 4, KeyHeads: 16, Heads: 32, KeyDim: 4, ValueDim: 4} &&
				slices.Equal(c.Mixers, slices.Repeat([]model.Mixer{model.DeltaRule, model.DeltaRule, model.DeltaRule, model.GatedAttention}, 2))
		}},
		{"LFM2 as its first files say it", `"model_type":"lfm2","block_ff_dim":1000,"block_multiple_of":64,"full_attn_idxs":[2],"tie_embedding":true,"theta":5000,"norm_eps":0.25`, func(c *model.Config) bool {
			return c.IntermediateSize == 704 && c.RoPE.Theta == 5000 && c.RMSNormEps == 0.25 && c.TiedEmbeddings && c.Recurrent == model.Recurrent{Taps: 3} &&
				c.Mixers[2] == model.Attention && c.Mixers[1] == model.ShortConvolution && len(c.Mixers) == 8
		}},
		{"Granite 4 with Mamba", `"model_type":"granitemoehybrid","num_local_experts":0,"layer_types":["mamba","mamba","attention","mamba","mamba","mamba","mamba","mamba"],"mamba_n_heads":4,
			"mamba_d_head":"auto","mamba_d_state":16,"time_step_limit":[0.0,Infinity]`, func(c *model.Config) bool {
			return c.Recurrent == model.Recurrent{Taps: 4, KeyHeads: 1, Heads: 4, KeyDim: 16, ValueDim: 4, FilterBias: true} && c.Mixers[2] == model.Attention && c.Mixers[7] == model.SelectiveScan
		}},
		{"Phi 4 mini", `"model_type":"phi3","head_dim":16,"partial_rotary_factor":0.75`, func(c *model.Config) bool { return c.RoPE.Rotated == 12 }},
		{"a wrapper that leaves out what is usual", `"model_type":"gemma3","eos_token_id":[1,6],"text_config":{"model_type":"gemma3_text","hidden_size":512,"intermediate_size":16,"num_hidden_layers":7}`, func(c *model.Config) bool {
			return c.Heads == 8 && c.KVHeads == 4 && c.HeadDim == 256 && c.VocabSize == 262208 && c.ContextLength == 131072 && slices.Equal(c.EOS, []int32{1, 6})
		}},
		{"keys of text among those of a wrapper", `"model_type":"qwen2_5_vl","vision_config":{},"rope_scaling":{"type":"mrope","mrope_section":[1,1,0]}`, func(c *model.Config) bool {
			return c.Family == "qwen2" && c.AttentionBias && c.RoPE.Scaling == ""
		}},
		{"longrope by its old name", `"model_type":"phi3","head_dim":4,"original_max_position_embeddings":16,"rope_scaling":{"type":"su","short_factor":[1,2],"long_factor":[3,4]}`, func(c *model.Config) bool {
			return c.RoPE.Scaling == model.LongRoPE && slices.Equal(c.RoPE.Long, []float32{3, 4}) && math.Abs(c.RoPE.Attention-math.Sqrt(1.25)) < 1e-12
		}},
	} {
		got, err := configOf([]byte(`{`+c.text+`,`+sizes+`}`), nil)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		} else if !c.check(got) {
			t.Errorf("%s: %+v", c.name, *got)
		}
	}
}

// TestWhatFamiliesCannotHaveIsRefused gives configurations keys that would change results.
func TestWhatFamiliesCannotHaveIsRefused(t *testing.T) {
	const sizes = `"hidden_size":8,"intermediate_size":16,"num_hidden_layers":2,"num_attention_heads":2,"vocab_size":10,"max_position_embeddings":32`
	for _, text := range []string{
		`"model_type":"llama","partial_rotary_factor":0.75`,
		`"model_type":"llama","rope_parameters":{"rope_type":"default","partial_rotary_factor":0.75}`,
		`"model_type":"llama","rope_parameters":{"rope_type":"default","llama_4_scaling_beta":0.1}`,
		`"model_type":"llama","rope_parameters":{"rope_type":"linear","factor":2,"high_base":7}`,
		`"model_type":"gemma3_text","head_dim":16,"rope_parameters":{"full_attention":{"rope_type":"default","original_max_position":7},"sliding_attention":{"rope_type":"default"}}`,
		`"model_type":"gemma3_text","head_dim":16,"rope_parameters":{"full_attention":{"rope_type":"default"},"sliding_attention":{"rope_type":"default"},"factor":2}`,
		`"model_type":"gemma3_text","head_dim":16,"sliding_window":7,"rope_parameters":{"full_attention":{"rope_type":"default"},"chunked_attention":{"rope_type":"default"}}`,
		`"model_type":"gemma3_text","head_dim":16,"sliding_window":7,"rope_parameters":{"full_attention":{"rope_type":"default"},"sliding_attention":{"rope_type":"dynamic","factor":2}}`,
		`"model_type":"gemma3_text","head_dim":16,"sliding_window":7,"rope_parameters":{"full_attention":{"rope_type":"default"},"sliding_attention":{"rope_type":"default","llama_4_scaling_beta":1}}`,
		`"model_type":"qwen3","rope_parameters":{"full_attention":{"full_attention":{"rope_type":"default"}}}`,
		`"model_type":"qwen3","num_experts":128`,
		`"model_type":"llama","embedding_multiplier":2`,
		`"model_type":"llama","no_rope_layers":[1,0]`,
		`"model_type":"gemma3_text","attn_logit_softcapping":50.0`,
		`"model_type":"gemma3_text","final_logit_softcapping":30.0`,
		`"model_type":"gemma3_text","use_bidirectional_attention":"all"`,
		`"model_type":"llama","use_bidirectional_attention":true`,
		`"model_type":"gemma3_text","hidden_activation":"silu"`,
		`"model_type":"qwen2","hidden_act":"gelu"`,
		`"model_type":"qwen2","rope_scaling":{"type":"dynamic","factor":4.0}`,
		`"model_type":"qwen2","rope_scaling":{"type":"dynamic","alpha":4.0}`,
		`"model_type":"hunyuan_v1_dense","rope_scaling":{"type":"dynamic","alpha":4.0,"factor":2}`,
		`"model_type":"hunyuan_v1_dense","rope_scaling":{"type":"linear","alpha":4.0,"factor":2}`,
		`"model_type":"hunyuan_v1_dense","use_cla":true`,
		`"model_type":"cohere2","use_qk_norm":true`,
		`"model_type":"qwen2","layer_types":["full_attention","chunked_attention"]`,
		`"model_type":"olmo2","clip_qkv":8.0`,
		`"model_type":"llama","quantization_config":{"bits":4}`,
		`"model_type":"deepseek_v2","n_group":8,"topk_group":4`,
		`"model_type":"deepseek_v2","n_group":8,"topk_group":4,"topk_method":"greedy"`,
		`"model_type":"deepseek_v2","norm_topk_prob":true`,
		`"model_type":"deepseek_v2","scoring_func":"sigmoid"`,
		`"model_type":"deepseek_v2","topk_method":"none"`,
		`"model_type":"deepseek_v2","attention_bias":true`,
		`"model_type":"deepseek_v3","rope_interleave":false`,
		`"model_type":"glm4_moe_lite","moe_layer_freq":2`,
		`"model_type":"deepseek_v3","rope_scaling":{"type":"yarn","factor":40,"mscale":1,"mscale_all_dim":0.5,"original_max_position_embeddings":8}`,
		`"model_type":"glm4_moe_lite","mlp_layer_types":["dense","odd"]`,
		`"model_type":"glm4_moe","head_dim":16,"n_group":2`,
		`"model_type":"glm4_moe","head_dim":16,"n_group":4,"topk_group":2`,
		`"model_type":"qwen3_moe","quantization_config":{"quant_method":"fp8"}`,
		`"model_type":"gpt_oss","quantization_config":{"quant_method":"fp8"}`,
		`"model_type":"qwen3","n_routed_experts":8`,
		`"model_type":"qwen3","use_qk_norm":true`,
		`"model_type":"seed_oss","head_dim":16,"attention_out_bias":true`,
		`"model_type":"exaone4","sliding_window_pattern":"LLG"`,
		`"model_type":"nemotron_h","head_dim":4,"hybrid_override_pattern":"*X"`,
		`"model_type":"nemotron_h","head_dim":4,"hybrid_override_pattern":"--"`,
		`"model_type":"nemotron_h","hybrid_override_pattern":"*E","n_shared_experts":2`,
		`"model_type":"nemotron_h","hybrid_override_pattern":"*-","mlp_hidden_act":"silu"`,
		`"model_type":"nemotron_h","hybrid_override_pattern":"M*","time_step_limit":[0.0,0.5]`,
	} {
		if c, err := configOf([]byte(`{`+text+`,`+sizes+`}`), nil); !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("%s: %+v, %v; want an error that wraps ErrUnsupported", text, c, err)
		}
	}
	for _, text := range []string{
		`"model_type":"mistral","sliding_window":-1`,
		`"model_type":"smollm3","no_rope_layers":[1]`,
		`"model_type":"exaone4","sliding_window_pattern":"LLLX"`,
		`"model_type":"exaone4","sliding_window_pattern":""`,
		`"model_type":"glm4_moe_lite","n_group":7,"kv_lora_rank":8,"qk_rope_head_dim":2,"qk_nope_head_dim":2,"v_head_dim":2`,
		`"model_type":"glm4_moe_lite","n_group":8,"topk_group":9,"kv_lora_rank":8,"qk_rope_head_dim":2,"qk_nope_head_dim":2,"v_head_dim":2`,
		`"model_type":"nemotron_h","hybrid_override_pattern":"M*-"`,
		`"model_type":"nemotron_h"`,
		`"model_type":"qwen3","sliding_window":4,"use_sliding_window":true,"sliding_window_pattern":"LG"`,
		`"model_type":"qwen3","sliding_window":4,"use_sliding_window":true,"layer_types":["sliding_attention"]`,
		`"model_type":"granite","residual_multiplier":1e300`,
		`"model_type":"granite","logits_scaling":0`,
		`"model_type":"ministral3","rope_parameters":{"rope_type":"default","llama_4_scaling_beta":-1,"original_max_position_embeddings":8}`,
		`"model_type":"ministral3","rope_parameters":{"rope_type":"default","llama_4_scaling_beta":0.1}`,
		`"model_type":"phi3","head_dim":16,"rope_parameters":{"rope_type":"default","partial_rotary_factor":0.01}`,
		`"model_type":"phi3","rope_scaling":{"type":"longrope","short_factor":[1],"long_factor":[1]}`,
	} {
		if c, err := configOf([]byte(`{`+text+`,`+sizes+`}`), nil); err == nil || errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("%s: %+v, %v; want an error of what is malformed", text, c, err)
		}
	}
	_, err := configOf([]byte(`{"model_type":"deepseek_v0"}`), nil)
	for _, f := range families.All() {
		if !strings.Contains(err.Error(), f.Type) {
			t.Errorf("%v does not name %s", err, f.Type)
		}
	}
	c := biased()
	for key, value := range map[string]gguf.Value{
		"llama.final_logit_softcapping": gguf.ValueOf(float32(30)), "llama.attn_logit_softcapping": gguf.ValueOf(float32(50)), "llama.rope.scaling.type": gguf.ValueOf("dynamic"),
		"llama.attention.temperature_scale": gguf.ValueOf(float32(0.1)),
	} {
		c.RoPE = model.RoPE{Theta: 10000}
		if got, _, err := ConfigOf(fileOf(t, c, gguf.KeyValue{Key: key, Value: value})); !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("%s: %+v, %v; want an error that wraps ErrUnsupported", key, got, err)
		}
	}
}

// TestGGUFOfMistral3 reads both kinds of models that GGUF calls mistral3: Mistral Small without scaled queries, and Ministral 3.
func TestGGUFOfMistral3(t *testing.T) {
	c := biased()
	c.RoPE, c.Family, c.AttentionBias, c.MLPBias = model.RoPE{Theta: 10000}, "ministral3", false, false
	if got, _, err := ConfigOf(fileOf(t, c)); err != nil || got.RoPE.QueryScale != 0 || got.RoPE.Scaling != "" {
		t.Errorf("%+v, %v", got, err)
	}
	length := gguf.KeyValue{Key: "mistral3.attention.temperature_length", Value: gguf.ValueOf(uint32(7))}
	scale := gguf.KeyValue{Key: "mistral3.attention.temperature_scale", Value: gguf.ValueOf(float32(0.5))}
	if got, _, err := ConfigOf(fileOf(t, c, scale)); err != nil || got.RoPE.QueryScale != 0.5 || got.RoPE.OriginalContext != c.ContextLength {
		t.Errorf("without a length: %+v, %v", got, err)
	}
	if got, _, err := ConfigOf(fileOf(t, c, scale, length)); err != nil || got.RoPE.OriginalContext != 7 {
		t.Errorf("with a length: %+v, %v", got, err)
	}
	original := gguf.KeyValue{Key: "mistral3.rope.scaling.original_context_length", Value: gguf.ValueOf(uint32(8))}
	if _, _, err := ConfigOf(fileOf(t, c, scale, length, original)); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("two lengths: %v", err)
	}
}

// TestGGUFOfGraniteHybrid reads files of an architecture that may have Mamba's layers, and lists of sizes.
func TestGGUFOfGraniteHybrid(t *testing.T) {
	c := biased()
	c.RoPE, c.Family, c.AttentionBias, c.MLPBias = model.RoPE{Theta: 10000}, "granite", false, false
	hybrid := func(key string, v gguf.Value) gguf.KeyValue { return gguf.KeyValue{Key: "granite." + key, Value: v} }
	for _, k := range []struct {
		what     string
		key      gguf.KeyValue
		unrotate bool
		refused  bool
	}{
		{"no RoPE", hybrid("rope.scaling.finetuned", gguf.ValueOf(false)), true, false},
		{"RoPE", hybrid("rope.scaling.finetuned", gguf.ValueOf(true)), false, false},
		{"experts", hybrid("expert_count", gguf.ValueOf(uint32(8))), false, true},
	} {
		got, _, err := ConfigOf(fileOf(t, c, k.key))
		if k.refused {
			if !errors.Is(err, errors.ErrUnsupported) {
				t.Errorf("%s: %v", k.what, err)
			}
			continue
		}
		if err != nil || (got.NoRoPE != nil) != k.unrotate {
			t.Errorf("%s: %+v, %v", k.what, got, err)
		}
	}
}

// hybridFile is a GGUF file of the architecture granitehybrid that has a tensor, and sizes as lists, one for each layer.
func hybridFile(t *testing.T, c *model.Config, kvHeads []int32, name string) *gguf.File {
	t.Helper()
	var metadata []gguf.KeyValue
	for _, kv := range Metadata(c, "test") {
		if rest, ok := strings.CutPrefix(kv.Key, "granite."); ok {
			kv.Key = "granitehybrid." + rest
		}
		switch kv.Key {
		case ArchitectureKey:
			kv.Value = gguf.ValueOf("granitehybrid")
		case "granitehybrid.attention.head_count_kv":
			kv.Value = gguf.ArrayOf(kvHeads)
		}
		metadata = append(metadata, kv)
	}
	rows := c.VocabSize
	infos := []gguf.TensorInfo{{Name: GGUF(model.Embedding, 0, false), Type: gguf.F32, Shape: []int{rows, 1}}, {Name: name, Type: gguf.F32, Shape: []int{1}}}
	var file bytes.Buffer
	w, err := gguf.NewWriter(&file, metadata, infos)
	if err == nil {
		err = errors.Join(w.WriteTensor(infos[0].Name, make([]byte, 4*rows)), w.WriteTensor(name, make([]byte, 4)), w.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	f, err := gguf.Parse(file.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestGGUFOfLayersWithMamba reads lists of numbers of key and value heads, which are 0 in layers without attention.
func TestGGUFOfLayersWithMamba(t *testing.T) {
	c := biased()
	c.RoPE, c.Family, c.AttentionBias, c.MLPBias = model.RoPE{Theta: 10000}, "granite", false, false
	same := slices.Repeat([]int32{int32(c.KVHeads)}, c.Layers)
	if got, _, err := ConfigOf(hybridFile(t, c, same, "blk.0.attn_q.weight")); err != nil || got.KVHeads != c.KVHeads || got.Family != "granite" || got.Mixers != nil {
		t.Errorf("%+v, %v", got, err)
	}
	other := append(slices.Clone(same[1:]), 0)
	if _, _, err := ConfigOf(hybridFile(t, c, other, "blk.0.attn_q.weight")); err == nil || !strings.Contains(err.Error(), "group_count is 0") {
		t.Errorf("layers with Mamba, and no word of their sizes: %v", err)
	}
	if _, _, err := ConfigOf(hybridFile(t, c, make([]int32, 2*model.MaxLayers), "blk.0.attn_q.weight")); err == nil {
		t.Error("too many layers")
	}
	mamba := *c
	mamba.Family, mamba.Mixers = "granitehybrid", []model.Mixer{model.Attention, model.SelectiveScan}
	mamba.Recurrent = model.Recurrent{Taps: 4, KeyHeads: 1, Heads: 4, KeyDim: 16, ValueDim: 32}
	got, _, err := ConfigOf(fileOf(t, &mamba))
	if err != nil || !slices.Equal(got.Mixers, mamba.Mixers) || got.Recurrent != mamba.Recurrent || got.Sizes != nil {
		t.Errorf("%+v, %v", got, err)
	}
	mamba.Mixers = []model.Mixer{model.SelectiveScan, model.SelectiveScan}
	if err := mamba.Validate(); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("no layer with attention: %v", err)
	}
}

// TestLayersThatPredictAhead reads past the layers of a file that predict several tokens at once.
func TestLayersThatPredictAhead(t *testing.T) {
	c := biased()
	c.RoPE, c.Family, c.AttentionBias, c.MLPBias, c.Layers = model.RoPE{Theta: 10000, Rotated: 4}, "qwen35", false, false, 5
	c.Mixers = []model.Mixer{model.DeltaRule, model.DeltaRule, model.DeltaRule, model.GatedAttention, model.DeltaRule}
	c.Recurrent = model.Recurrent{Taps: 4, KeyHeads: 2, Heads: 4, KeyDim: 16, ValueDim: 16, Tiled: true}
	got, _, err := ConfigOf(fileOf(t, c, gguf.KeyValue{Key: "qwen35.nextn_predict_layers", Value: gguf.ValueOf(uint32(1))}))
	if err != nil || got.Layers != 4 || !slices.Equal(got.Mixers, c.Mixers[:4]) {
		t.Errorf("%+v, %v", got, err)
	}
	c.Mixers[0] = model.GatedAttention // no rule by a number
	if got, _, err = ConfigOf(fileOf(t, c)); err != nil || !slices.Equal(got.Mixers, c.Mixers) {
		t.Errorf("%+v, %v", got, err)
	}
}
