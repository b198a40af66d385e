// Program has a model in its executable, and answers a question with it. Package main of examples/single builds it with a model of the caller's.
package main

import (
	"context"
	_ "embed"
	"flag"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/antigravity-go/antigravity/llama"
)

// file is the model. The linker puts it into the executable, from which the system maps it: it is not read before it is used.
//
//go:embed model.gguf
var file string

func main() {
	question := flag.String("question", "What is the capital of Japan?", "`text` of the question")
	most := flag.Int("n", 100, "most `tokens` of the answer")
	flag.Usage = func() {
		fmt.Println("program answers a question with the model in its executable.")
		flag.CommandLine.SetOutput(os.Stdout)
		flag.PrintDefaults()
	}
	flag.Parse()
	began := time.Now()
	model, err := llama.LoadFS(context.Background(), llama.InMemory("model.gguf", file), "model.gguf", nil)
	if err != nil {
		log.Fatal(err)
	}
	defer model.Close()
	loaded := time.Since(began)
	session, err := model.NewSession(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer session.Close()
	history := []llama.Message{{Role: llama.RoleUser, Content: *question}}
	var stats llama.Stats
	for piece, err := range session.Chat(context.Background(), history, llama.Params{MaxTokens: *most}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Print(piece.Text)
		stats = piece.Stats
	}
	fmt.Printf("\n")
	log.Printf("a model of %d MB in the executable, loaded in %v; %v", len(file)>>20, loaded.Round(time.Millisecond), stats)
}
