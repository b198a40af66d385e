package genkit_test

import (
	"context"
	"fmt"
	"log"

	"github.com/firebase/genkit/go/ai"
	"github.com/firebase/genkit/go/genkit"

	"github.com/antigravity-go/antigravity/llama/flint"
	"github.com/antigravity-go/antigravity/llama/with"
	withgenkit "github.com/antigravity-go/antigravity/llama/with/genkit"
)

// Genkit answers by calling a Go function, and fills a struct, with a model in the same process.
func Example() {
	ctx := context.Background()
	model, err := flint.Load(nil) // or llama.Load("Llama-3.2-1B-Instruct", nil)
	if err != nil {
		log.Fatal(err)
	}
	defer model.Close()
	m, err := with.New(model, &with.Options{Name: "flint"})
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	g := genkit.Init(ctx, genkit.WithPlugins(&withgenkit.Plugin{Models: []*with.Model{m}}), genkit.WithDefaultModel("antigravity/flint"))

	type place struct {
		City string `json:"city" jsonschema:"description=name of the city"`
	}
	weather := genkit.DefineTool(g, "get_weather", "Tells the weather in a city.", func(_ *ai.ToolContext, p place) (map[string]any, error) {
		fmt.Println("looks at the sky of", p.City)
		return map[string]any{"sky": "sunny", "temperature": 17}, nil
	})
	answer, err := genkit.Generate(ctx, g, ai.WithPrompt("How warm is it in Nairobi?"), ai.WithTools(weather))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(answer.Text())

	type person struct {
		Name string `json:"name"`
		Age  int    `json:"age"`
	}
	sam, _, err := genkit.GenerateData[person](ctx, g, ai.WithPrompt("Sam likes apples and salad, is happy, lives in Kyiv and is 18 years old."))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%+v\n", *sam)
	// Output:
	// looks at the sky of Nairobi
	// It is 17 degrees and sunny in Nairobi.
	// {Name:Sam Age:18}
}
