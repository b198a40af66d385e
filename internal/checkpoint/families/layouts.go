package families

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/antigravity-go/antigravity/internal/checkpoint/storage"
	"github.com/antigravity-go/antigravity/internal/model"
)

// The layouts of tensors. names has for each part its names in both formats, and the family says what it has otherwise. For example, a Llama with
// HiddenSize 2048, 32 heads of 64 elements and 8 key heads has in layer 0
//
//	part    Hugging Face                              GGUF                  shape         role     rows in GGUF
//	Query   model.layers.0.self_attn.q_proj.weight    blk.0.attn_q.weight   [2048 2048]   Linear   storage.Paired{64}
//	Key     model.layers.0.self_attn.k_proj.weight    blk.0.attn_k.weight   [512 2048]    Linear   storage.Paired{64}
//	Value   model.layers.0.self_attn.v_proj.weight    blk.0.attn_v.weight   [512 2048]    Linear   as they are wanted
//
// An expert's matrices may be one tensor for each expert, one for all, or one in which gate and up lie together. ExpertUp of layer 0 of a qwen3_moe is one of
//
//	model.layers.0.mlp.experts.#.up_proj.weight     768 rows, # is the expert
//	model.layers.0.mlp.experts.gate_up_proj         of 1536 rows of each expert those from 768 on
//	blk.0.ffn_up_exps.weight                        768 rows of each expert
//	blk.0.ffn_up.#.weight                           768 rows, # is the expert
//	blk.0.ffn_gate_up_exps.weight                   of 1536 rows of each expert those from 768 on

// Names of tensors that several families have.
const (
	afterAttention   = "post_attention_layernorm"
	afterFeedForward = "post_feedforward_layernorm"
	ModelPrefix      = "model." // begins the names of all tensors of a folder but the output head's
	LayersPart       = "layers."
	LayerInputs      = "per_layer_model_projection" // makes the layers' own inputs
)

// names has the names of all that a checkpoint holds, without the layer and what follows.
var names = [...]struct{ huggingFace, gguf string }{
	model.Embedding:           {"model.embed_tokens", "token_embd"},
	model.PositionEmbedding:   {"model.embeddings.position_embeddings", "position_embd"},
	model.TypeEmbedding:       {"model.embeddings.token_type_embeddings", "token_types"},
	model.EmbeddingNorm:       {"model.embeddings.LayerNorm", "token_embd_norm"},
	model.RelativeEmbedding:   {"model.encoder.rel_embeddings", "rel_embd"},
	model.RelativeNorm:        {"model.encoder.LayerNorm", "rel_embd_norm"},
	model.RelativeBias:        {"model.encoder.relative_attention_bias", "rel_bias"},
	model.PerLayerEmbedding:   {"model.embed_tokens_per_layer", "per_layer_token_embd"},
	model.PerLayerProjection:  {ModelPrefix + LayerInputs, "per_layer_model_proj"},
	model.PerLayerNorm:        {"model.per_layer_projection_norm", "per_layer_proj_norm"},
	model.AheadTokenNorm:      {"model.layers.0.enorm", "blk.0.nextn.enorm"}, // see ahead.go
	model.AheadStateNorm:      {"model.layers.0.hnorm", "blk.0.nextn.hnorm"},
	model.AheadProjection:     {"model.layers.0.eh_proj", "blk.0.nextn.eh_proj"},
	model.AttentionNorm:       {"input_layernorm", "attn_norm"},
	model.Query:               {"self_attn.q_proj", "attn_q"},
	model.Key:                 {"self_attn.k_proj", "attn_k"},
	model.Value:               {"self_attn.v_proj", "attn_v"},
	model.QueryGate:           {"self_attn.q_gate", "attn_q_gate"},
	model.RecurrentQuery:      {"linear_attn.in_proj_q", "ssm_q"},
	model.RecurrentKey:        {"linear_attn.in_proj_k", "ssm_k"},
	model.RecurrentValue:      {"linear_attn.in_proj_v", "ssm_v"},
	model.RecurrentGate:       {"linear_attn.in_proj_z", "attn_gate"},
	model.RecurrentBeta:       {"linear_attn.in_proj_b", "ssm_beta"},
	model.RecurrentStep:       {"linear_attn.in_proj_a", "ssm_alpha"},
	model.QueryFilter:         {"linear_attn.conv1d_q", "ssm_conv1d_q"},
	model.KeyFilter:           {"linear_attn.conv1d_k", "ssm_conv1d_k"},
	model.ValueFilter:         {"linear_attn.conv1d_v", "ssm_conv1d_v"},
	model.StepBias:            {"linear_attn.dt_bias", "ssm_dt.bias"},
	model.Decay:               {"linear_attn.A_log", "ssm_a"},
	model.Skip:                {"linear_attn.D", "ssm_d"},
	model.RecurrentNorm:       {"linear_attn.norm", "ssm_norm"},
	model.RecurrentOutput:     {"linear_attn.out_proj", "ssm_out"},
	model.InputGate:           {"conv.in_proj_b", "shortconv.in_proj_b"},
	model.OutputGate:          {"conv.in_proj_c", "shortconv.in_proj_c"},
	model.ConvolutionInput:    {"conv.in_proj_x", "shortconv.in_proj_x"},
	model.ConvolutionFilter:   {"conv.conv", "shortconv.conv"},
	model.ConvolutionOutput:   {"conv.out_proj", "shortconv.out_proj"},
	model.QueryNorm:           {"self_attn.q_norm", "attn_q_norm"},
	model.KeyNorm:             {"self_attn.k_norm", "attn_k_norm"},
	model.Sinks:               {"self_attn.sinks", "attn_sinks"},
	model.QueryDown:           {"self_attn.q_a_proj", "attn_q_a"},
	model.QueryDownNorm:       {"self_attn.q_a_layernorm", "attn_q_a_norm"},
	model.LatentQuery:         {"self_attn.q_nope_proj", "attn_q_nope"}, // this one and the next three are parts of others: see latents
	model.RotatedQuery:        {"self_attn.q_rope_proj", "attn_q_rope"},
	model.LatentRow:           {"self_attn.kv_a_proj", "attn_kv_a"},
	model.RotatedKey:          {"self_attn.k_rope_proj", "attn_k_rope"},
	model.LatentNorm:          {"self_attn.kv_a_layernorm", "attn_kv_a_norm"},
	model.KeyUp:               {"self_attn.k_b_proj", "attn_k_b"},
	model.ValueUp:             {"self_attn.v_b_proj", "attn_v_b"},
	model.AttentionSubNorm:    {"self_attn.attn_sub_norm", "attn_sub_norm"},
	model.AttentionOutput:     {"self_attn.o_proj", "attn_output"},
	model.AttentionPostNorm:   {afterAttention, "post_attention_norm"},
	model.AttentionSumNorm:    {"attention.output.LayerNorm", "attn_output_norm"},
	model.FeedForwardNorm:     {afterAttention, "ffn_norm"},
	model.Gate:                {"mlp.gate_proj", "ffn_gate"},
	model.Up:                  {"mlp.up_proj", "ffn_up"},
	model.FeedForwardSubNorm:  {"mlp.ffn_sub_norm", "ffn_sub_norm"},
	model.Down:                {"mlp.down_proj", "ffn_down"},
	model.Router:              {"mlp.gate", "ffn_gate_inp"},
	model.RouterCorrection:    {"mlp.gate.e_score_correction_bias", "exp_probs_b.bias"},
	model.LatentDown:          {"mlp.latent_down", "ffn_latent_down"},
	model.LatentUp:            {"mlp.latent_up", "ffn_latent_up"},
	model.DensePostNorm:       {afterFeedForward + "_1", "post_ffw_norm_1"},
	model.RouterNorm:          {"router.scale", "ffn_gate_inp.scale"},
	model.ExpertScales:        {"router.per_expert_scale", "ffn_down_exps.scale"},
	model.ExpertGateScales:    {"mlp.experts.gate_proj.scale", "ffn_gate_exps.scale"},
	model.ExpertUpScales:      {"mlp.experts.up_proj.scale", "ffn_up_exps.scale"},
	model.ExpertNorm:          {"pre_feedforward_layernorm_2", "pre_ffw_norm_2"},
	model.ExpertPostNorm:      {afterFeedForward + "_2", "post_ffw_norm_2"},
	model.ExpertGate:          {"mlp.experts.gate_proj", "ffn_gate_exps"},
	model.ExpertUp:            {"mlp.experts.up_proj", "ffn_up_exps"},
	model.ExpertDown:          {"mlp.experts.down_proj", "ffn_down_exps"},
	model.ExpertSumBias:       {"mlp.experts.bias", "ffn_exps.bias"},
	model.SharedRouter:        {"mlp.shared_expert_gate", "ffn_gate_inp_shexp"},
	model.SharedGate:          {"mlp.shared_expert.gate_proj", "ffn_gate_shexp"},
	model.SharedUp:            {"mlp.shared_expert.up_proj", "ffn_up_shexp"},
	model.SharedDown:          {"mlp.shared_expert.down_proj", "ffn_down_shexp"},
	model.FeedForwardPostNorm: {afterFeedForward, "post_ffw_norm"},
	model.FeedForwardSumNorm:  {"output.LayerNorm", "layer_output_norm"},
	model.StreamNorm:          {"altup.router_norm", "altup_router_norm"},
	model.StreamRouter:        {"altup.modality_router", "altup_router"},
	model.StreamPredict:       {"altup.prediction_coefs", "altup_predict_coef"},
	model.StreamCorrect:       {"altup.correction_coefs", "altup_correct_coef"},
	model.StreamScale:         {"altup.correct_output_scale", "altup_correct_scale"},
	model.StreamSplit:         {"model.altup_projections", "altup_proj"}, // see ofStreams
	model.StreamMerge:         {"model.altup_unembed_projections", "altup_unembd_proj"},
	model.LaurelDown:          {"laurel.linear_left", "laurel_l"},
	model.LaurelUp:            {"laurel.linear_right", "laurel_r"},
	model.LaurelNorm:          {"laurel.post_laurel_norm", "laurel_post_norm"},
	model.PerLayerGate:        {"per_layer_input_gate", "inp_gate"},
	model.PerLayerUp:          {"per_layer_projection", "proj"},
	model.PerLayerPostNorm:    {"post_per_layer_input_norm", "post_norm"},
	model.LayerScale:          {"layer_scalar", "layer_output_scale"},
	model.OutputNorm:          {"model.norm", "output_norm"},
	model.OutputHead:          {"lm_head", "output"},
	model.PooledDense:         {"linear", "dense"}, // see denseTensors
	model.ScoreDense:          {"classifier.dense", "cls"},
	model.ScoreNorm:           {"head.norm", "cls.norm"},
	model.ScoreOutput:         {"classifier.out_proj", "cls.output"},
}

// Names returns a part's usual names in folders and in GGUF, without the layer and what follows.
func Names(p model.Part) (folder, file string) { return names[p].huggingFace, names[p].gguf }

// unsuffixed are the parts with names that do not end in .weight in Hugging Face's files.
var unsuffixed = []model.Part{model.LayerScale, model.StreamScale}

// With what the names of the parts of layers begin.
const (
	layersGGUF        = "blk."
	layersHuggingFace = ModelPrefix + LayersPart
)

// GGUF returns a part's name in GGUF's terms; layer counts only for the parts of layers.
func GGUF(p model.Part, layer int, bias bool) string {
	return nameOf(p, layersGGUF, layer, names[p].gguf, bias)
}

func nameOf(p model.Part, layers string, layer int, name string, bias bool) string {
	if p.InLayers() {
		name = layers + strconv.Itoa(layer) + "." + name
	}
	if bare(p) || p == model.Sinks && layers != layersGGUF {
		return name
	}
	if bias {
		return name + ".bias"
	}
	return name + ".weight"
}

// Layouts returns how the folder and the file of a model of the family have a tensor.
func (f *Family) Layouts(c *model.Config, of *model.Tensor) (folder, file storage.Layout) {
	p, layer, bias := of.Part, of.Layer, of.Bias
	if p == model.PooledDense && c.Dense[layer].Folder == "" && f.projects {
		return storage.Layout{Name: f.FolderName(p, layer, bias)}, storage.Layout{Name: f.FileName(p, layer, bias)}
	}
	if p == model.PooledDense { // which is in a file of its own in a folder
		if f.projects {
			layer-- // GGUF counts the others
		}
		end := "/linear.weight"
		if bias {
			end = "/linear.bias"
		}
		return storage.Layout{Name: c.Dense[of.Layer].Folder + end}, storage.Layout{Name: denseGGUF(layer, bias)}
	}
	if p == model.StreamSplit || p == model.StreamMerge {
		return streamLayouts(c, p, layer)
	}
	is := c.Layer(layer)
	folder.Name, file.Name = f.FolderName(p, layer, bias), f.FileName(p, layer, bias)
	if name := f.headName(&c.Head, p); name != "" {
		folder.Name = nameOf(p, "", 0, name, bias)
	}
	if f.plusOne && !slices.Contains(f.asStored, p) && of.Role == model.Vector && !bias && len(of.Shape) == 1 && !is.Mixer.Owns(p) {
		folder.Steps = []storage.Step{storage.Plus(1)}
	}
	if folder.Forms, file.Forms = f.forms(c, p, layer, bias); file.Forms != nil {
		folder.Name = folder.Forms[0].Of(0)
	}
	switch p {
	case model.SharedRouter:
		file.Shape = []int{c.HiddenSize}
	case model.ExpertGateScales, model.ExpertUpScales:
		file.Shape = []int{c.Experts.Count}
	}
	rotated := p == model.Query || p == model.Key
	if rotated && !f.unpaired {
		file.Rows = storage.Paired{HeadDim: is.HeadDim}
	}
	if p == model.PositionEmbedding && f.padded { // the first rows are of padding
		folder.Within = storage.Within{Name: folder.Name, Rows: c.Positions + c.PositionOffset, First: c.PositionOffset}
	}
	if rotated || p == model.QueryNorm || p == model.KeyNorm {
		switch r := is.RoPE; {
		case r != nil && r.Rotated != 0:
			folder.Rows = storage.Partial{HeadDim: is.HeadDim, Rotated: r.Rotated, Neighbours: f.paired}
			file.Rows = folder.Rows
		case f.paired:
			folder.Rows = storage.Paired{HeadDim: is.HeadDim}
			file.Rows = folder.Rows
		case !f.unpaired && !f.jointNorms:
			file.Rows = storage.Paired{HeadDim: is.HeadDim}
		}
		if r := is.RoPE; f.paired && r != nil && r.Sections != [3]int{} { // llama.cpp turns sections in Hugging Face's usual order alone
			if file.Rows = nil; r.Rotated != 0 {
				file.Rows = storage.Partial{HeadDim: is.HeadDim, Rotated: r.Rotated}
			}
		}
	}
	if fused, ok := f.fused[p]; ok {
		folder.Within = fused.within(c, p, &is, nameOf(p, cmp.Or(f.layers, layersHuggingFace), layer, fused.huggingFace, bias))
		if fused.gguf != "" {
			file.Within = fused.within(c, p, &is, nameOf(p, layersGGUF, layer, fused.gguf, bias))
		}
	}
	if fused, ok := f.fusedGGUF[p]; ok {
		file.Within = fused.within(c, p, &is, nameOf(p, layersGGUF, layer, fused.gguf, bias))
	}
	if f.folds && !bias {
		switch p {
		case model.Embedding:
			file.Factor = float32(c.EmbeddingScale)
		case model.OutputHead:
			file.Factor = float32(c.LogitScale)
		default:
			file.Factor = c.Scales[model.Place{Part: p, Layer: layer}]
		}
	}
	f.constant(c, p, &is, &folder, &file)
	if rounded := c.Rounding; rounded.Rows && of.Role == model.Linear && p.InLayers() {
		folder.Digits, folder.Ternary = !rounded.Matrices, rounded.Matrices
	}
	f.ofState(c, &is, of, &folder, &file)
	f.ofLatent(c, of, &folder, &file)
	f.ofAhead(c, &folder, &file)
	return folder, file
}

// constant notes in the layouts of a part that it is the same number everywhere. GGUF has such norms of queries and keys, and scales queries by the former.
func (f *Family) constant(c *model.Config, p model.Part, is *model.Layer, folder, file *storage.Layout) {
	v, constant := f.constants[p]
	if !constant {
		return
	}
	folder.Steps, folder.Constant = nil, v
	switch p {
	case model.EmbeddingNorm:
		file.Constant = v
	case model.QueryNorm:
		file.Factor = float32(cmp.Or(c.ScoreScale*math.Sqrt(float64(is.HeadDim)), 1))
	}
}

// within returns the larger tensor of a name, of a layer, and which of its rows are a part's.
func (f *fusedPart) within(c *model.Config, p model.Part, is *model.Layer, name string) storage.Within {
	w, groups := storage.Within{Name: name}, 1
	if f.groups != nil {
		groups = f.groups(c)
	}
	for _, other := range f.parts {
		rows := c.Rows(other, is)
		if other == p {
			w.First, w.Size = w.Rows/groups, rows/groups
		}
		w.Rows += rows
	}
	if w.Every = w.Rows / groups; groups == 1 {
		w.Every, w.Size = 0, 0
	}
	return w
}

// FolderName returns a part's name in Hugging Face's terms.
func (f *Family) FolderName(p model.Part, layer int, bias bool) string {
	name, other := f.huggingFace[p]
	if !other {
		name = names[p].huggingFace
	}
	name = nameOf(p, cmp.Or(f.layers, layersHuggingFace), layer, name, bias)
	if slices.Contains(unsuffixed, p) {
		name = strings.TrimSuffix(name, ".weight")
	}
	return name
}

// FileName returns a part's name in GGUF's terms.
func (f *Family) FileName(p model.Part, layer int, bias bool) string {
	return nameOf(p, layersGGUF, layer, cmp.Or(f.ggufNames[p], names[p].gguf), bias)
}

// forms returns the ways in which files have a part of a layer with experts. For any other part it returns no forms.
func (f *Family) forms(c *model.Config, p model.Part, layer int, bias bool) (folder, file []storage.Form) {
	at := slices.Index(expertParts, p)
	if at < 0 || f.experts == nil {
		return folder, file
	}
	rule := f.experts
	rows, fused := c.Experts.Width, 2*c.Experts.Width
	gateUp := storage.Form{Name: rule.stacked.gateUp, Rows: fused, First: at * rows, Step: 1}
	switch {
	case p == model.ExpertDown:
		rows = c.ExpertInput()
		gateUp = storage.Form{Name: rule.stacked.down, Rows: rows, Step: 1}
	case c.Experts.Ungated:
		gateUp.Rows, gateUp.First = rows, 0
	case rule.stacked.alternate:
		gateUp.First, gateUp.Step = at, 2
	}
	prefix := cmp.Or(f.layers, layersHuggingFace) + strconv.Itoa(layer) + "."
	switch stacked := gateUp; {
	case bias:
		stacked.Name = prefix + stacked.Name + rule.stacked.bias
		folder = []storage.Form{stacked}
	case rule.stacked.blocks != "":
		stacked.Name, stacked.Exponents = prefix+gateUp.Name+rule.stacked.blocks, prefix+gateUp.Name+rule.stacked.scales
		folder = []storage.Form{stacked}
	default:
		if rule.each != nil {
			folder = []storage.Form{{Name: prefix + rule.each[at], Rows: rows, Step: 1}}
		}
		stacked.Name, stacked.Transposed = prefix+stacked.Name, rule.stacked.transposed
		if stacked.Flat = rule.stacked.flat; stacked.Flat && p == model.ExpertDown {
			stacked.Rows, stacked.Transposed = c.Experts.Width, true
		}
		folder = append(folder, stacked)
	}
	prefix = layersGGUF + strconv.Itoa(layer) + "."
	file = []storage.Form{{Name: GGUF(p, layer, bias), Rows: rows, Step: 1}}
	if !bias {
		file = append(file, storage.Form{Name: prefix + []string{"ffn_gate", "ffn_up", "ffn_down"}[at] + "." + storage.EachExpert + ".weight", Rows: rows, Step: 1})
	}
	if p != model.ExpertDown && !c.Experts.Ungated {
		end := ".weight"
		if bias {
			end = ".bias"
		}
		both := storage.Form{Name: prefix + "ffn_gate_up_exps" + end, Rows: fused, First: at * rows, Step: 1}
		if rule.block {
			file = slices.Insert(file, 0, both)
		} else {
			file = append(file, both)
		}
	}
	return folder, file
}

// expertParts are the matrices of experts, in the order of expertRule.each.
var expertParts = []model.Part{model.ExpertGate, model.ExpertUp, model.ExpertDown}

// bare reports whether the names of a part's tensors end with the part's own name.
func bare(p model.Part) bool { return slices.Contains(bareParts, p) }

// bareParts are the parts without a suffix in both formats.
var bareParts = []model.Part{model.StepBias, model.Decay, model.Skip, model.RouterCorrection, model.RouterNorm, model.ExpertScales, model.ExpertGateScales,
	model.ExpertUpScales, model.ExpertSumBias}

// denseGGUF returns GGUF's name for a layer that follows pooling, counted from 0.
func denseGGUF(n int, bias bool) string {
	if bias {
		return fmt.Sprintf("dense_%d.bias", n+2)
	}
	return fmt.Sprintf("dense_%d.weight", n+2)
}
