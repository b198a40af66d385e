package cli

import (
	"testing"

	"github.com/antigravity-go/antigravity/llama"
)

func TestParametersOfPublishedModels(t *testing.T) {
	for _, c := range []struct {
		name   string
		config llama.Config
		want   int64
	}{
		{"Llama 3.2 1B", llama.Config{HiddenSize: 2048, IntermediateSize: 8192, Layers: 16, Heads: 32, KVHeads: 8, HeadDim: 64, VocabSize: 128256,
			TiedEmbeddings: true}, 1_235_814_400},
		{"Llama 2 7B", llama.Config{HiddenSize: 4096, IntermediateSize: 11008, Layers: 32, Heads: 32, KVHeads: 32, HeadDim: 128, VocabSize: 32000},
			6_738_415_616},
	} {
		if got := Parameters(c.config); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}
