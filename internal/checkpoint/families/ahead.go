package families

import (
	"strconv"
	"strings"

	"github.com/antigravity-go/antigravity/internal/checkpoint/keys"
	"github.com/antigravity-go/antigravity/internal/checkpoint/storage"
	"github.com/antigravity-go/antigravity/internal/model"
)

// A head that predicts further tokens (model.Config.Ahead) is in the files of its model. Its layouts are those of a model of one layer, with other
// names. For example, of a model of 46 layers
//
//	of one layer                       GLM and DeepSeek                        Qwen                              GGUF
//	model.layers.0.mlp.up_proj.weight  model.layers.46.mlp.up_proj.weight      mtp.layers.0.mlp.up_proj.weight   blk.46.ffn_up.weight
//	model.layers.0.enorm.weight        model.layers.46.enorm.weight            mtp.pre_fc_norm_embedding.weight  blk.46.nextn.enorm.weight
//	model.norm.weight                  model.layers.46.shared_head.norm.weight mtp.norm.weight                   blk.46.nextn.shared_head_norm.weight
//
// Files may have the table of embeddings and the output head once more among the head's tensors, which are the model's own. Of several heads that follow
// each other the first is read: it goes on from its own states.

// aheadRule says how the folders of a family have the head. Each pair of names is one of a model of one layer, or how several begin, and the head's, with "#"
// for the number of layers.
type aheadRule struct {
	keys  []string // of config.json, for how many heads there are
	names [][2]string
}

var (
	// aheadLayers is the rule of heads that are further layers.
	aheadLayers = &aheadRule{[]string{"num_nextn_predict_layers"}, [][2]string{
		{layersHuggingFace + "0.", layersHuggingFace + "#."}, {"model.norm.", layersHuggingFace + "#.shared_head.norm."},
	}}
	// aheadOfQwen is that of heads with names of their own.
	aheadOfQwen = &aheadRule{[]string{"mtp_num_hidden_layers", "num_nextn_predict_layers"}, [][2]string{
		{layersHuggingFace + "0.enorm.", "mtp.pre_fc_norm_embedding."}, {layersHuggingFace + "0.hnorm.", "mtp.pre_fc_norm_hidden."},
		{layersHuggingFace + "0.eh_proj.", "mtp.fc."}, {layersHuggingFace + "0.", "mtp.layers.0."}, {"model.norm.", "mtp.norm."},
	}}
	// aheadGGUF are the names in GGUF.
	aheadGGUF = [][2]string{{layersGGUF + "0.", layersGGUF + "#."}, {"output_norm.", layersGGUF + "#.nextn.shared_head_norm."}}
)

// ahead walks over whether the model has a head. A folder's tensors may show later that it has not: see AheadName.
func (c *walking) ahead(k *keys.Walk) {
	rule, n := c.family.ahead, 0
	if c.Ahead != nil {
		n = 1
	}
	switch {
	case k.WritesFile():
		if n > 0 {
			k.Int("", aheadKey, &n, 0)
		}
		return
	case rule == nil || !k.Reads():
		return
	case k.ReadsFolder():
		dedicated := false
		k.Int(k.First(rule.keys...), "", &n, 1)
		if k.Bool("mtp_use_dedicated_embeddings", "", &dedicated, false); dedicated {
			n = 0 // a table of embeddings of the head's own
		}
	default:
		k.Int("", aheadKey, &n, 0)
	}
	if n < 1 || c.Whole || c.Head.Given() || k.Err() != nil || c.Validate() != nil {
		return
	}
	c.Ahead = c.AheadConfig()
	if k.ReadsFile() && c.Ahead != nil && !k.HasTensor(AheadGGUF(c.Ahead)) {
		c.Ahead = nil
	}
}

// AheadName returns the folder's name of the head's projection, which every head has.
func AheadName(head *model.Config) string {
	f := Of(head)
	return renamed(f.FolderName(model.AheadProjection, 0, false), f.ahead.names, head.After)
}

// AheadGGUF is AheadName for GGUF.
func AheadGGUF(head *model.Config) string {
	return renamed(GGUF(model.AheadProjection, 0, false), aheadGGUF, head.After)
}

// ofAhead gives the layouts of a head's tensor their names.
func (f *Family) ofAhead(head *model.Config, folder, file *storage.Layout) {
	if head.After == 0 {
		return
	}
	folder.Rename(func(name string) string { return renamed(name, f.ahead.names, head.After) })
	file.Rename(func(name string) string { return renamed(name, aheadGGUF, head.After) })
}

// renamed returns the head's name, of a model of some layers.
func renamed(name string, pairs [][2]string, layers int) string {
	for _, p := range pairs {
		if rest, ok := strings.CutPrefix(name, p[0]); ok {
			return strings.Replace(p[1], "#", strconv.Itoa(layers), 1) + rest
		}
	}
	return name
}
