// Policy shows an eviction policy of one's own: what the cache forgets of a long prompt decides whether the answer is right.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"strings"

	"github.com/antigravity-go/antigravity/eviction"
	"github.com/antigravity-go/antigravity/kvcache"
	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/pebble"
)

// longestKeys is an eviction.Scorer: the tokens with the longest keys stay.
type longestKeys struct{}

func (longestKeys) Name() string               { return "longest keys" }
func (longestKeys) Tracking() kvcache.Tracking { return kvcache.Tracking{} } // the cache need not record who attended to what
func (longestKeys) Recent(slots int) int       { return slots / 4 }          // the latest tokens stay whatever their keys

func (longestKeys) Score(v eviction.View) ([][]float32, error) {
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

func main() {
	flag.Usage = func() {
		fmt.Println("policy asks the same with three eviction policies, one of them its own. It has no flags.")
	}
	flag.Parse()
	longest, longestErr := eviction.NewScored(longestKeys{}, eviction.Options{Budget: 64})
	window, windowErr := eviction.NewSlidingWindow(60, 4) // the first 4 tokens and the latest 60
	model, modelErr := pebble.Load(nil)
	if err := errors.Join(longestErr, windowErr, modelErr); err != nil {
		log.Fatal(err)
	}
	defer model.Close()
	prompt := "The code for the red vault is 3438. The code for the green desk is 1874. " +
		strings.Repeat("The evening wind was cold. They ate olives by the river. ", 12) + "\n\nWhat is the code for the red vault?"
	for _, policy := range []eviction.Policy{eviction.None, window, longest} {
		session, err := model.NewSession(&llama.SessionOptions{Eviction: policy})
		if err != nil {
			log.Fatal(err)
		}
		for piece, err := range session.Chat(context.Background(), []llama.Message{{Role: "user", Content: prompt}}, llama.Params{}) {
			if err != nil {
				log.Fatal(err)
			}
			fmt.Print(piece.Text)
		}
		fmt.Printf(" (%s: %d tokens in the cache)\n", policy.Name(), session.CacheLen())
		session.Close()
	}
}
