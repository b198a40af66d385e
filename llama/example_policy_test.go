package llama_test

import (
	"context"
	"fmt"
	"log"
	"strings"

	"github.com/antigravity-go/antigravity/eviction"
	"github.com/antigravity-go/antigravity/kvcache"
	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/pebble"
)

// longKeys is an eviction.Scorer: tokens with long vectors as keys are worth keeping.
type longKeys struct{}

func (longKeys) Name() string               { return "long keys" }
func (longKeys) Tracking() kvcache.Tracking { return kvcache.Tracking{} } // nothing about the past need be recorded
func (longKeys) Recent(slots int) int       { return slots / 4 }          // the latest quarter of the tokens stays in any case

func (longKeys) Score(v eviction.View) ([][]float32, error) {
	scores := make([]float32, v.Len())
	for head := range v.KVHeads() {
		err := v.EachKey(head, func(slot int, key []float32) {
			for _, x := range key {
				scores[slot] += x * x
			}
		})
		if err != nil {
			return nil, err
		}
	}
	return [][]float32{scores}, nil // one row: the same tokens stay in all heads of a layer
}

// A program may bring an eviction policy of its own. This one finds the important part of a prompt three times as long as the cache.
func ExampleSessionOptions_ownPolicy() {
	policy, err := eviction.NewScored(longKeys{}, eviction.Options{Budget: 64})
	if err != nil {
		log.Fatal(err)
	}
	model, err := pebble.Load(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer model.Close()
	session, err := model.NewSession(&llama.SessionOptions{Eviction: policy})
	if err != nil {
		log.Fatal(err)
	}
	defer session.Close()
	prompt := "The code for the red vault is 3438. " + strings.Repeat("The evening wind was cold. They ate olives by the river. ", 12) +
		"\n\nWhat is the code for the red vault?"
	for piece, err := range session.Chat(context.Background(), []llama.Message{{Role: "user", Content: prompt}}, llama.Params{}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Print(piece.Text)
	}
	fmt.Println()
	fmt.Println(session.CacheLen(), "of", session.Position(), "tokens are in the cache.")
	// Output:
	// The code for the red vault is 3438.
	// 67 of 202 tokens are in the cache.
}
