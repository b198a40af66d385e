package llama_test

import (
	"io"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/antigravity-go/antigravity/asm"
	"github.com/antigravity-go/antigravity/internal/effort"
	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/flint"
	"github.com/antigravity-go/antigravity/llama/pebble"
)

// pebbleDrafter returns a drafter of a Pebble of its own, and that model.
func pebbleDrafter(t testing.TB, o *llama.SessionOptions) (llama.Drafter, *llama.Model) {
	t.Helper()
	m, err := pebble.Load(nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	d, err := llama.NewDraftModel(m, o)
	if err != nil {
		t.Fatal(err)
	}
	return d, m
}

// render returns a conversation's tokens.
func render(t testing.TB, m *llama.Model, history []llama.Message) []llama.Token {
	t.Helper()
	tokens, err := m.Tokenizer().Template(history, llama.TemplateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return tokens
}

// TestDraftModelProposesItsContinuation asks for proposals at every token of an answer, as a session with drafts that are right, wrong, or
// cut back does: they are what the model would write, up to the end of its turn.
func TestDraftModelProposesItsContinuation(t *testing.T) {
	d, m := pebbleDrafter(t, nil)
	prompt := render(t, m, user("What is the capital of France?"))
	all, err := llama.Collect(newSession(t, m, nil).Generate(t.Context(), prompt, llama.Params{}))
	if err != nil || all.Stop != llama.EndOfTurn {
		t.Fatalf("%v, %v", all, err)
	}
	went := slices.Concat(prompt, all.Tokens)
	for _, end := range []int{0, 1, 2, 5, 3, len(all.Tokens) - 1, len(all.Tokens), 0} {
		end = len(prompt) + min(end, len(all.Tokens))
		for _, most := range []int{0, 1, 3, 48} {
			got := d.Draft(make([]llama.Token, 0, most), went[:end])
			if want := went[end:min(end+most, len(went))]; !slices.Equal(got, want) {
				t.Errorf("%d tokens of the answer, up to %d: %v, want %v", end-len(prompt), most, got, want)
			}
		}
	}
	if got := d.Draft([]llama.Token{7}, prompt); len(got) != 1 || got[0] != 7 {
		t.Errorf("without room the proposal is %v", got)
	}
	if got := d.Draft(make([]llama.Token, 0, 4), []llama.Token{1, 1 << 30}); len(got) != 0 {
		t.Errorf("after a token that is not in the vocabulary %v is proposed", got)
	}
	if got := d.Draft(make([]llama.Token, 0, 4), stream(m.Config().ContextLength+1)); len(got) != 0 {
		t.Errorf("after more tokens than the model has room for %v is proposed", got)
	}
}

// TestDraftModelChangesNoAnswer lets sessions share a draft model: one that is the same model, with proposals that are all right, and one
// that knows other tokens. The model that answers takes a while for each pass, so that drafts pay.
func TestDraftModelChangesNoAnswer(t *testing.T) {
	effort.Turn(t, 8)
	slow := watched(t, func(int) error { time.Sleep(3 * time.Millisecond); return nil })
	same, _ := pebbleDrafter(t, nil)
	other, err := flint.Load(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	stranger, err := llama.NewDraftModel(other, nil)
	if err != nil {
		t.Fatal(err)
	}
	questions := []string{"What is the capital of France?", "What is 7 + 5?", "Spell the word apple.", "Tell me about yourself."}
	params := []llama.Params{{MaxTokens: 60}, {MaxTokens: 30, Temperature: 1.3, TopK: 50, Seed: 3, Logprobs: 1}, {MaxTokens: 30, Stop: []string{"a"}}}
	if asm.Tier() == "generic" {
		questions = questions[:2] // the portable kernels are slow
	}
	var all sync.WaitGroup
	var mu sync.Mutex
	drafted, accepted := 0, 0 // of greedy answers with the same model
	for _, question := range questions {
		for i, p := range params {
			history := user(question)
			want, err := llama.Collect(newSession(t, pebbleModel(t), nil).Chat(t.Context(), history, p))
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range []llama.Drafter{same, stranger} {
				s, p := newSession(t, slow, nil), p
				p.Draft = d
				all.Go(func() {
					got, err := llama.Collect(s.Chat(t.Context(), history, p))
					if err != nil || got.Text != want.Text || !slices.Equal(got.Tokens, want.Tokens) || got.Stop != want.Stop ||
						!reflect.DeepEqual(got.Logprobs, want.Logprobs) {
						t.Errorf("%s, %+v: %q (%v) with drafts, %q (%v) without: %v", question, p, got.Text, got.Stop, want.Text, want.Stop, err)
					}
					if i == 0 && d == same {
						mu.Lock()
						defer mu.Unlock()
						drafted += got.Stats.DraftedTokens
						accepted += got.Stats.AcceptedTokens
					}
				})
			}
		}
	}
	all.Wait()
	t.Logf("%d drafted, %d accepted", drafted, accepted)
	if drafted == 0 || accepted != drafted {
		t.Errorf("of %d tokens that the same model drafted %d were accepted, want some and all", drafted, accepted)
	}
}

// TestDraftModelCloses closes a drafter and its model while answers go on.
func TestDraftModelCloses(t *testing.T) {
	d, m := pebbleDrafter(t, nil)
	context := render(t, m, user("What is the capital of France?"))
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 20 {
				d.Draft(make([]llama.Token, 0, 4), context)
			}
		})
	}
	for range 3 { // closing gives idle sessions back, whoever else is drafting
		if err := d.(io.Closer).Close(); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Millisecond)
	}
	all.Wait()
	if m.MemoryUsage().Caches == 0 {
		t.Error("no session is kept between proposals")
	}
	if err := d.(io.Closer).Close(); err != nil {
		t.Error(err)
	}
	if used := m.MemoryUsage().Caches; used != 0 {
		t.Errorf("caches of %d bytes after closing", used)
	}
	if got := d.Draft(make([]llama.Token, 0, 4), context); len(got) == 0 {
		t.Error("after Close, which gives memory back, nothing is proposed any more")
	}
	m.Close()
	if got := d.Draft(make([]llama.Token, 0, 4), context); len(got) != 0 {
		t.Errorf("a closed model proposes %v", got)
	}
	answer, err := llama.Collect(newSession(t, pebbleModel(t), nil).Chat(t.Context(), user("What is the capital of France?"), llama.Params{Draft: d}))
	if err != nil || !strings.Contains(answer.Text, "Paris") {
		t.Errorf("with a drafter whose model is closed: %q, %v", answer.Text, err)
	}
}
