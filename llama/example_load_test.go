package llama_test

import (
	"context"
	"fmt"
	"log"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/pebble"
)

// A program carries its model: a variable of the type embed.FS, filled by a line //go:embed model.gguf, in place of pebble.FS. The weights are
// copied to memory.
func ExampleLoadFS() {
	var done, total int64
	model, err := llama.LoadFS(context.Background(), pebble.FS, pebble.Name, &llama.LoadOptions{
		Progress: func(d, t int64) { done, total = d, t }, // for a progress bar
	})
	if err != nil {
		log.Fatal(err)
	}
	defer model.Close()
	fmt.Println(model.Config().Layers, "layers;", done == total, total>>20, "MiB")
	// Output: 8 layers; true 4 MiB
}

// Inspect looks at a model's files without loading them: what it is, and whether it would load. For files of the system there is Inspect.
func ExampleInspectFS() {
	report, err := llama.InspectFS(context.Background(), pebble.FS, pebble.Name)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(report.Format, len(report.Problems), "problems")
	fmt.Println(report.Parameters, "parameters,", report.Config.ContextLength, "tokens of context")
	for _, use := range report.Tensors {
		fmt.Println(use.Tensors, use.Type)
	}
	// Output:
	// GGUF version 3 0 problems
	// 7344384 parameters, 2048 tokens of context
	// 56 q4_0
	// 1 q6_k
	// 17 f32
}

// The architectures that Load knows.
func ExampleFamilies() {
	for _, name := range llama.Families()[:3] {
		fmt.Println(name)
	}
	// Output:
	// LlamaForCausalLM
	// MistralForCausalLM
	// Ministral3ForCausalLM
}
