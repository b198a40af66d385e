// Hello asks the embedded model one question and prints the answer as it comes.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/pebble"
)

func main() {
	flag.Usage = func() {
		fmt.Println("hello asks the embedded model one question and prints the answer as it comes. It has no flags.")
	}
	flag.Parse()
	model, err := pebble.Load(nil) // or llama.Load("Llama-3.2-1B-Instruct", nil): a folder, or a .gguf file
	if err != nil {
		log.Fatal(err)
	}
	defer model.Close()
	session, err := model.NewSession(nil)
	if err != nil {
		log.Fatal(err)
	}
	question := []llama.Message{{Role: "user", Content: "What is the capital of Japan?"}}
	for piece, err := range session.Chat(context.Background(), question, llama.Params{}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Print(piece.Text)
	}
	fmt.Println()
}
