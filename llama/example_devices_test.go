package llama_test

import (
	"context"
	"fmt"
	"log"

	"github.com/antigravity-go/antigravity/backend/cpu"
	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/pebble"
)

// A session begins on one device, while the model is loaded on another one, and moves there when that pays. Here both are processors; NewSwitch is for a
// GPU, with opencl.New in place of cpu.New.
func ExampleNewSwitch() {
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
	there := cpu.New(2)
	defer there.Close()
	change, err := llama.NewSwitch(context.Background(), session, llama.SwitchOptions{
		Load: func(ctx context.Context) (*llama.Model, error) {
			return pebble.LoadContext(ctx, &llama.LoadOptions{Backend: there})
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	history := []llama.Message{{Role: llama.RoleUser, Content: "What is the capital of Japan?"}}
	for piece, err := range change.Watch(context.Background(), session.Chat(context.Background(), history, llama.Params{})) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Print(piece.Text)
	}
	session.Close() // before the model that it may have moved to
	change.Close()
	// Output: The capital of Japan is Tokyo.
}

// A small model proposes the tokens of a large one, which computes several of them in one step, as long as that is faster. Stats.AcceptedTokens counts
// the proposals that the answer took.
func ExampleNewDraftModel() {
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
	small, err := pebble.Load(nil) // in a program: a smaller model with the same vocabulary
	if err != nil {
		log.Fatal(err)
	}
	defer small.Close()
	drafter, err := llama.NewDraftModel(small, nil)
	if err != nil {
		log.Fatal(err)
	}
	history := []llama.Message{{Role: llama.RoleUser, Content: "What is the capital of Japan?"}}
	answer, err := llama.Collect(session.Chat(context.Background(), history, llama.Params{Draft: drafter}))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(answer.Text)
	// Output: The capital of Japan is Tokyo.
}
