package checkpoint

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/antigravity-go/antigravity/internal/checkpoint/families"
	"github.com/antigravity-go/antigravity/internal/model"
	"github.com/antigravity-go/antigravity/internal/modeljson"
)

// Models that see images or hear wrap a model of text: config.json has that model's configuration under text_config, and its tensors have a longer
// prefix. Only the model of text is read. Some wrappers, Qwen 2.5 VL's say, have the keys of the model of text among their own.

// textConfig returns the configuration of the model of text in a config.json: itself, unless it is a wrapper's. What the wrapper says of the tokens
// that begin and end a text counts if the inner configuration says nothing; whether the output head is the embedding table, the wrapper decides.
func textConfig(data []byte) ([]byte, error) {
	var outer, inner map[string]json.RawMessage
	if err := modeljson.Unmarshal(data, &outer); err != nil {
		return nil, err
	}
	if text, ok := outer["text_config"]; !ok || modeljson.Unmarshal(text, &inner) != nil || inner == nil {
		return data, nil
	}
	for _, key := range []string{"bos_token_id", "eos_token_id", "tie_word_embeddings", "quantization_config", "compression_config", "architectures", "num_labels", "id2label",
		"problem_type", "pad_token_id"} {
		said := inner[key] != nil && string(inner[key]) != "null"
		if value, ok := outer[key]; ok && (!said || key == "tie_word_embeddings" || key == "architectures") {
			inner[key] = value
		}
	}
	var tower map[string]json.RawMessage
	if modeljson.Unmarshal(outer["vision_config"], &tower) == nil && tower["deepstack_visual_indexes"] != nil {
		inner["deepstack_visual_indexes"] = tower["deepstack_visual_indexes"]
	}
	return json.Marshal(inner)
}

// naming is how a folder names the tensors of its model of text: with prefix for families.ModelPrefix, and head before the output head's name.
type naming struct{ prefix, head string }

// namings are the ways of naming, the usual one first.
var namings = []naming{
	{families.ModelPrefix, ""}, {"language_model.model.", "language_model."}, {"model.language_model.", ""}, {"model.text_model.", ""}, {"bert.", ""}, {"roberta.", ""}, {"distilbert.", ""}, {"deberta.", ""}, {"mpnet.", ""}, {"backbone.", ""}, {"transformer.", ""},
	{"language_model.", ""}, // EmbeddingGemma 2
	{"", ""},                // base models without an output head, and models that AutoModel saved
}

// namingOf returns how files with these tensors name those of the model of text.
func namingOf(names []string) naming {
	known := make(map[string]bool, len(names))
	for _, name := range names {
		known[name] = true
	}
	for _, n := range namings {
		for _, f := range families.All() {
			if table := f.FolderName(model.Embedding, 0, false); known[n.prefix+strings.TrimPrefix(table, families.ModelPrefix)] {
				return n
			}
		}
	}
	return namings[0]
}

// stored returns a folder's name for a tensor that has the usual name.
func (n naming) stored(name string) string {
	if rest, ok := strings.CutPrefix(name, families.ModelPrefix); ok {
		return n.prefix + rest
	}
	return n.head + name
}

// usual returns the usual name for a tensor of a folder. What does not belong to the model of text keeps its name.
func (n naming) usual(name string) string {
	if rest, ok := strings.CutPrefix(name, n.prefix); ok {
		return families.ModelPrefix + rest
	}
	return strings.TrimPrefix(name, n.head)
}

// layerParts are how families begin the names of layers' modules, behind families.ModelPrefix: "layers." and "h.", say.
var layerParts = partsOfLayers()

func partsOfLayers() []string {
	parts := []string{families.LayersPart, families.LayerInputs}
	for _, f := range families.All() {
		before, _, _ := strings.Cut(f.FolderName(model.AttentionNorm, 0, false), "0.")
		if part := strings.TrimPrefix(before, families.ModelPrefix); !slices.Contains(parts, part) {
			parts = append(parts, part)
		}
	}
	return parts
}

// usualModule returns the usual name for a module of the model of text, given the one that it has within a wrapper or in a model without a head.
func usualModule(name string) string {
	for _, n := range namings {
		for _, part := range layerParts {
			if rest, ok := strings.CutPrefix(name, n.prefix+part); ok {
				return families.ModelPrefix + part + rest
			}
		}
	}
	return name
}
