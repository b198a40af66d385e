package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/antigravity-go/antigravity/internal/checkpoint/families"
)

// writeFamilies writes the page llama/MODELS.md: which models load, by the names that their files have. It is made of the tables that loading goes by.
func writeFamilies(w io.Writer) error {
	var b strings.Builder
	b.WriteString(`# Is my model there?

Look for "model_type" of the folder's config.json, which of a model that sees or hears is that within text_config, or for "general.architecture" of the GGUF
file. ` + "`go run ./examples/tools/checkmodel FILE`" + ` looks at a file itself, and says for each thing that is missing why it would not load.

This page is made by ` + "`go run ./examples/tools/checkmodel -families`" + ` from the tables that loading goes by.

| model_type | class in config.json | GGUF | reads | experts | pictures | labels |
|---|---|---|---|---|---|---|
`)
	list := families.Everything()
	slices.SortStableFunc(list, func(a, b families.Known) int { return strings.Compare(a.Types[0], b.Types[0]) })
	for _, k := range list {
		reads, experts, labels := "token by token", "", []string{}
		if k.Whole {
			reads = "a text as a whole"
		}
		if k.Experts {
			experts = "yes"
		}
		if k.Texts {
			labels = append(labels, "of texts")
		}
		if k.Tokens {
			labels = append(labels, "of tokens")
		}
		gguf := strings.Join(k.Architectures, ", ")
		if gguf == "" {
			gguf = "no"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s |\n", strings.Join(k.Types, ", "), k.Class, gguf, reads, experts, strings.Join(k.Towers, ", "), strings.Join(labels, ", "))
	}
	b.WriteString(`
Pictures need the tower's kind that the table names: within the folder, or as llama.cpp's mmproj file next to a GGUF file. Other towers are left alone, and the
model of text answers. Adapters (LoRA, as peft and llama.cpp write them) fit the projections of all layers, but not experts, nor what latent attention makes of
its rows, nor queries and keys of DeBERTa: there they can only be added to the weights while loading. Parts that predict further tokens are not loaded.

## What is refused, and why

* Any other name: the error lists the names that are known.
* A tensor or a key of a GGUF file that nothing reads, unless it is known to have no effect.
* A key of config.json that changes what a model computes, in a family that does not have it: `)
	for i, key := range families.CountingKeys() {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString("`" + key + "`")
	}
	b.WriteString(`. A value that changes nothing is not refused.
* Weights as PyTorch pickles them, and folders with weights that GPTQ, AWQ or bitsandbytes have quantised (` + "`quantization_config`" + `).
`)
	_, err := io.WriteString(w, b.String())
	return err
}
