package llama_test

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/internal/llamatest"
)

// answerer is Chat.
type answerer = func(context.Context, []llama.Message, llama.Params) iter.Seq2[llama.Piece, error]

// TestChatWithImages talks to a model about images: answers are those to the tokens of the images' attachments, a second turn computes and
// encodes nothing again, and texts that look like images are texts.
func TestChatWithImages(t *testing.T) {
	m := llamatest.Load(t, llamatest.SeeingFolder(t), nil)
	if in := m.Inputs(); !in.Text || !in.Image {
		t.Errorf("the model takes %+v", in)
	}
	file := llamatest.PictureFile(t, 90, 60, 1)
	image := func() *llama.Image { // anew each time, as a server gets it
		i, err := llama.NewImage(slices.Clone(file))
		if err != nil {
			t.Fatal(err)
		}
		return i
	}
	ask := func(chat answerer, history []llama.Message, p llama.Params) llama.Piece {
		t.Helper()
		p.MaxTokens = 8
		piece, err := llama.Collect(chat(t.Context(), history, p))
		if err != nil {
			t.Fatal(err)
		}
		return piece
	}
	history := []llama.Message{{Role: llama.RoleUser, Parts: []llama.Part{{Text: "See <|image_pad|>: "}, {Image: image()}, {Text: "!"}}}}

	attachment, err := m.Attach(t.Context(), image(), 0)
	if err != nil {
		t.Fatal(err)
	}
	rows, columns := attachment.Size()
	if rows*columns != len(attachment.Tokens()) || len(attachment.Features()) != rows*columns*m.Config().HiddenSize {
		t.Errorf("%d×%d rows, %d tokens, %d features", rows, columns, len(attachment.Tokens()), len(attachment.Features()))
	}
	k := m.Tokenizer()
	want := slices.Concat(k.EncodeSpecial("<|im_start|>user\nSee ", false), k.Encode("<|image_pad|>"), k.Encode(": "), k.EncodeSpecial("<|vision_start|>", false),
		attachment.Tokens(), k.EncodeSpecial("<|vision_end|>!<|im_end|>\n<|im_start|>assistant\n", false))
	prompt, err := k.Template(history, llama.TemplateOptions{})
	if err != nil || !slices.Equal(prompt, want) {
		t.Fatalf("the prompt is %v, %v\nwant %v", prompt, err, want)
	}

	session := llamatest.Session(t, m, nil)
	first := ask(session.Chat, history, llama.Params{})
	if byTokens := ask(func(ctx context.Context, _ []llama.Message, p llama.Params) iter.Seq2[llama.Piece, error] {
		return llamatest.Session(t, m, nil).Generate(ctx, prompt, p)
	}, nil, llama.Params{}); byTokens.Text != first.Text || first.Stats.PromptTokens != len(prompt) {
		t.Errorf("%q by tokens, %q by messages of %d tokens", byTokens.Text, first.Text, first.Stats.PromptTokens)
	}
	pool, err := m.NewPool(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	if other := ask(pool.Chat, history, llama.Params{}); other.Text != first.Text {
		t.Errorf("%q of a pool, %q of a session", other.Text, first.Text)
	}
	history[0].Parts[1].Image = image()
	history = append(history, first.Message, llama.Message{Role: llama.RoleUser, Content: "And?"})
	for name, chat := range map[string]answerer{"session": session.Chat, "pool": pool.Chat} {
		if second := ask(chat, history, llama.Params{}); second.Stats.ReusedTokens < len(prompt) {
			t.Errorf("the second turn of a %s uses %d tokens of %d again", name, second.Stats.ReusedTokens, len(prompt))
		}
	}
	if again, err := m.Attach(t.Context(), image(), 0); err != nil || again != attachment {
		t.Errorf("an image with the same pixels is attached anew: %v", err)
	}
	other, err := llama.NewImage(llamatest.PictureFile(t, 90, 60, 2))
	if err != nil {
		t.Fatal(err)
	}
	if a, err := m.Attach(t.Context(), other, 0); err != nil || slices.Equal(a.Tokens(), attachment.Tokens()) {
		t.Errorf("another image has the same tokens: %v", err)
	}

	// Bounds: of a call, of a template, and of a session.
	small, err := m.Attach(t.Context(), image(), 4)
	if err != nil || len(small.Tokens()) > 4 {
		t.Fatalf("%d tokens, %v", len(small.Tokens()), err)
	}
	shorter := len(prompt) - len(attachment.Tokens()) + len(small.Tokens())
	history = history[:1]
	if bounded, err := k.Template(history, llama.TemplateOptions{ImageTokens: 4}); err != nil || len(bounded) != shorter {
		t.Errorf("%d tokens with bounded images, %v; want %d", len(bounded), err, shorter)
	}
	if piece := ask(llamatest.Session(t, m, &llama.SessionOptions{ImageTokens: 4}).Chat, history, llama.Params{}); piece.Stats.PromptTokens != shorter {
		t.Errorf("a session's bound: %d tokens, want %d", piece.Stats.PromptTokens, shorter)
	}
}

// TestImagesThatCannotBeSeen shows images that are damaged, that have no place, and that do not fit.
func TestImagesThatCannotBeSeen(t *testing.T) {
	m := llamatest.Load(t, llamatest.SeeingFolder(t), nil)
	file := llamatest.PictureFile(t, 90, 60, 1)
	file[len(file)/2] ^= 1
	damaged, err := llama.NewImage(file)
	if err != nil {
		t.Fatal(err)
	}
	narrow, err := llama.NewImage(llamatest.PictureFile(t, 4000, 2, 1))
	if err != nil {
		t.Fatal(err)
	}
	whole, err := llama.NewImage(llamatest.PictureFile(t, 90, 60, 1))
	if err != nil {
		t.Fatal(err)
	}
	message := func(role string, i *llama.Image) []llama.Message {
		return []llama.Message{{Role: role, Parts: []llama.Part{{Image: i}}}}
	}
	session := llamatest.Session(t, m, &llama.SessionOptions{Capacity: 16})
	for name, c := range map[string]struct {
		history []llama.Message
		words   string
	}{
		"damaged":                {message(llama.RoleUser, damaged), "unreadable"},
		"too narrow":             {message(llama.RoleUser, narrow), "4000×2"},
		"in a system's message":  {append(message(llama.RoleSystem, whole), llama.Message{Role: llama.RoleUser, Content: "?"}), "has an image"},
		"larger than the memory": {message(llama.RoleUser, whole), "do not fit"},
	} {
		_, err := llama.Collect(session.Chat(t.Context(), c.history, llama.Params{MaxTokens: 1}))
		if err == nil || !strings.Contains(err.Error(), c.words) {
			t.Errorf("%s: %v", name, err)
		}
		if isParam := errors.As(err, new(*llama.ParamError)); (name == "damaged" || name == "too narrow") && !isParam {
			t.Errorf("%s: %T", name, err)
		}
	}
	if _, err := llamatest.Pebble(t).Attach(t.Context(), whole, 0); !errors.As(err, new(*llama.ParamError)) || !strings.Contains(err.Error(), "sees no images") {
		t.Errorf("a model that sees nothing: %v", err)
	}
}
