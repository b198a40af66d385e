package checkpoint

import (
	"encoding/json"
	"strings"

	"github.com/antigravity-go/antigravity/internal/modeljson"
)

// Models that see images or hear wrap a model of text: config.json has that model's configuration under text_config, and its tensors have a longer
// prefix. Only the model of text is read. Some wrappers, Qwen 2.5 VL's say, have the keys of the model of text among their own.

// textTypes are the families' names for models of text that have another name within wrappers. Their rotary positions have three parts (M-RoPE),
// which are the same number in a text: then they are those of the family.
var textTypes = map[string]string{
	"qwen2_vl": "qwen2", "qwen2_vl_text": "qwen2", "qwen2_5_vl": "qwen2", "qwen2_5_vl_text": "qwen2", "qwen3_vl_text": "qwen3",
}

// textArchitectures are GGUF's names of architectures that differ from a family in nothing that counts for text.
var textArchitectures = map[string]string{"qwen2vl": "qwen2", "qwen3vl": "qwen3"}

// expertArchitectures are the families of files with experts, by GGUF's names of architectures that other families have, too.
var expertArchitectures = map[string]string{"llama": "mixtral"}

// plainArchitecture returns the architecture for which adapters are made that fit a model of an architecture: Mistral Small's files say llama or mistral3.
func plainArchitecture(name string) string {
	switch name {
	case "mistral3":
		return families[0].architecture()
	case "granitehybrid":
		return "granite"
	}
	return first(textArchitectures[name], name)
}

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
	for _, key := range []string{"bos_token_id", "eos_token_id", "tie_word_embeddings", "quantization_config", "compression_config"} {
		said := inner[key] != nil && string(inner[key]) != "null"
		if value, ok := outer[key]; ok && (!said || key == "tie_word_embeddings") {
			inner[key] = value
		}
	}
	return json.Marshal(inner)
}

// naming is how a folder names the tensors of its model of text: with prefix for modelPrefix, and head before the output head's name.
type naming struct{ prefix, head string }

// namings are the ways of naming, the usual one first.
var namings = []naming{
	{modelPrefix, ""}, {"language_model.model.", "language_model."}, {"model.language_model.", ""}, {"model.text_model.", ""}, {"bert.", ""}, {"roberta.", ""},
	{"", ""}, // base models without an output head, and models that AutoModel saved
}

// namingOf returns how files with these tensors name those of the model of text.
func namingOf(names []string) naming {
	known := make(map[string]bool, len(names))
	for _, name := range names {
		known[name] = true
	}
	for _, n := range namings {
		for i := range families {
			if table := families[i].tensorName(Embedding, 0, false); known[n.prefix+strings.TrimPrefix(table, modelPrefix)] {
				return n
			}
		}
	}
	return namings[0]
}

// stored returns a folder's name for a tensor that has the usual name.
func (n naming) stored(name string) string {
	if rest, ok := strings.CutPrefix(name, modelPrefix); ok {
		return n.prefix + rest
	}
	return n.head + name
}

// usual returns the usual name for a tensor of a folder. What does not belong to the model of text keeps its name.
func (n naming) usual(name string) string {
	if rest, ok := strings.CutPrefix(name, n.prefix); ok {
		return modelPrefix + rest
	}
	return strings.TrimPrefix(name, n.head)
}

// usualModule returns the usual name for a module of the model of text, given the one that it has within a wrapper or in a model without a head.
func usualModule(name string) string {
	for _, n := range namings {
		for _, part := range []string{layersPart, "encoder.layer.", "encoder.layers.", strings.TrimPrefix(parts[PerLayerProjection].huggingFace, modelPrefix)} {
			if rest, ok := strings.CutPrefix(name, n.prefix+part); ok {
				return modelPrefix + part + rest
			}
		}
	}
	return name
}
