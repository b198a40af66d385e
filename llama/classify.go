package llama

import (
	"context"
	"fmt"
	"math"

	"github.com/antigravity-go/antigravity/internal/exact"
	"github.com/antigravity-go/antigravity/internal/model"
)

// A text is classified in three steps: the model computes the states of its tokens, one of them or their mean passes through the layers of the
// model's head, and the numbers that come out, one for each label, become scores. For example, with the numbers 2 and 0
//
//	one label is right            0.881 0.119    a softmax: they add up to 1
//	any number of labels is right 0.881 0.5      a sigmoid of each
//	a regression                  2 0

// Label is one of a model's labels, and its score.
type Label struct {
	Name  string
	Score float32
}

// Classify returns for each text all labels of the model, in the order of its configuration, with their scores. Scores are what the configuration's
// problem_type asks for: of single_label_classification they add up to 1, of multi_label_classification each is between 0 and 1, of regression they
// are what the head makes. If it says nothing, a model with one label has the second, others have the first.
//
// The texts are computed together, and together with those of other goroutines; no score depends on the company. Special tokens in the texts are
// inert. A text that is longer than LongestText is a *ContextFullError, and one without tokens a *ParamError: then nothing is computed, since a label
// of the beginning alone would say nothing of the rest; see Windows for such texts. The error of a model that is no Classifier or Reranker wraps ErrUnsupported.
func (m *Model) Classify(ctx context.Context, texts ...string) ([][]Label, error) {
	if err := canClassify(m); err != nil {
		return nil, err
	}
	l := labelling{model: m}
	for i, text := range texts {
		tokens := m.tokenizer.EncodeWhole(text)
		most := m.LongestText()
		switch {
		case len(tokens) == 0:
			return nil, &ParamError{fmt.Sprintf("text %d to classify", i), `""`, "one that has tokens"}
		case len(tokens) > most:
			return nil, fmt.Errorf("classify text %d, which must be no longer than the %d tokens that the model takes: %w", i, most,
				&ContextFullError{Want: len(tokens), Room: most})
		}
		l.texts = append(l.texts, tokens)
	}
	return l.labels(ctx)
}

// ClassifyPairs is Classify for pairs of texts, such as a premise and what may follow from it: [2]string{premise, hypothesis}.
func (m *Model) ClassifyPairs(ctx context.Context, pairs ...[2]string) ([][]Label, error) {
	if err := canClassify(m); err != nil {
		return nil, err
	}
	l := labelling{model: m}
	for i, pair := range pairs {
		if err := l.addPair(pair[0], pair[1], func(n, most int) error {
			return fmt.Errorf("classify pair %d, which must be no longer than the %d tokens that the model takes: %w", i, most, &ContextFullError{Want: n, Room: most})
		}); err != nil {
			return nil, err
		}
	}
	return l.labels(ctx)
}

// canClassify returns an error if the model puts no labels on texts.
func canClassify(m *Model) error {
	if kind := m.Kind(); kind != Classifier && !(kind == Reranker && m.config.Head.Given()) {
		does := kinds[kind].does
		if kind == Generator {
			does = "it goes on with texts; Session.Rank compares what may follow one"
		}
		return fmt.Errorf("%w: the model puts no labels on texts; %s", ErrUnsupported, does)
	}
	return m.tokenizer.hasTexts()
}

// labelling is texts, as tokens, that a model puts labels on.
type labelling struct {
	model *Model
	texts [][]Token
	types [][]int32 // of the tokens; nil: all 0
}

// addPair adds two texts in one. tooLong makes the error for more tokens than the model takes.
func (l *labelling) addPair(first, second string, tooLong func(n, most int) error) error {
	m := l.model
	tokens, types := m.tokenizer.EncodePair(first, second)
	if most := m.LongestText(); len(tokens) > most {
		return tooLong(len(tokens), most)
	}
	if len(tokens) == 0 {
		return &ParamError{"a pair of texts", `"", ""`, "one that has tokens"}
	}
	for _, t := range types {
		if n := m.config.Types; n > 0 && int(t) >= n { // without a table the types do not count
			return fmt.Errorf("%w: the tokenizer gives a token the type %d, the model has %d types", ErrUnsupported, t, m.config.Types)
		}
	}
	l.texts, l.types = append(l.texts, tokens), append(l.types, types)
	return nil
}

// labels computes the texts, and returns the labels of each.
func (l *labelling) labels(ctx context.Context) ([][]Label, error) {
	all, err := l.numbers(ctx)
	if err != nil {
		return nil, err
	}
	h := &l.model.config.Head
	result := make([][]Label, len(all))
	for i, numbers := range all {
		scoresOf(h.Problem, numbers)
		result[i] = make([]Label, len(numbers))
		for j, score := range numbers {
			result[i][j] = Label{h.Labels[j], score}
		}
	}
	return result, nil
}

// headRows is how many states pass through a head at once.
const headRows = 256

// numbers computes the texts, and returns what the head makes of each: a number for each label, of a Tagger for each token.
func (l *labelling) numbers(ctx context.Context) ([][]float32, error) {
	m := l.model
	h := &m.config.Head
	if len(l.texts) == 0 {
		return nil, nil
	}
	e := embedding{model: m, types: l.types}
	pooled, err := e.pool(ctx, l.unpadded())
	if err != nil {
		return nil, err
	}
	var list []float32 // of states
	rows := make([]int, len(pooled))
	for i := range pooled {
		one := pooled[i].parts[0].each
		if !h.Each() {
			one = scaled(pooled[i].vector())
		}
		list, rows[i] = append(list, one...), len(one)/m.config.HiddenSize
		pooled[i].parts = nil // which frees them as the list grows
	}
	all := make([]float32, 0, len(list)/m.config.HiddenSize*len(h.Labels))
	for len(list) > 0 {
		n := min(headRows, len(list)/m.config.HiddenSize)
		made, err := m.weights.Labelled(list[:n*m.config.HiddenSize], n)
		if err != nil {
			return nil, fmt.Errorf("the head that makes labels: %w", err)
		}
		all, list = append(all, made...), list[n*m.config.HiddenSize:]
	}
	result := make([][]float32, len(rows))
	for i, n := range rows {
		n *= len(h.Labels)
		result[i], all = all[:n:n], all[n:]
	}
	return result, nil
}

// unpadded returns the texts without the tokens at their ends that do not count.
func (l *labelling) unpadded() [][]Token {
	h := &l.model.config.Head
	if h.Pooling != model.LastPooling || h.Padding < 0 {
		return l.texts
	}
	texts := make([][]Token, len(l.texts))
	for i, t := range l.texts {
		for len(t) > 1 && int32(t[len(t)-1]) == h.Padding {
			t = t[:len(t)-1]
		}
		texts[i] = t
	}
	return texts
}

// scoresOf makes scores of a text's numbers, in place.
func scoresOf(p model.Problem, x []float32) {
	switch p {
	case model.OneLabel:
		softmax(x)
	case model.AnyLabels:
		for i, v := range x {
			x[i] = exact.Sigmoid(v)
		}
	}
}

// softmax replaces numbers by their softmax. Its bits are the same everywhere.
func softmax(x []float32) {
	most := float32(math.Inf(-1))
	for _, v := range x {
		most = max(most, v)
	}
	sum := 0.0
	for i, v := range x {
		x[i] = exact.Exp(v - most)
		sum += float64(x[i])
	}
	for i, v := range x {
		x[i] = float32(float64(v) / sum)
	}
}
