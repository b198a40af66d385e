package llama

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/antigravity-go/antigravity/internal/chat"
)

// A conversation with images is rendered with a token of the chat template's own for each image, and then the tokens of the images'
// attachments replace these. Of Qwen3-VL, for example:
//
//	Parts "Who smiles? ", an image of 640×426 pixels
//	rendered <|im_start|>user⏎Who smiles? <|vision_start|><|image_pad|><|vision_end|><|im_end|>⏎…
//	tokens   …, 151652, 260 tokens above the vocabulary, 151653, 151645, …
//
// A text of a user's cannot write the token: it is recognised only if the template wrote it.

// Inputs says what a model takes in messages.
type Inputs struct {
	Text  bool // texts: the model came with a tokenizer
	Image bool // images: the model came with a vision tower
}

// eyes are what a tokenizer and its model have in common, so that conversations may have images. The zero value belongs to no model.
type eyes struct {
	model string // the file of the model; "": there is no model
	why   string // why the model has no tower, though it seems to have one
	texts bool   // it takes texts
	sight sight  // nil: it sees no images
}

// Inputs returns what the model takes in messages.
func (e *eyes) Inputs() Inputs { return Inputs{Text: e.texts, Image: e.sight != nil} }

// sight is what makes tokens of images for a tokenizer: its model.
type sight interface {
	// placeholder returns the token that the chat template writes for an image.
	placeholder() Token
	// see returns the tokens of an image, of at most most soft tokens; 0: as many as are the model's default. It encodes the image unless the
	// model has done that before.
	see(ctx context.Context, i *Image, most int) ([]Token, error)
	// measure returns how many tokens see returns. It encodes nothing.
	measure(i *Image, most int) (int, error)
}

// seeing is how the images of a conversation become tokens.
type seeing func(ctx context.Context, i *Image, most int) ([]Token, error)

// see is a seeing that encodes images.
func (e *eyes) see(ctx context.Context, i *Image, most int) ([]Token, error) {
	return e.sight.see(ctx, i, most)
}

// measure is a seeing that only counts: all tokens are the placeholder.
func (e *eyes) measure(_ context.Context, i *Image, most int) ([]Token, error) {
	n, err := e.sight.measure(i, most)
	return slices.Repeat([]Token{e.sight.placeholder()}, n), err
}

// contentOf returns the content of message i for its rendering, and the images in it.
func (e *eyes) contentOf(i int, m *Message) (text string, parts []chat.Part, images []*Image, err error) {
	if m.Parts == nil {
		return m.Content, nil, nil, nil
	}
	if m.Content != "" {
		return "", nil, nil, &ParamError{fmt.Sprintf("history[%d].Content", i), fmt.Sprintf("%.40q", m.Content), "empty if there are Parts"}
	}
	for n, p := range m.Parts {
		switch field := fmt.Sprintf("history[%d].Parts[%d]", i, n); {
		case p.Image == nil:
		case p.Text != "":
			return "", nil, nil, &ParamError{field, "an image with the text " + fmt.Sprintf("%.40q", p.Text), "one of them: a text is a part of its own"}
		case e.sight == nil:
			return "", nil, nil, &ParamError{field, "an image", "text: " + e.blind()}
		default:
			images = append(images, p.Image)
		}
		parts = append(parts, chat.Part{Text: p.Text, Image: p.Image != nil})
	}
	if images == nil {
		return m.text(), nil, nil, nil
	}
	return "", parts, images, nil
}

// blind says why there can be no images.
func (e *eyes) blind() string {
	if e.model == "" {
		return "a tokenizer without its model sees no images"
	}
	if e.why != "" {
		return "the model " + e.model + " sees no images: " + e.why
	}
	return "the model " + e.model + " sees no images, since it came without a vision tower"
}

// text returns the texts of a message, put together.
func (m *Message) text() string {
	if m.Parts == nil {
		return m.Content
	}
	var all strings.Builder
	for _, p := range m.Parts {
		all.WriteString(p.Text)
	}
	return all.String()
}

// place replaces the template's tokens for images by the images' own.
func (e *eyes) place(ctx context.Context, tokens []Token, images []*Image, most int, see seeing) ([]Token, error) {
	if most < 0 {
		return nil, &ParamError{"TemplateOptions.ImageTokens", most, "positive, or 0 for the model's default"}
	}
	placeholder, places := e.sight.placeholder(), 0
	for _, token := range tokens {
		if token == placeholder {
			places++
		}
	}
	if places != len(images) {
		return nil, &ParamError{"history", fmt.Sprintf("a conversation with %d images", len(images)),
			fmt.Sprintf("one with images in messages where the model's chat template has a place for them: it wrote %d places", places)}
	}
	var placed []Token
	for _, token := range tokens {
		if token != placeholder {
			placed = append(placed, token)
			continue
		}
		own, err := see(ctx, images[0], most)
		if err != nil {
			return nil, err
		}
		placed, images = append(placed, own...), images[1:]
	}
	return placed, nil
}
