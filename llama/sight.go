package llama

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/antigravity-go/antigravity/internal/chat"
	"github.com/antigravity-go/antigravity/internal/checkpoint"
)

// A conversation with images is rendered with a token of the chat template's own for each image. What the model's processor makes of that token takes its
// place: texts, and runs of rows, for which one token each stands until the text is encoded. Then the ids of the image's rows replace it. Of Mistral 3, for
// example, with an image of 2 lines of 3 rows:
//
//	Parts     "Who smiles? ", the image
//	rendered  [INST]Who smiles? [IMG][/INST]
//	framed    [INST]Who smiles? [IMG][IMG_BREAK][IMG][IMG_END][/INST]      a mark for each run
//	tokens    3, …, 3 rows, 12, 3 rows, 13, 4                              rows are above the vocabulary
//
// So texts around an image are encoded together with what the processor writes there, as in transformers. A text of a user's cannot write any of these
// tokens: they are recognised only if the template or the processor wrote them.

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
	// placeholder returns the texts of the token that the chat template writes for an image, and of one that can stand for rows.
	placeholder() (written, row string)
	// frame returns what stands in a prompt for an image of at most most soft tokens; 0: as many as are the model's default. It encodes nothing.
	frame(i *Image, most int) ([]checkpoint.Stretch, error)
	// see returns the ids of the image's rows. It encodes the image unless the model has done that before.
	see(ctx context.Context, i *Image, most int) ([]Token, error)
}

// seeing returns the ids of an image's rows, a number of them that is known.
type seeing func(ctx context.Context, i *Image, most, rows int) ([]Token, error)

// see is a seeing that encodes images.
func (e *eyes) see(ctx context.Context, i *Image, most, _ int) ([]Token, error) {
	return e.sight.see(ctx, i, most)
}

// measure is a seeing that only counts: all ids are 0.
func (e *eyes) measure(_ context.Context, _ *Image, _, rows int) ([]Token, error) {
	return make([]Token, rows), nil
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

// placeImages returns the tokens of segments, in which the template's tokens for images are replaced by what stands for them.
func placeImages(ctx context.Context, t *Tokenizer, segments []chat.Segment, images []*Image, most int, see seeing) ([]Token, error) {
	if most < 0 {
		return nil, &ParamError{"TemplateOptions.ImageTokens", most, "positive, or 0 for the model's default"}
	}
	sight := t.eyes.sight
	written, row := sight.placeholder()
	prompt, places := framing{t: t}, 0
	for _, s := range segments {
		if !s.Special || s.Text != written {
			if s.Text != "" {
				prompt.segments = append(prompt.segments, s)
			}
			continue
		}
		if places++; places > len(images) {
			continue
		}
		stretches, err := sight.frame(images[places-1], most)
		if err != nil {
			return nil, err
		}
		prompt.frame(stretches)
	}
	if places != len(images) {
		return nil, &ParamError{"history", fmt.Sprintf("a conversation with %d images", len(images)),
			fmt.Sprintf("one with images in messages where the model's chat template has a place for them: it wrote %d places", places)}
	}
	tokens, err := prompt.encode(row)
	if err != nil {
		return nil, err
	}
	ids := make([][]Token, len(images))
	for i, shown := range images {
		if ids[i], err = see(ctx, shown, most, prompt.rowsOf(i)); err != nil {
			return nil, err
		}
	}
	return prompt.fill(tokens, func(image, rows int) []Token {
		some := ids[image][:rows]
		ids[image] = ids[image][rows:]
		return some
	}), nil
}

// framing is a prompt with images in the making.
type framing struct {
	t        *Tokenizer
	segments []chat.Segment // one without a text stands for a run
	runs     []run
	images   int
	mark     Token // what stands for a run among tokens
}

// run is some rows of an image that follow each other.
type run struct{ image, rows int }

// frame adds an image.
func (f *framing) frame(stretches []checkpoint.Stretch) {
	for _, s := range stretches {
		if s.Text != "" {
			f.segments = append(f.segments, chat.Segment{Text: s.Text, Special: true})
		}
		if s.Rows > 0 {
			f.segments = append(f.segments, chat.Segment{})
			f.runs = append(f.runs, run{f.images, s.Rows})
		}
	}
	f.images++
}

// rowsOf returns how many rows an image has.
func (f *framing) rowsOf(image int) (rows int) {
	for _, r := range f.runs {
		if r.image == image {
			rows += r.rows
		}
	}
	return rows
}

// encode returns the tokens, with a mark for each run: the token of a text or, if the vocabulary lacks it, another added token that does not occur.
func (f *framing) encode(text string) ([]Token, error) {
	if !f.t.eyes.texts {
		return slices.Repeat([]Token{f.mark}, len(f.runs)), nil
	}
	added := f.t.vocabulary.Added()
	if !slices.Contains(added, text) {
		unused := slices.IndexFunc(added, func(token string) bool {
			return token != "" && !slices.ContainsFunc(f.segments, func(s chat.Segment) bool { return strings.Contains(s.Text, token) })
		})
		if unused < 0 {
			return nil, fmt.Errorf("the tokenizer has no token %q, which stands for images: %w", text, ErrUnsupported)
		}
		text = added[unused]
	}
	id, _ := f.t.vocabulary.ID(text)
	f.mark = Token(id)
	segments := slices.Clone(f.segments)
	for i := range segments {
		if segments[i].Text == "" {
			segments[i] = chat.Segment{Text: text, Special: true}
		}
	}
	return encodeSegments(f.t.vocabulary, segments), nil
}

// fill replaces the marks by what rows returns for them.
func (f *framing) fill(tokens []Token, rows func(image, n int) []Token) (filled []Token) {
	runs := f.runs
	for _, token := range tokens {
		if token != f.mark || len(runs) == 0 {
			filled = append(filled, token)
			continue
		}
		filled = append(filled, rows(runs[0].image, runs[0].rows)...)
		runs = runs[1:]
	}
	return filled
}
