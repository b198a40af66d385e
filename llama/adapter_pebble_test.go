package llama_test

import (
	"context"
	"slices"
	"testing"

	"github.com/antigravity-go/antigravity/llama"
)

func pebbleAdapter(t testing.TB, m *llama.Model) *llama.Adapter {
	t.Helper()
	a, err := m.LoadAdapter("testdata/adapter")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close() })
	return a
}

// TestDraftsWithAdapters lets a model with an adapter, and without one, propose the tokens of an answer with that adapter: the answer is the
// same.
func TestDraftsWithAdapters(t *testing.T) {
	m := pebbleModel(t)
	o := &llama.SessionOptions{Adapter: pebbleAdapter(t, m)}
	answer := func(d llama.Drafter) string {
		a, err := llama.Collect(newSession(t, m, o).Chat(t.Context(), user("Tell me a story about a fox."), llama.Params{MaxTokens: 60, Draft: d}))
		if err != nil {
			t.Fatal(err)
		}
		return a.Text
	}
	want := answer(nil)
	for _, options := range []*llama.SessionOptions{o, nil} {
		d, err := llama.NewDraftModel(m, options)
		if err != nil {
			t.Fatal(err)
		}
		if got := answer(d); got != want {
			t.Errorf("with drafts %q, without %q", got, want)
		}
	}
	if got := answer(llama.PromptLookup(llama.LookupOptions{})); got != want {
		t.Errorf("with lookup %q, without %q", got, want)
	}
}

// TestEmbedWithAdapters embeds a text with an adapter, with a little of it, and without one.
func TestEmbedWithAdapters(t *testing.T) {
	m, ctx := pebbleModel(t), context.Background()
	a := pebbleAdapter(t, m)
	plain, err := m.Embed(ctx, "What is 3 + 4?")
	if err != nil {
		t.Fatal(err)
	}
	one, err1 := a.Embed(ctx, m, 0, "What is 3 + 4?")
	same, err2 := a.Embed(ctx, m, 1, "What is 3 + 4?")
	little, err3 := a.Embed(ctx, m, 0.1, "What is 3 + 4?")
	if err1 != nil || err2 != nil || err3 != nil {
		t.Fatal(err1, err2, err3)
	}
	if !slices.Equal(one[0], same[0]) || slices.Equal(one[0], plain[0]) || slices.Equal(one[0], little[0]) || slices.Equal(little[0], plain[0]) {
		t.Error("the adapter does not count as much as it should")
	}
}
