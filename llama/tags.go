package llama

import (
	"context"
	"fmt"
	"slices"

	"github.com/antigravity-go/antigravity/internal/aligned"
)

// Tag is a token of a text with the scores of the labels, those of Config.Labels in their order, which add up to 1. Start and End are the bytes of the
// text that the token comes from, as Hugging Face's tokenizers have them: a character that is spread over several tokens belongs to each.
type Tag struct {
	Start, End int
	Scores     []float32
}

// Tags returns the tokens of a text with the scores of their labels. The special tokens that the tokenizer puts around a text are left out. Special
// tokens in the text are inert.
//
// A text that is longer than LongestText is cut into windows of as many tokens, which overlap by a quarter. A token in two
// windows has the scores of the one in which it is farther from the ends. If no layer sees a whole text, windows are only so long that this
// quarter is all that a token sees through the layers, before and after its own: memory does not grow with the text. Windows are computed together, and
// together with texts of other goroutines; no score depends on the company. The error of a model that is no Tagger wraps ErrUnsupported.
func (m *Model) Tags(ctx context.Context, text string) ([]Tag, error) {
	tags, _, err := tagged(ctx, m, text)
	return tags, err
}

// tagged is m.Tags that also returns the tokens.
func tagged(ctx context.Context, m *Model, text string) ([]Tag, []Token, error) {
	if kind := m.Kind(); kind != Tagger {
		does := kinds[kind].does
		if kind == Generator {
			does = "it goes on with texts"
		}
		return nil, nil, fmt.Errorf("%w: the model puts no labels on tokens; %s", ErrUnsupported, does)
	}
	if err := m.tokenizer.hasTexts(); err != nil {
		return nil, nil, err
	}
	tokens, spans, err := m.tokenizer.places(text)
	if err != nil || len(tokens) == 0 {
		return nil, nil, err
	}
	before, after := m.tokenizer.EncodeSpecial("", true), fromInt32(m.tokenizer.around.After())
	room := m.LongestText() - len(before) - len(after)
	if room < 1 {
		return nil, nil, fmt.Errorf("a text with the tokens around it: %w", &ContextFullError{Want: len(before) + len(after) + 1, Room: m.LongestText()})
	}
	room = min(room, widestWindow(m))
	tags := make([]Tag, len(tokens))
	labels := len(m.config.Head.Labels)
	for windows := range slices.Chunk(windowsOf(len(tokens), room), windowsTogether) {
		l := labelling{model: m}
		for _, w := range windows {
			l.texts = append(l.texts, slices.Concat(before, tokens[w.start:w.end], after))
		}
		all, err := l.numbers(ctx)
		if err != nil {
			return nil, nil, err
		}
		for i, w := range windows {
			for at := w.first; at < w.last; at++ {
				scores := all[i][(len(before)+at-w.start)*labels:][:labels:labels]
				softmax(scores)
				tags[at] = Tag{int(spans[at].Start), int(spans[at].End), scores}
			}
		}
	}
	return tags, tokens, nil
}

// windowsTogether is how many windows are computed together: their states take memory.
const windowsTogether = 16

// places returns the tokens of a text, without those around it, and the places that they come from.
func (t *Tokenizer) places(text string) ([]Token, []aligned.Span, error) {
	v, ok := t.vocabulary.(interface {
		EncodeSpans(text string) ([]int32, []aligned.Span)
	})
	if !ok {
		return nil, nil, fmt.Errorf("%w: the tokenizer does not say where in a text its tokens come from", ErrUnsupported)
	}
	ids, spans := v.EncodeSpans(text)
	t.around.Trim(ids, spans, t.vocabulary.Text)
	return fromInt32(ids), spans, nil
}

// widestWindow returns how many tokens a window has at most: four times as many as a token sees before and after its own, if all layers see a part of a
// text. For example, 8 layers that see 128 tokens on each side: 8192, and windows share 2048.
func widestWindow(m *Model) int {
	sees := 0
	for i := range m.config.Layers {
		l := m.config.Layer(i)
		if l.Reach == 0 {
			return m.config.ContextLength
		}
		sees += 2 * l.Reach
	}
	return 4 * sees
}

// window is some neighbouring tokens that are computed as one text. Those from first to last have their scores from it.
type window struct{ start, end, first, last int }

// windowsOf cuts n tokens into windows of at most room tokens.
func windowsOf(n, room int) (list []window) {
	shared := room / 4
	for start := 0; ; start += room - shared {
		w := window{start, min(start+room, n), start, min(start+room, n)}
		if len(list) > 0 {
			w.first = start + shared/2
			list[len(list)-1].last = w.first
		}
		if list = append(list, w); w.end == n {
			return list
		}
	}
}
