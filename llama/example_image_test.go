package llama_test

import (
	"context"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"log"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/opal"
)

// A model that sees is asked about a picture, and then again. The picture is drawn here; NewImage reads one from a file.
func ExampleImageOf() {
	picture := image.NewRGBA(image.Rect(0, 0, 320, 256))
	draw.Draw(picture, picture.Bounds(), image.White, image.Point{}, draw.Src)
	for _, at := range []image.Point{{40, 40}, {180, 60}, {110, 150}} {
		draw.Draw(picture, image.Rectangle{at, at.Add(image.Pt(60, 60))}, image.NewUniform(color.RGBA{40, 80, 220, 255}), image.Point{}, draw.Src)
	}
	shown, err := llama.ImageOf(picture)
	if err != nil {
		log.Fatal(err)
	}

	model, err := opal.Load(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer model.Close()
	session, err := model.NewSession(nil)
	if err != nil {
		log.Fatal(err)
	}
	history := []llama.Message{{Role: llama.RoleUser, Parts: []llama.Part{{Image: shown}, {Text: "How many squares are there?"}}}}
	answer, err := llama.Collect(session.Chat(context.Background(), history, llama.Params{}))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(answer.Text)
	history = append(history, answer.Message, llama.Message{Role: llama.RoleUser, Content: "What color are they?"})
	if answer, err = llama.Collect(session.Chat(context.Background(), history, llama.Params{})); err != nil {
		log.Fatal(err)
	}
	fmt.Println(answer.Text)
	// Output:
	// 3
	// Blue.
}
