package models

import "github.com/antigravity-go/antigravity/llama"

// Infill are the tokens of a prompt that asks for the text between two others: Before, the first text, After, the second text, Between.
type Infill struct{ Before, After, Between llama.Token }

// infillNames are these tokens as vocabularies write them.
var infillNames = [][3]string{
	{"<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>"},    // Qwen 2.5 Coder, Qwen 3, Codegemma
	{"<fim_prefix>", "<fim_suffix>", "<fim_middle>"},          // StarCoder, Granite
	{"<fim-prefix>", "<fim-suffix>", "<fim-middle>"},          // SantaCoder
	{"<｜fim▁begin｜>", "<｜fim▁hole｜>", "<｜fim▁end｜>"},          // DeepSeek Coder
	{"▁<PRE>", "▁<SUF>", "▁<MID>"},                            // Code Llama
	{"<|code_prefix|>", "<|code_suffix|>", "<|code_middle|>"}, // GLM
}

// InfillTokens returns a vocabulary's tokens for filling in. ok is false if it has no such tokens.
func InfillTokens(t *llama.Tokenizer) (tokens Infill, ok bool) {
	for _, names := range infillNames {
		var ids [3]llama.Token
		found := 0
		for i, name := range names {
			if id, ok := t.ID(name); ok {
				ids[i] = id
				found++
			}
		}
		if found == len(names) {
			return Infill{ids[0], ids[1], ids[2]}, true
		}
	}
	return Infill{}, false
}
