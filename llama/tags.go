package llama

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/antigravity-go/antigravity/internal/aligned"
)

// Entities of a text are found in three steps: each token gets a score for each label, the best label counts, and neighbours with labels of one kind
// are joined. For example,
//
//	text      Ada Lovelace met Babbage
//	tokens    Ada    Love   ##lace met   Bab    ##bage
//	labels    B-PER  I-PER  I-PER  O     B-PER  I-PER
//	entities  PER of the bytes 0 to 12, and PER of 17 to 24

// Tag is a token of a text with the scores of the labels, those of Config.Labels in their order, which add up to 1. Start and End are the bytes of the
// text that the token comes from, as Hugging Face's tokenizers have them: a character that is spread over several tokens belongs to each.
type Tag struct {
	Start, End int
	Scores     []float32
}

// Entity is a stretch of a text with a label: the bytes from Start to End, and the mean of its tokens' scores.
type Entity struct {
	Label      string // without B-, I-, E- or S- before it
	Start, End int
	Score      float32
}

// Tags returns the tokens of a text with the scores of their labels. The special tokens that the tokenizer puts around a text are left out. Special
// tokens in the text are inert.
//
// A text that is longer than LongestText is cut into windows of as many tokens, which overlap by a quarter. A token in two
// windows has the scores of the one in which it is farther from the ends. Windows are computed together, and together with texts of other
// goroutines; no score depends on the company. The error of a model that is no Tagger wraps ErrUnsupported.
func (m *Model) Tags(ctx context.Context, text string) ([]Tag, error) {
	if kind := m.Kind(); kind != Tagger {
		does := kinds[kind].does
		if kind == Generator {
			does = "it goes on with texts"
		}
		return nil, fmt.Errorf("%w: the model puts no labels on tokens; %s", ErrUnsupported, does)
	}
	if err := m.tokenizer.hasTexts(); err != nil {
		return nil, err
	}
	tokens, spans, err := m.tokenizer.places(text)
	if err != nil || len(tokens) == 0 {
		return nil, err
	}
	before, after := m.tokenizer.EncodeSpecial("", true), fromInt32(m.tokenizer.around.After())
	room := m.LongestText() - len(before) - len(after)
	if room < 1 {
		return nil, fmt.Errorf("a text with the tokens around it: %w", &ContextFullError{Want: len(before) + len(after) + 1, Room: m.LongestText()})
	}
	tags := make([]Tag, len(tokens))
	labels := len(m.config.Head.Labels)
	for windows := range slices.Chunk(windowsOf(len(tokens), room), windowsTogether) {
		l := labelling{model: m}
		for _, w := range windows {
			l.texts = append(l.texts, slices.Concat(before, tokens[w.start:w.end], after))
		}
		all, err := l.numbers(ctx)
		if err != nil {
			return nil, err
		}
		for i, w := range windows {
			for at := w.first; at < w.last; at++ {
				scores := all[i][(len(before)+at-w.start)*labels:][:labels:labels]
				softmax(scores)
				tags[at] = Tag{int(spans[at].Start), int(spans[at].End), scores}
			}
		}
	}
	return tags, nil
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

// Entities returns what a Tagger finds in a text, in the order of the text: neighbouring tokens with labels of one kind are joined, as the strategy
// "simple" of transformers' pipeline does. B- begins an entity, I- goes on with one, and labels without either do both. If the model has labels with
// E- and S-, an entity also ends after these. Tokens with the label O belong to no entity. See Tags for long texts, and for errors.
func (m *Model) Entities(ctx context.Context, text string) ([]Entity, error) {
	tags, err := m.Tags(ctx, text)
	if err != nil {
		return nil, err
	}
	j := newJoiner(m.config.Head.Labels)
	for i := range tags {
		j.add(&tags[i])
	}
	return j.entities(), nil
}

// outside is the label of what belongs to no entity.
const outside = "O"

// joiner joins tags to entities.
type joiner struct {
	labels []string
	ends   bool // labels have E- or S-, too: L- and U- in other words
	list   []Entity
	last   byte // how the tag before was marked: see mark; 0 at the beginning
	sum    float64
	count  int
}

func newJoiner(labels []string) *joiner {
	j := &joiner{labels: labels}
	for _, l := range labels {
		for _, mark := range []string{"E-", "S-", "L-", "U-"} {
			kind, marked := strings.CutPrefix(l, mark)
			j.ends = j.ends || marked && slices.Contains(labels, "B-"+kind)
		}
	}
	return j
}

// mark returns how a label is marked, B, I, E or S, and the label without the mark. A label without one goes on with another one.
func (j *joiner) mark(label string) (mark byte, kind string) {
	if len(label) < 2 || label[1] != '-' {
		return 'I', label
	}
	switch label[0] {
	case 'B', 'I':
		return label[0], label[2:]
	case 'E', 'L':
		if j.ends {
			return 'E', label[2:]
		}
	case 'S', 'U':
		if j.ends {
			return 'S', label[2:]
		}
	}
	return 'I', label
}

// add adds the next tag.
func (j *joiner) add(t *Tag) {
	best := 0
	for i, s := range t.Scores {
		if s > t.Scores[best] {
			best = i
		}
	}
	j.addLabel(t, best)
}

// addLabel adds the next tag with a label.
func (j *joiner) addLabel(t *Tag, label int) {
	mark, kind := j.mark(j.labels[label])
	goes := len(j.list) > 0 && j.list[len(j.list)-1].Label == kind && mark != 'B' && mark != 'S' && j.last != 'E' && j.last != 'S'
	if !goes {
		j.finish()
		j.list = append(j.list, Entity{Label: kind, Start: t.Start})
	}
	j.list[len(j.list)-1].End = t.End
	j.last, j.sum, j.count = mark, j.sum+float64(t.Scores[label]), j.count+1
}

// finish notes the score of the entity before.
func (j *joiner) finish() {
	if j.count > 0 {
		j.list[len(j.list)-1].Score = float32(j.sum / float64(j.count))
	}
	j.sum, j.count = 0, 0
}

// entities returns the entities.
func (j *joiner) entities() (list []Entity) {
	j.finish()
	for _, e := range j.list {
		if e.Label != outside {
			list = append(list, e)
		}
	}
	return list
}
