package ask

import "strings"

// FieldNames maps the fields that llama's errors name to the parameters of an interface: {"Params.TopK": "top_k"}. A name that ends with a dot or a bracket stands for all
// that begin with it: {"history[": "messages["}.
type FieldNames map[string]string

// find returns the interface's name of a field, or "".
func (n FieldNames) find(field string) string {
	if name, ok := n[field]; ok {
		return name
	}
	for from, to := range n {
		if rest, ok := strings.CutPrefix(field, from); ok && strings.ContainsAny(from[len(from)-1:], ".[") {
			return to + strings.ToLower(rest)
		}
	}
	return ""
}

// NewFieldNames returns the names that interfaces have in common, most of all Sampling's. prompt is the parameter that has the conversation or the
// text that is answered, and length the one that bounds the answer.
func NewFieldNames(prompt, length string) FieldNames {
	return FieldNames{
		"Params.Temperature": "temperature", "Params.TopP": "top_p", "Params.TopK": "top_k", "Params.MinP": "min_p",
		"Params.RepeatPenalty": "repeat_penalty", "Params.FrequencyPenalty": "frequency_penalty",
		"Params.PresencePenalty": "presence_penalty", "Params.Seed": "seed", "Params.Stop": "stop", "Params.Logprobs": "top_logprobs",
		"Params.MaxTokens": length, "history": prompt, "prompt": prompt, "the prompt": prompt,
		"Params.Template.Tools[": "tools[", "tools": "tools",
	}
}
