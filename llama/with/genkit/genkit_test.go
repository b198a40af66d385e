package genkit_test

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/firebase/genkit/go/ai"
	"github.com/firebase/genkit/go/genkit"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/with"
	withgenkit "github.com/antigravity-go/antigravity/llama/with/genkit"
	"github.com/antigravity-go/antigravity/llama/with/internal/withtest"
)

// start initialises Genkit with Flint and with a model that thinks.
func start(t *testing.T) *genkit.Genkit {
	t.Helper()
	return genkit.Init(t.Context(), genkit.WithDefaultModel("antigravity/flint"), genkit.WithPlugins(&withgenkit.Plugin{
		Models:    []*with.Model{withtest.Model(t, nil), withtest.Thinker(t)},
		Embedders: map[string]*llama.Model{"flint": withtest.Flint(t)},
	}))
}

// TestTools has Genkit answer a question with a function, whole and streamed.
func TestTools(t *testing.T) {
	g := start(t)
	asked := ""
	weather := genkit.DefineTool(g, withtest.Function, withtest.Does, func(_ *ai.ToolContext, p withtest.Place) (withtest.Weather, error) {
		asked += p.City
		return withtest.Sunny, nil
	})
	streamed := ""
	for _, more := range [][]ai.GenerateOption{nil, {ai.WithStreaming(func(_ context.Context, chunk *ai.ModelResponseChunk) error {
		streamed += chunk.Text()
		return nil
	})}} {
		asked = ""
		answer, err := genkit.Generate(t.Context(), g, append(more, ai.WithPrompt(withtest.Question), ai.WithTools(weather))...)
		if err != nil {
			t.Fatal(err)
		}
		if answer.Text() != withtest.Answer || asked != withtest.City || answer.FinishReason != ai.FinishReasonStop {
			t.Errorf("%q (%s), asked for %q", answer.Text(), answer.FinishReason, asked)
		}
		if u := answer.Usage; u.InputTokens == 0 || u.TotalTokens != u.InputTokens+u.OutputTokens {
			t.Errorf("%+v", u)
		}
	}
	if !strings.HasSuffix(streamed, withtest.Answer) {
		t.Errorf("streamed %q", streamed)
	}
}

func TestStruct(t *testing.T) {
	g := start(t)
	got, answer, err := genkit.GenerateData[withtest.Person](t.Context(), g, ai.WithPrompt(withtest.About))
	if err != nil || !reflect.DeepEqual(*got, withtest.Sam()) {
		t.Errorf("%+v, %v, %v", got, answer, err)
	}
}

func TestThoughts(t *testing.T) {
	thought := ""
	answer, err := genkit.Generate(t.Context(), start(t), ai.WithModelName("antigravity/thinker"), ai.WithPrompt("?"),
		ai.WithStreaming(func(_ context.Context, chunk *ai.ModelResponseChunk) error {
			thought += chunk.Reasoning()
			return nil
		}))
	if err != nil || answer.Text() != withtest.Greeting || answer.Reasoning() != withtest.Thought || thought != withtest.Thought {
		t.Errorf("%+v, streamed %q, %v", answer, thought, err)
	}
}

func TestEmbedder(t *testing.T) {
	g, flint := start(t), withtest.Flint(t)
	got, err := genkit.Embed(t.Context(), g, ai.WithEmbedderName("antigravity/flint"), ai.WithTextDocs("a cat", "a dog"))
	want, err2 := flint.Embed(t.Context(), "a cat", "a dog")
	if err != nil || err2 != nil || !reflect.DeepEqual(got.Embeddings[1].Embedding, want[1]) {
		t.Errorf("%v, %v", err, err2)
	}
	e := withgenkit.NewEmbedder("flint", flint)
	short, err := e.Embed(t.Context(), &ai.EmbedRequest{Input: []*ai.Document{ai.DocumentFromText("a", nil)}, Options: &llama.EmbedOptions{Task: "query", Dimensions: 4}})
	if err != nil || len(short.Embeddings[0].Embedding) != 4 {
		t.Errorf("%+v, %v", short, err)
	}
	if _, err := e.Embed(t.Context(), &ai.EmbedRequest{Input: []*ai.Document{{Content: []*ai.Part{ai.NewMediaPart("image/png", "data:")}}}}); !errors.Is(err, llama.ErrUnsupported) {
		t.Error(err)
	}
}

// TestConfig has parameters in each of the forms that Genkit's programs give them, and what no model here can do.
func TestConfig(t *testing.T) {
	m := withgenkit.NewModel(withtest.Model(t, nil))
	ask := func(config any, parts ...*ai.Part) (*ai.ModelResponse, error) {
		return m.Generate(t.Context(), &ai.ModelRequest{Messages: []*ai.Message{ai.NewUserMessage(parts...)}, Config: config}, nil)
	}
	question := ai.NewTextPart("What is the capital of Japan?")
	common := ai.GenerationCommonConfig{MaxOutputTokens: 2, StopSequences: []string{"###"}, Temperature: 0.1, TopK: 1, TopP: 0.9}
	for _, config := range []any{common, &common, withgenkit.Config{GenerationCommonConfig: common}, &withgenkit.Config{GenerationCommonConfig: common, Seed: 3},
		map[string]any{"maxOutputTokens": 2, "seed": 3}} {
		answer, err := ask(config, question)
		if err != nil || answer.Usage.OutputTokens != 2 || answer.FinishReason != ai.FinishReasonLength || answer.FinishMessage != "maximum of tokens" {
			t.Errorf("%+v: %+v, %v", config, answer, err)
		}
	}
	for _, c := range []struct {
		want   string
		config any
		part   *ai.Part
	}{
		{"version", ai.GenerationCommonConfig{Version: "1"}, question},
		{"beams", map[string]any{"beams": 2}, question},
		{"Temperature", ai.GenerationCommonConfig{Temperature: -1}, question},
		{"media", nil, ai.NewMediaPart("audio/wav", "data:audio/wav;base64,")},
		{"resource", nil, ai.NewResourcePart("file:a")},
		{"answers no call", nil, ai.NewToolResponsePart(&ai.ToolResponse{Name: "f", Output: 1})},
	} {
		if _, err := ask(c.config, c.part); err == nil || !strings.Contains(err.Error(), c.want) && !errors.Is(err, llama.ErrUnsupported) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
	stop := errors.New("enough")
	_, err := m.Generate(t.Context(), &ai.ModelRequest{Messages: []*ai.Message{ai.NewUserMessage(question)}}, func(context.Context, *ai.ModelResponseChunk) error { return stop })
	if !errors.Is(err, stop) {
		t.Error(err)
	}
}
