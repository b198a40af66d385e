// Describe describes a picture, and prints the answer as it comes.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/opal"
)

func main() {
	question := flag.String("question", "Describe the picture.", "`text` to ask")
	flag.Usage = func() {
		fmt.Println("describe describes a picture: go run ./examples/describe FILE. It asks Opal, which is embedded, and knows words, numbers and coloured shapes.")
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() != 1 {
		flag.Usage()
		os.Exit(2)
	}
	model, err := opal.Load(nil) // or llama.Load("Qwen3-VL-2B-Instruct", nil): a folder, or a .gguf file with its mmproj file next to it
	if err != nil {
		log.Fatal(err)
	}
	defer model.Close()
	file, err := os.ReadFile(flag.Arg(0))
	if err != nil {
		log.Fatal(err)
	}
	picture, err := llama.NewImage(file)
	if err != nil {
		log.Fatal(err)
	}
	session, err := model.NewSession(nil)
	if err != nil {
		log.Fatal(err)
	}
	history := []llama.Message{{Role: llama.RoleUser, Parts: []llama.Part{{Image: picture}, {Text: *question}}}}
	for piece, err := range session.Chat(context.Background(), history, llama.Params{}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Print(piece.Text)
	}
	fmt.Println()
}
