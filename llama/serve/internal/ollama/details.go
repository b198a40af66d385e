package ollama

import (
	"cmp"
	"fmt"

	"github.com/antigravity-go/antigravity/internal/checkpoint"
	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/serve/internal/models"
)

// details are the kind of a model, in words; "" if that is not known.
type details struct {
	Parent       string   `json:"parent_model"`
	Format       string   `json:"format"`
	Family       string   `json:"family"`
	Families     []string `json:"families"`
	Parameters   string   `json:"parameter_size"`
	Quantization string   `json:"quantization_level"`
	Context      int      `json:"context_length,omitempty"`
	Width        int      `json:"embedding_length,omitempty"`
}

// newDetails returns the details of a model; facts may be nil.
func newDetails(facts *models.Facts) details {
	if facts == nil {
		return details{Families: []string{}}
	}
	family := familyOf(facts)
	return details{Format: facts.Format, Family: family, Families: []string{family}, Parameters: count(facts.Parameters), Quantization: facts.Type,
		Context: facts.ContextLength(), Width: facts.Config.HiddenSize}
}

// familyOf returns the name of the architecture, as GGUF files have it.
func familyOf(facts *models.Facts) string { return cmp.Or(facts.Config.Family, "llama") }

// count returns a number in words: "1.2B".
func count(n int64) string {
	for _, unit := range []struct {
		name string
		size float64
	}{{"B", 1e9}, {"M", 1e6}, {"K", 1e3}} {
		if float64(n) >= unit.size {
			return fmt.Sprintf("%.1f%s", float64(n)/unit.size, unit.name)
		}
	}
	return fmt.Sprint(n)
}

// capabilities are what programs may use a model for; facts may be nil.
func capabilities(facts *models.Facts) []string {
	switch {
	case facts == nil || facts.Kind == llama.Generator:
	case facts.Kind == llama.Embedder:
		return []string{"embedding"}
	default: // there is no word for it
		return []string{}
	}
	list := []string{"completion"}
	if facts == nil {
		return list
	}
	if facts.Tools {
		list = append(list, "tools")
	}
	if facts.Sees {
		list = append(list, "vision")
	}
	if facts.Thinks {
		list = append(list, "thinking")
	}
	if facts.Infill {
		list = append(list, "insert")
	}
	return list
}

// info returns a model's sizes, as GGUF files name them.
func info(name string, facts *models.Facts) map[string]any {
	family, c := familyOf(facts), &facts.Config
	return map[string]any{
		checkpoint.ArchitectureKey: family, "general.basename": name, checkpoint.NameKey: name, "general.parameter_count": facts.Parameters,
		family + ".context_length": facts.ContextLength(), family + ".embedding_length": c.HiddenSize, family + ".block_count": c.Layers,
		family + ".feed_forward_length": c.IntermediateSize, family + ".vocab_size": c.VocabSize,
		family + ".attention.head_count": c.Heads, family + ".attention.head_count_kv": c.KVHeads, family + ".attention.key_length": c.HeadDim,
		family + ".attention.value_length": c.HeadDim, family + ".attention.layer_norm_rms_epsilon": c.RMSNormEps, family + ".rope.freq_base": c.RoPE.Theta,
	}
}
