package llama

import (
	"context"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/antigravity-go/antigravity/internal/model"
)

// Entities of a text are found in three steps: each token gets a score for each label, the best label counts, and neighbours with labels of one kind
// are joined. For example,
//
//	text      Ada Lovelace met Babbage
//	tokens    Ada    Love   ##lace met   Bab    ##bage
//	labels    B-PER  I-PER  I-PER  O     B-PER  I-PER
//	entities  PER of the bytes 0 to 12, and PER of 17 to 24

// Entity is a stretch of a text with a label: the bytes from Start to End, and the mean of its tokens' scores, or of its words'.
type Entity struct {
	Label      string // without B-, I-, E- or S- before it, unless entities are JoinNothing's
	Start, End int
	Score      float32
}

// Joining is how tags become entities.
type Joining uint8

// The ways to join tags. From JoinTokens to JoinMax they are the strategies simple, first, average and max of transformers' pipeline. Words are those of its
// rule: a token begins one unless it goes on with a word of WordPiece or, of other tokenizers, follows no space.
const (
	JoinUsual   Joining = iota // JoinPath, if the model's files ask for it, and JoinTokens otherwise
	JoinTokens                 // the best label of each token counts
	JoinFirst                  // a word has the labels of its first token
	JoinMean                   // a word has the means of its tokens' scores
	JoinMax                    // a word has the labels of the token with the best score
	JoinNothing                // every token is an entity by itself, with its whole label, as without a strategy
	// JoinPath takes the most probable labels of all tokens among those in which every entity is B, any number of I and E, or S alone. Entities begin and end
	// without white space. It is for models with these four marks.
	JoinPath
)

// joiningNames are the names of the ways: those of transformers' strategies, and two more.
var joiningNames = []string{JoinUsual: "usual", JoinTokens: "simple", JoinFirst: "first", JoinMean: "average", JoinMax: "max", JoinNothing: "none", JoinPath: "path"}

// String returns the name of the way, as "simple".
func (way Joining) String() string { return nameOf(joiningNames, way) }

// UnmarshalText reads what String returns.
func (way *Joining) UnmarshalText(text []byte) error {
	return readName(way, joiningNames, "the way to join tags", text)
}

// Entities returns what a Tagger finds in a text, in the order of the text: neighbouring tokens with labels of one kind are joined. B- begins an entity, I-
// goes on with one, and labels without either do both. If the model has labels with E- and S-, an entity also ends after these. Tokens with the label O
// belong to no entity. Models with files that say what the steps from label to label count, as openai/privacy-filter, take the best path: see JoinPath. See
// Tags for long texts, and for errors.
func (m *Model) Entities(ctx context.Context, text string) ([]Entity, error) {
	return JoinUsual.Entities(ctx, m, text)
}

// Entities is m.Entities with tags that are joined in this way. JoinPath is a *ParamError of a model with labels that lack one of the four marks.
func (way Joining) Entities(ctx context.Context, m *Model, text string) ([]Entity, error) {
	h := &m.config.Head
	if way == JoinUsual {
		way = JoinTokens
		if h.Path != nil {
			way = JoinPath
		}
	}
	if way > JoinPath {
		return nil, &ParamError{"the way to join tags", way, "one of the constants JoinUsual to JoinPath"}
	}
	tags, tokens, err := tagged(ctx, m, text)
	if err != nil {
		return nil, err
	}
	switch way {
	case JoinPath:
		if h.Path == nil && !model.CanPath(h.Labels) {
			return nil, &ParamError{"the way to join tags", way, "another one: the model's labels are not O and, of each kind, B-, I-, E- and S-"}
		}
		return alongPath(text, tags, h), nil
	case JoinNothing:
		return apart(tags, h.Labels), nil
	case JoinFirst, JoinMean, JoinMax:
		tags = way.words(tags, continuations(m.tokenizer, text, tags, tokens))
	}
	j := newJoiner(h.Labels)
	for i := range tags {
		j.add(&tags[i])
	}
	return j.entities(), nil
}

// apart returns each token with a label by itself.
func apart(tags []Tag, labels []string) (list []Entity) {
	for i := range tags {
		if best := tags[i].best(); labels[best] != outside {
			list = append(list, Entity{labels[best], tags[i].Start, tags[i].End, tags[i].Scores[best]})
		}
	}
	return list
}

// best returns the label with the best score.
func (t *Tag) best() (best int) {
	for i, s := range t.Scores {
		if s > t.Scores[best] {
			best = i
		}
	}
	return best
}

// words makes one tag of the tokens of each word. continues says which tokens go on with the word before.
func (way Joining) words(tags []Tag, continues []bool) (list []Tag) {
	for from := 0; from < len(tags); {
		to := from + 1
		for to < len(tags) && continues[to] {
			to++
		}
		word := Tag{tags[from].Start, tags[to-1].End, tags[from].Scores}
		for i := from + 1; i < to && way == JoinMax; i++ {
			if s := tags[i].Scores; s[tags[i].best()] > word.Scores[word.best()] {
				word.Scores = s
			}
		}
		if way == JoinMean {
			word.Scores = meanScores(tags[from:to])
		}
		list = append(list, word)
		from = to
	}
	return list
}

// meanScores returns the means of the tags' scores.
func meanScores(tags []Tag) []float32 {
	mean := make([]float32, len(tags[0].Scores))
	for i := range mean {
		sum := 0.0
		for _, t := range tags {
			sum += float64(t.Scores[i])
		}
		mean[i] = float32(sum / float64(len(tags)))
	}
	return mean
}

// continuations reports of each tag's token whether it goes on with the word before. In transformers a token of a WordPiece vocabulary does if its text has
// another length than its place, since it begins with a prefix. Of others it does if there is no space before its place, or at its beginning.
func continuations(t *Tokenizer, text string, tags []Tag, tokens []Token) []bool {
	list := make([]bool, len(tags))
	pieces, unknown := false, int32(-1)
	if v, ok := t.vocabulary.(interface {
		WordPieces() bool
		Unknown() int32
	}); ok {
		pieces, unknown = v.WordPieces(), v.Unknown()
	}
	for i := range tags {
		at := text[tags[i].Start:tags[i].End]
		switch {
		case unknown >= 0 && int32(tokens[i]) == unknown:
		case pieces:
			list[i] = utf8.RuneCountInString(t.Text(tokens[i])) != utf8.RuneCountInString(at)
		default:
			list[i] = tags[i].Start > 0 && text[tags[i].Start-1] != ' ' && !strings.HasPrefix(text[tags[i].Start:], " ")
		}
	}
	return list
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

// add adds the next tag with its best label.
func (j *joiner) add(t *Tag) {
	j.addLabel(t, t.best())
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
