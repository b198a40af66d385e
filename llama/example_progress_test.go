package llama_test

import (
	"context"
	"fmt"
	"log"
	"strings"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/pebble"
)

// Progress shows how far the reading of a long prompt is.
func ExampleParams_progress() {
	model, err := pebble.Load(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer model.Close()
	session, err := model.NewSession(&llama.SessionOptions{Chunk: 128})
	if err != nil {
		log.Fatal(err)
	}
	defer session.Close()
	prompt := strings.Repeat("The evening wind was cold. They ate olives by the river. ", 20) + "What did they eat?"
	params := llama.Params{MaxTokens: 1, Progress: func(p llama.PromptProgress) { fmt.Printf("%d%% ", 100*p.Done/p.Total) }}
	if _, err := llama.Collect(session.Chat(context.Background(), []llama.Message{{Role: llama.RoleUser, Content: prompt}}, params)); err != nil {
		log.Fatal(err)
	}
	// Output: 0% 45% 91% 100%
}
