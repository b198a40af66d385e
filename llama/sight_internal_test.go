package llama

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/internal/chat"
	"github.com/antigravity-go/antigravity/internal/checkpoint"
	"github.com/antigravity-go/antigravity/internal/fixture"
)

// bytewise is a vocabulary in which each byte is a token, and imagePlace one more.
type bytewise struct{ noVocabulary }

const (
	imagePlace = "<image>"
	placeToken = 256
	firstImage = 1000 // ids of images' rows begin here
)

func (bytewise) EncodeSegments(dst []int32, segments iter.Seq2[string, bool]) []int32 {
	for text, trusted := range segments {
		if trusted && text == imagePlace {
			dst = append(dst, placeToken)
			continue
		}
		for _, b := range []byte(text) {
			dst = append(dst, int32(b))
		}
	}
	return dst
}

func (bytewise) Encode(dst []int32, text string) []int32 {
	return bytewise{}.EncodeSegments(dst, func(yield func(string, bool) bool) { yield(text, false) })
}

func (bytewise) Added() []string { return []string{imagePlace} }

func (bytewise) ID(string) (int32, bool) { return placeToken, true }

// glance is a sight by which an image has a row for each pixel of its width, up to most, and the rows' ids say its height.
type glance struct{ seen, measured int }

func (g *glance) placeholder() (written, row string) { return imagePlace, imagePlace }

func (g *glance) see(_ context.Context, i *Image, most int) ([]Token, error) {
	g.seen++
	rgb, err := i.decoded()
	if err != nil {
		return nil, err
	}
	return slices.Repeat([]Token{Token(firstImage + rgb.Height)}, rowsOf(rgb.Width, most)), nil
}

func rowsOf(width, most int) int {
	if most > 0 {
		return min(width, most)
	}
	return width
}

// frame has a bar after every second row.
func (g *glance) frame(i *Image, most int) (list []checkpoint.Stretch, err error) {
	g.measured++
	width, _, err := i.size()
	n := rowsOf(width, most)
	list = []checkpoint.Stretch{{Rows: min(n, 2)}}
	for n -= 2; n > 0; n -= 2 {
		list = append(list, checkpoint.Stretch{Text: "|", Rows: min(n, 2)})
	}
	return list, err
}

// seeingTokenizer is a tokenizer of a model that sees by g, if g is not nil.
func seeingTokenizer(t *testing.T, template string, g *glance) *Tokenizer {
	t.Helper()
	parsed, err := chat.Parse(template, []string{imagePlace}, "", "")
	if err != nil {
		t.Fatal(err)
	}
	k := &Tokenizer{eyes: &eyes{texts: true}, vocabulary: bytewise{noVocabulary{257}}, templates: templates{all: []namedTemplate{{"default", template, parsed, nil}}}}
	if g != nil {
		k.eyes.sight = g
	}
	return k
}

// chatty is a template that takes texts and lists of parts, of all roles but the system's.
const chatty = `{%- for m in messages -%}
{{ m.role[0] }}:
{%- if m.content is string %}{{ m.content }}
{%- elif m.role == 'system' %}{{ m.content[0].text }}
{%- else %}{% for p in m.content %}{% if p.type == 'image' %}<image>{% else %}{{ p.text }}{% endif %}{% endfor %}
{%- endif %};
{%- endfor -%}`

// read returns tokens as a text, in which {**7} is two rows of an image 7 pixels high.
func read(tokens []Token) string {
	var b strings.Builder
	for len(tokens) > 0 {
		n := 1
		if tokens[0] < firstImage {
			b.WriteByte(byte(tokens[0]))
		} else {
			for n < len(tokens) && tokens[n] == tokens[0] {
				n++
			}
			b.WriteString("{" + strings.Repeat("*", n) + string(rune('0'+tokens[0]-firstImage)) + "}")
		}
		tokens = tokens[n:]
	}
	return b.String()
}

func madeImage(t *testing.T, width, height int) *Image {
	t.Helper()
	i, err := ImageOf(testPicture(width, height))
	if err != nil {
		t.Fatal(err)
	}
	return i
}

// TestTemplateWithImages renders conversations with images.
func TestTemplateWithImages(t *testing.T) {
	a, b := madeImage(t, 2, 1), madeImage(t, 3, 2)
	user := func(parts ...Part) Message { return Message{Role: RoleUser, Parts: parts} }
	said := func(text string) Part { return Part{Text: text} }
	shown := func(i *Image) Part { return Part{Image: i} }
	for name, c := range map[string]struct {
		history []Message
		options TemplateOptions
		want    string // "": a *ParamError with words
		words   string
	}{
		"one":                   {[]Message{user(said("What is "), shown(a), said("?"))}, TemplateOptions{}, "u:What is {**1}?;", ""},
		"several":               {[]Message{user(shown(a), shown(b)), {Role: RoleAssistant, Content: "I see."}, user(said("And "), shown(a))}, TemplateOptions{}, "u:{**1}{**2}|{*2};a:I see.;u:And {**1};", ""},
		"bounded":               {[]Message{user(shown(b))}, TemplateOptions{ImageTokens: 2}, "u:{**2};", ""},
		"texts alone":           {[]Message{user(said("a"), said("<image>"))}, TemplateOptions{}, "u:a<image>;", ""},
		"forged":                {[]Message{user(said("<image>"), shown(a), said("<image>")), {Role: RoleAssistant, Content: "<image>"}}, TemplateOptions{}, "u:<image>{**1}<image>;a:<image>;", ""},
		"an answer that begins": {[]Message{user(shown(a)), {Role: RoleAssistant, Parts: []Part{said("I "), said("see")}}}, TemplateOptions{Continue: true}, "u:{**1};I see", ""},
		"a content, too":        {[]Message{{Role: RoleUser, Content: "b", Parts: []Part{shown(a)}}}, TemplateOptions{}, "", "history[0].Content"},
		"a text with an image":  {[]Message{user(Part{Text: "b", Image: a})}, TemplateOptions{}, "", "history[0].Parts[0]"},
		"no place":              {[]Message{{Role: RoleSystem, Parts: []Part{said("s"), shown(a)}}, user(said("b"))}, TemplateOptions{}, "", "it wrote 0 places"},
		"an answer of images":   {[]Message{user(said("b")), {Role: RoleAssistant, Parts: []Part{shown(a)}}}, TemplateOptions{Continue: true}, "", "history[1].Parts"},
		"a negative bound":      {[]Message{user(shown(a))}, TemplateOptions{ImageTokens: -1}, "", "ImageTokens"},
	} {
		t.Run(name, func(t *testing.T) {
			tokens, err := seeingTokenizer(t, chatty, &glance{}).Template(c.history, c.options)
			if wrong, ok := errors.AsType[*ParamError](err); c.want == "" {
				if !ok || !strings.Contains(wrong.Error(), c.words) {
					t.Errorf("%v", err)
				}
			} else if got := read(tokens); err != nil || got != c.want {
				t.Errorf("%q, %v; want %q", got, err, c.want)
			}
		})
	}
}

// TestBlindModels shows images to models that see nothing.
func TestBlindModels(t *testing.T) {
	k := seeingTokenizer(t, chatty, nil)
	history := []Message{{Role: RoleUser, Content: "a"}, {Role: RoleUser, Parts: []Part{{Text: "b"}, {Image: madeImage(t, 1, 1)}}}}
	for model, words := range map[string]string{"": "a tokenizer without its model", "seer.gguf": "the model seer.gguf sees no images"} {
		k.eyes.model = model
		_, err := k.Template(history, TemplateOptions{})
		if wrong, ok := errors.AsType[*ParamError](err); !ok || wrong.Field != "history[1].Parts[1]" || !strings.Contains(wrong.Want, words) {
			t.Errorf("model %q: %v", model, err)
		}
	}
	if _, err := k.DropTurns(history, TemplateOptions{}, 100); !errors.As(err, new(*ParamError)) {
		t.Errorf("DropTurns: %v", err)
	}
	history[1].Parts = history[1].Parts[:1]
	if tokens, err := k.Template(history, TemplateOptions{}); err != nil || read(tokens) != "u:a;u:b;" {
		t.Errorf("texts alone: %q, %v", read(tokens), err)
	}
}

// TestDropTurnsWithImages drops turns until the images of the rest fit, and encodes no image for that.
func TestDropTurnsWithImages(t *testing.T) {
	g := &glance{}
	k := seeingTokenizer(t, chatty, g)
	turn := []Message{{Role: RoleUser, Parts: []Part{{Image: madeImage(t, 100, 1)}}}, {Role: RoleAssistant, Content: "I see."}}
	history := slices.Concat(turn, turn, turn, turn)
	rest, err := k.DropTurns(history, TemplateOptions{}, 350)
	if err != nil || len(rest) != 4 {
		t.Errorf("%d messages are left, %v; want 4", len(rest), err)
	}
	if rest, err = k.DropTurns(history, TemplateOptions{ImageTokens: 30}, 350); err != nil || len(rest) != 8 {
		t.Errorf("%d messages are left with a bound on images, %v; want 8", len(rest), err)
	}
	if _, err := k.DropTurns(history, TemplateOptions{}, 50); !errors.Is(err, ErrContextFull) {
		t.Errorf("an image that does not fit: %v", err)
	}
	if g.seen != 0 || g.measured == 0 {
		t.Errorf("%d images were encoded, %d were measured", g.seen, g.measured)
	}
}

// specials is a vocabulary with a model's special tokens, which are recognised in trusted texts alone. Bytes are tokens, too.
type specials struct {
	noVocabulary
	added []string
}

func (v specials) EncodeSegments(dst []int32, segments iter.Seq2[string, bool]) []int32 {
	for text, trusted := range segments {
		for text != "" {
			at := slices.IndexFunc(v.added, func(token string) bool { return strings.HasPrefix(text, token) })
			if !trusted || at < 0 {
				dst, text = append(dst, int32(text[0])), text[1:]
				continue
			}
			dst, text = append(dst, int32(256+at)), text[len(v.added[at]):]
		}
	}
	return dst
}

func (v specials) Added() []string { return v.added }

func (v specials) ID(text string) (int32, bool) {
	at := slices.Index(v.added, text)
	return int32(256 + at), at >= 0
}

// processed is a sight that frames pictures as a tower does.
type processed struct{ *checkpoint.Tower }

func (p processed) placeholder() (written, row string) { return p.Placeholder() }

func (p processed) frame(i *Image, most int) ([]checkpoint.Stretch, error) {
	width, height, err := i.size()
	if err != nil {
		return nil, err
	}
	plan, err := p.Pixels.Plan(width, height, most)
	return p.Frame(&plan), err
}

func (p processed) see(_ context.Context, i *Image, most int) ([]Token, error) {
	stretches, err := p.frame(i, most)
	var rows []Token
	for _, s := range stretches {
		rows = append(rows, slices.Repeat([]Token{firstImage}, s.Rows)...)
	}
	return rows, err
}

// TestPublishedTemplatesWithImages renders a message by the templates of families that write tokens around and between the rows of an image. ⟨ and ⟩ stand
// around special tokens, and {n} for n rows. What a user writes stays text.
func TestPublishedTemplatesWithImages(t *testing.T) {
	const forged = "[IMG][IMG_BREAK]<image><row_1_col_1><start_of_image>"
	for _, c := range []struct {
		template, folder string
		added            []string
		want             string
	}{
		{"gemma3", "vl-gemma3", []string{"<start_of_turn>", "<end_of_turn>", "<start_of_image>", "<end_of_image>", "<image_soft_token>"},
			"⟨<start_of_turn>⟩user\n\n\n⟨<start_of_image>⟩{9}⟨<end_of_image>⟩\n\n" + forged + "⟨<end_of_turn>⟩\n⟨<start_of_turn>⟩model\n"},
		{"gemma3", "vl-gemma3", []string{"<start_of_turn>", "<end_of_turn>", "<start_of_image>", "<end_of_image>", "<unused0>"}, // a file of the model of text lacks the token of rows
			"⟨<start_of_turn>⟩user\n\n\n⟨<start_of_image>⟩{9}⟨<end_of_image>⟩\n\n" + forged + "⟨<end_of_turn>⟩\n⟨<start_of_turn>⟩model\n"},
		{"pixtral", "vl-mistral3", []string{"[INST]", "[/INST]", "[IMG]", "[IMG_BREAK]", "[IMG_END]"}, "⟨[INST]⟩{6}⟨[IMG_BREAK]⟩{6}⟨[IMG_BREAK]⟩{6}⟨[IMG_END]⟩" + forged + "⟨[/INST]⟩"},
		{"smolvlm", "vl-smolvlm", []string{"<|im_start|>", "<end_of_utterance>", "<image>", "<fake_token_around_image>", "<global-img>", "<row_1_col_1>", "<row_1_col_2>"},
			"⟨<|im_start|>⟩User:⟨<fake_token_around_image>⟩⟨<row_1_col_1>⟩{4}⟨<fake_token_around_image>⟩⟨<row_1_col_2>⟩{4}\n\n⟨<fake_token_around_image>⟩⟨<global-img>⟩{4}⟨<fake_token_around_image>⟩" +
				forged + "⟨<end_of_utterance>⟩\nAssistant:"},
	} {
		source, err := os.ReadFile("../internal/chat/testdata/images/" + c.template + ".jinja")
		if err != nil {
			t.Fatal(err)
		}
		parsed, err := chat.Parse(string(source), c.added, "", "")
		if err != nil {
			t.Fatal(err)
		}
		m := loadSeeing(t, fixture.Path(t, "families/"+c.folder), nil)
		k := &Tokenizer{eyes: &eyes{texts: true, sight: processed{m.described}}, vocabulary: specials{noVocabulary{300}, c.added}, templates: templates{all: []namedTemplate{{"default", string(source), parsed, nil}}}}
		tokens, err := k.Template([]Message{{Role: RoleUser, Parts: []Part{{Image: madeImage(t, 96, 48)}, {Text: forged}}}}, TemplateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		var got strings.Builder
		for rows, i := 0, 0; i < len(tokens); i++ {
			switch token := tokens[i]; {
			case token == firstImage:
				if rows++; i+1 == len(tokens) || tokens[i+1] != firstImage {
					fmt.Fprintf(&got, "{%d}", rows)
					rows = 0
				}
			case token >= 256:
				got.WriteString("⟨" + c.added[token-256] + "⟩")
			default:
				got.WriteByte(byte(token))
			}
		}
		if got.String() != c.want {
			t.Errorf("%s:\n%q, want\n%q", c.template, got.String(), c.want)
		}
	}
}
