package checkpoint

import (
	"slices"
	"strings"

	"github.com/antigravity-go/antigravity/internal/checkpoint/families"
	"github.com/antigravity-go/antigravity/internal/model"
)

// Every tensor of a model's files is accounted for: it is found as a tensor of the model, or a rule says that it has no effect, or Rest lists it as one
// that nothing reads, and loading refuses it. For example, of a folder with Qwen 3.5
//
//	model.layers.0.mlp.up_proj.weight            found
//	model.visual.blocks.0.norm1.weight           a part that sees
//	mtp.fc.weight                                found, or of a head that predicts further tokens and is not loaded
//	model.layers.0.mlp.up_proj.weight_scale      nothing reads it: an error

// Accounts says how the tensors of files are used.
type Accounts struct {
	Unread []string  // that nothing reads
	Idle   []Ignored // that have no effect, in the order of the files
}

// Account accounts for tensors of files by their names. found reports whether a name was found as a tensor of the model. The names of a folder are those
// of Weights, gguf says that the file is no folder. tensors is Tensors(c).
func Account(c *model.Config, names []string, found map[string]bool, tensors []Tensor, gguf bool) (a Accounts) {
	rules := &idleTensors{Config: c, gguf: gguf, scaled: map[string]bool{}, shared: map[string]bool{}}
	for i := range tensors {
		if t := &tensors[i]; gguf && !t.Bias && (t.Role == model.Linear || t.Role == model.Logits) {
			rules.scaled[t.GGUF.Name], rules.scaled[t.GGUF.Within.Name] = true, true
		}
	}
	rules.listShared()
	for _, name := range names {
		if found[name] || rules.reads(name, found) {
			continue
		}
		if why := rules.why(name); why != "" {
			a.Idle = append(a.Idle, Ignored{name, why})
		} else {
			a.Unread = append(a.Unread, name)
		}
	}
	return a
}

// idleTensors are the rules by which tensors have no effect.
type idleTensors struct {
	*model.Config
	gguf   bool
	scaled map[string]bool // the names of matrices that may have a scale
	shared map[string]bool // the names of keys and values in layers that read those of others
}

// listShared lists the keys and values of layers without any of their own, which files may have nevertheless.
func (i *idleTensors) listShared() {
	f := families.Of(i.Config)
	for layer := range i.Mixers {
		parts := []model.Part{model.Key, model.Value, model.KeyNorm}
		switch i.Mixers[layer] {
		case model.SharedAttention:
		case model.TiedAttention:
			parts = parts[1:2]
		default:
			continue
		}
		for _, p := range parts {
			i.shared[f.FolderName(p, layer, false)], i.shared[f.FileName(p, layer, false)] = true, true
		}
	}
}

// reads reports whether the configuration has what a small tensor says.
func (i *idleTensors) reads(name string, found map[string]bool) bool {
	if !i.gguf {
		return false
	}
	matrix, ok := strings.CutSuffix(name, scaleEnd)
	switch name {
	case families.DivisorsGGUF: // longrope has others, and learned positions need no divisors
		return i.RoPE.Long == nil && i.Positions == 0
	case families.LongDivisorsGGUF, families.ShortDivisorsGGUF:
		return i.RoPE.Long != nil
	}
	return ok && found[matrix+weightEnd] && i.scaled[matrix+weightEnd]
}

// Why tensors have no effect.
const (
	ofAhead  = "of a part that predicts further tokens, which is not loaded"
	ofTwice  = "the table of embeddings or the output head once more, which the part that predicts further tokens shares with the model"
	ofTask   = "of another task than that for which the model is loaded"
	ofTable  = "a table that the configuration has"
	ofShared = "keys and values of a layer that reads those of another layer, or has none of its own"
	ofHead   = "an output head that the model has not, or one that is the table of embeddings once more"
	ofInput  = "how activations would be rounded to four bits, which they are not here"
)

// why returns why a tensor has no effect; "" if it may have one.
func (i *idleTensors) why(name string) string {
	for _, end := range tables {
		if strings.HasSuffix(name, end) {
			return ofTable
		}
	}
	if n, ok := layerOf(name); ok && n >= i.Layers { // CheckLayers has looked at them
		if i.Ahead != nil && n == i.Layers && slices.ContainsFunc(aheadTables, func(part string) bool { return strings.Contains(name, part) }) {
			return ofTwice
		}
		return ofAhead
	}
	first, rest, _ := strings.Cut(strings.TrimPrefix(name, families.ModelPrefix), ".")
	switch {
	case i.shared[name]:
		return ofShared
	case i.gguf && strings.HasSuffix(name, inputScaleEnd) && i.scaled[strings.TrimSuffix(name, inputScaleEnd)+weightEnd]:
		return ofInput
	case i.gguf && slices.Contains(towersGGUF, first) && rest != "":
		return ofTowers
	case i.gguf:
		return ""
	case i.TiedEmbeddings && name == families.Of(i.Config).FolderName(model.OutputHead, 0, false):
		return ofHead
	case strings.HasPrefix(first, "mtp"):
		return ofAhead
	case slices.ContainsFunc(towerNames, func(begin string) bool { return strings.HasPrefix(first, begin) }):
		return ofTowers
	case i.Whole && (slices.Contains(taskNames, first) || first == "pooler"):
		return ofTask
	}
	return ""
}

// aheadTables are in the names of tables of a head that predicts further tokens, of Hugging Face's and of GGUF.
var aheadTables = []string{".embed_tokens.", ".shared_head.head.", ".shared_head_head."}

// tables end the names of tensors of RoPE's frequencies and of positions.
var tables = []string{".rotary_emb.inv_freq", ".attn_rot_embd.weight", "embeddings.position_ids"}

// towerNames begin the names of what in folders sees or hears, after "model." if that is there; towersGGUF are the same in GGUF files that have it.
var (
	towerNames = []string{"visual", "vision", "audio", "image", "embed_vision", "embed_audio", "multi_modal", "mm_", "connector", "aligner", "talker", "speech", "sound"}
	towersGGUF = []string{"v", "a", "mm"}
)

// taskNames are the heads of encoders for what they were trained for, such as to fill in words.
var taskNames = []string{"cls", "lm_head", "head", "decoder", "classifier", "predictions", "qa_outputs", "score"}
