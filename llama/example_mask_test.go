package llama_test

import (
	"context"
	"fmt"
	"log"
	"math"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/pebble"
)

// without is a llama.LogitMask that forbids some tokens.
type without []llama.Token

func (w without) Apply(_ []llama.Token, logits []float32) error {
	for _, token := range w {
		logits[token] = float32(math.Inf(-1))
	}
	return nil
}

// A mask decides before each choice what may be chosen: here, the story's otter is anything but brave.
func ExampleLogitMask() {
	model, err := pebble.Load(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer model.Close()
	session, err := model.NewSession(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer session.Close()
	prompt := model.Tokenizer().EncodeSpecial("Once upon a time", true)
	forbidden := without(model.Tokenizer().Encode(" brave"))
	for piece, err := range session.Generate(context.Background(), prompt, llama.Params{MaxTokens: 8, Mask: forbidden}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Print(piece.Text)
	}
	// Output: a shy otter named Nina lived near the
}
