package chromem_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"testing"

	"github.com/philippgille/chromem-go"

	withchromem "github.com/antigravity-go/antigravity/llama/with/chromem"
	"github.com/antigravity-go/antigravity/llama/with/internal/withtest"
)

// TestSearch finds each text by itself, among texts that were added at once.
func TestSearch(t *testing.T) {
	flint := withtest.Flint(t)
	c, err := chromem.NewDB().CreateCollection("notes", nil, withchromem.Documents(flint))
	if err != nil {
		t.Fatal(err)
	}
	texts := []string{"Tokyo is the capital of Japan.", "Salad is made of leaves.", "It is 17 degrees and sunny in Nairobi.", "Apples grow on trees."}
	var documents []chromem.Document
	for i, text := range texts {
		documents = append(documents, chromem.Document{ID: fmt.Sprint(i), Content: text})
	}
	if err := c.AddDocuments(t.Context(), documents, 4); err != nil {
		t.Fatal(err)
	}
	for i, text := range texts {
		found, err := withchromem.Query(t.Context(), c, flint, text, 2, nil, nil)
		if err != nil || found[0].ID != fmt.Sprint(i) || found[0].Similarity < 0.999 || found[1].Similarity >= found[0].Similarity {
			t.Errorf("%q: %+v, %v", text, found, err)
		}
	}
}

func TestFunc(t *testing.T) {
	flint := withtest.Flint(t)
	embed := withchromem.Documents(flint)
	got, err := embed(t.Context(), "a cat")
	want, err2 := flint.Embed(t.Context(), "a cat")
	if err != nil || err2 != nil || !reflect.DeepEqual(got, want[0]) {
		t.Errorf("%v, %v", err, err2)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := embed(ctx, "a cat"); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	c, err := chromem.NewDB().CreateCollection("empty", nil, embed)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := withchromem.Query(t.Context(), c, flint, "", 1, nil, nil); err == nil {
		t.Error("an empty query has results")
	}
	if _, err := withchromem.Query(t.Context(), c, flint, "a", 1, nil, nil); err == nil {
		t.Error("an empty collection has results")
	}
}
