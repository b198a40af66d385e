package ask

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/serve/internal/models"
	"github.com/antigravity-go/antigravity/llama/serve/internal/wire"
)

// TestEmbedWaits checks that embeddings wait for a place, leave when their context ends, and are refused if the line is full.
func TestEmbedWaits(t *testing.T) {
	model, err := embedded()
	if err != nil {
		t.Fatal(err)
	}
	registry, err := models.New([]models.Spec{{Name: "flint", Loaded: model, Pool: llama.PoolOptions{MaxSessions: 1}}}, models.Options{Places: 1, Waiting: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer registry.Close(t.Context())
	m, err := (&Service{Models: registry}).Open(t.Context(), "flint")
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	input := func(i int) string { return fmt.Sprintf("input[%d]", i) }
	held, err := m.Queue.Join("another", 1)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	left := make(chan error, 1)
	go func() {
		_, _, err := m.Embed(ctx, Compared{Texts: []string{"a"}, Place: input}, llama.EmbedOptions{})
		left <- err
	}()
	for m.Queue.Stats().Waiting == 0 { // until it waits
		select {
		case err := <-left:
			t.Fatalf("it did not wait: %v", err)
		default:
		}
	}
	_, _, err = m.Embed(t.Context(), Compared{Texts: []string{"a"}, Place: input}, llama.EmbedOptions{})
	if e, ok := errors.AsType[*wire.Error](err); !ok || e.Status != http.StatusTooManyRequests {
		t.Errorf("with a full line: %v", err)
	}
	cancel()
	if e, ok := errors.AsType[*wire.Error](<-left); !ok || e.Status != wire.StatusGone {
		t.Errorf("whose context ended: %v", e)
	}
	held[0].Leave()
	vectors, tokens, err := m.Embed(t.Context(), Compared{Texts: []string{"a", "b"}, Place: input}, llama.EmbedOptions{})
	if err != nil || len(vectors) != 2 || tokens < 2 {
		t.Errorf("%d vectors, %d tokens, %v", len(vectors), tokens, err)
	}
	if s := m.Queue.Stats(); s.Waiting != 0 {
		t.Errorf("the queue has %+v", s)
	}
}

func TestEmbedComputesFewTokensTogether(t *testing.T) {
	for _, c := range []struct{ counts, want []int }{
		{[]int{1}, []int{1}},
		{[]int{9999}, []int{1}},
		{[]int{512, 1, 511, 1}, []int{1, 3, 4}},
		{[]int{9999, 9999, 5}, []int{1, 2, 3}},
		{slices.Repeat([]int{2}, 600), []int{256, 512, 600}},
	} {
		if got := groups(c.counts); !slices.Equal(got, c.want) {
			t.Errorf("%d texts: %v, want %v", len(c.counts), got, c.want)
		}
	}
	model, err := embedded()
	if err != nil {
		t.Fatal(err)
	}
	registry, err := models.New([]models.Spec{{Name: "flint", Loaded: model}}, models.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer registry.Close(t.Context())
	m, err := (&Service{Models: registry}).Open(t.Context(), "flint")
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	var texts []string
	for i := range 20 {
		texts = append(texts, strings.Repeat(fmt.Sprint("the fox ", i, " "), 40))
	}
	vectors, _, err := m.Embed(t.Context(), Compared{Texts: texts, Place: func(i int) string { return fmt.Sprint(i) }}, llama.EmbedOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i, text := range texts {
		alone, err := model.Embed(t.Context(), text)
		if err != nil || !slices.Equal(alone[0], vectors[i]) {
			t.Errorf("text %d has another vector alone, %v", i, err)
		}
	}
}
