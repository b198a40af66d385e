package openai

import (
	"cmp"
	"crypto/rand"
	"encoding"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/serve/internal/ask"
	"github.com/antigravity-go/antigravity/llama/serve/internal/wire"
)

// classifyRequest is what POST /v1/classify and POST /v1/moderations read.
type classifyRequest struct {
	Model string                                `json:"model"`
	Input moderated                             `json:"input" wire:"required"`
	Long  *named[llama.Windows, *llama.Windows] `json:"long"`
	Join  *named[llama.Joining, *llama.Joining] `json:"aggregation_strategy"`
}

// named is a value that is written by its name.
type named[T any, P interface {
	*T
	encoding.TextUnmarshaler
}] struct{ value T }

// ReadJSON reads the name.
func (n *named[T, P]) ReadJSON(at string, value json.RawMessage) error {
	text, err := wire.String(at, value)
	if err != nil {
		return err
	}
	var wrong *llama.ParamError
	if err := P(&n.value).UnmarshalText([]byte(text)); errors.As(err, &wrong) {
		return wire.Invalid(at, "%s is %v; it must be %s", at, wrong.Value, wrong.Want)
	}
	return nil
}

// pointer returns the value, nil if the request does not have it.
func (n *named[T, P]) pointer() *T {
	if n == nil {
		return nil
	}
	return &n.value
}

// moderated are texts: a string, a list of strings, or a list of OpenAI's parts, each a text by itself.
type moderated struct{ inputs }

// part is a part of an input.
type part struct {
	Type string `json:"type" wire:"required"`
	Text string `json:"text"`
}

// ReadJSON reads any of these.
func (in *moderated) ReadJSON(at string, value json.RawMessage) error {
	if value[0] != '[' || wire.FirstByte(value) != '{' {
		return in.inputs.ReadJSON(at, value)
	}
	list, err := wire.List(at, value)
	if err != nil {
		return err
	}
	if n := len(list); n > maxInputs {
		return wire.Invalid(at, "%s has %d texts; it must have 1 to %d", at, n, maxInputs)
	}
	in.list = true
	for i, one := range list {
		var p part
		if err := wire.Object(place(at, i), one, wire.Rules{"image_url": wire.Refused("images are not classified")}, &p); err != nil {
			return err
		}
		if p.Type != "text" {
			return wire.Unsupported(place(at, i), "%s is of the type %.40q; only text is classified", place(at, i), p.Type)
		}
		in.texts = append(in.texts, p.Text)
	}
	return nil
}

// classifyRules are those of the parameters that are not read.
var classifyRules = wire.Rules{
	"user": wire.Ignored(), "priority": wire.Ignored(),
	"truncate_prompt_tokens": wire.Refused("a label of a text's beginning says nothing of its rest"),
	"activation":             wire.Refused("scores are those that the model's configuration asks for", "true"),
	"use_activation":         wire.Refused("scores are those that the model's configuration asks for", "true"),
}

// classified is what a model says of a text. Label is the best one, and Probabilities has the scores of all in the order of the model's labels.
type classified struct {
	Index         int       `json:"index"`
	Label         *string   `json:"label,omitempty"`
	Probabilities []float32 `json:"probs,omitempty"`
	Classes       int       `json:"num_classes,omitempty"`
	Labels        []scored  `json:"labels,omitempty"`
	Entities      []found   `json:"entities,omitzero"`
}

// scored is a label with its score.
type scored struct {
	Score float32 `json:"score"`
	Label string  `json:"label"`
}

// found is an entity: the bytes of the text from Start to End.
type found struct {
	Label string  `json:"label"`
	Start int     `json:"start"`
	End   int     `json:"end"`
	Text  string  `json:"text"`
	Score float32 `json:"score"`
}

// joinField is the name in llama's errors of the way to join tags.
const joinField = "the way to join tags"

// ask computes what a model says of the texts. The caller closes the model.
func (in *classifyRequest) ask(a *API, r *http.Request, tags bool) (*ask.Model, []ask.Labelled, int, error) {
	m, err := a.Service.OpenAny(r.Context(), in.Model)
	if err != nil {
		return nil, nil, 0, err
	}
	list, tokens, err := m.Classify(r.Context(), ask.Compared{Texts: in.Input.texts, Place: in.Input.place, Names: ask.FieldNames{"prompt": "input", joinField: "aggregation_strategy"}},
		ask.Labelling{Tags: tags, Long: in.Long.pointer(), Join: in.Join.pointer()})
	m.Close() // a client that reads slowly must not keep the model from being given back
	return m, list, tokens, err
}

// Classify serves POST /v1/classify, in the form that vLLM gave it, with the labels by name, and entities of models that find these.
func (a *API) Classify(w http.ResponseWriter, r *http.Request) error {
	var in classifyRequest
	if err := a.Service.Read(w, r, classifyRules, &in); err != nil {
		return err
	}
	m, list, tokens, err := in.ask(a, r, true)
	if err != nil {
		return err
	}
	out := wire.NewJSONWriter(w)
	out.Raw(`{"id":`)
	out.Value("classify-" + rand.Text())
	out.Raw(`,"object":"list","created":`)
	out.Value(time.Now().Unix())
	out.Raw(`,"model":`)
	out.Value(m.Name)
	out.Raw(`,"data":`)
	out.List(len(list), func(i int) { out.Value(in.classified(i, &list[i])) })
	out.Raw(`,"usage":`)
	out.Value(embeddingUsage{tokens, tokens})
	out.Raw("}")
	return out.End()
}

// classified returns what the answer says of a text.
func (in *classifyRequest) classified(i int, l *ask.Labelled) classified {
	c := classified{Index: i}
	if l.Labels == nil {
		c.Entities = make([]found, len(l.Entities))
		for j, e := range l.Entities {
			c.Entities[j] = found{e.Label, e.Start, e.End, in.Input.texts[i][e.Start:e.End], e.Score}
		}
		return c
	}
	for _, label := range l.Labels {
		c.Probabilities = append(c.Probabilities, label.Score)
	}
	c.Classes, c.Labels = len(l.Labels), best(l.Labels)
	c.Label = &c.Labels[0].Label
	return c
}

// best returns labels, the best one first.
func best(labels []llama.Label) []scored {
	list := make([]scored, len(labels))
	for i, l := range labels {
		list[i] = scored{l.Score, l.Name}
	}
	slices.SortStableFunc(list, func(a, b scored) int { return cmp.Compare(b.Score, a.Score) })
	return list
}

// flagged is the score from which on a label counts.
const flagged = 0.5

// harmless are the names of labels that say that nothing is wrong, in small letters. Names that begin with not or non say so, too.
var harmless = []string{"safe", "benign", "ok", "okay", "neutral", "normal", "clean", "none", "no", "legit", "legitimate", "ham", "o", "label_0"}

// isHarmless reports whether a label says that nothing is wrong.
func isHarmless(label string) bool {
	label = strings.ToLower(label)
	for _, begin := range []string{"not_", "not-", "not ", "non_", "non-", "non "} {
		if strings.HasPrefix(label, begin) {
			return true
		}
	}
	return slices.Contains(harmless, label)
}

// moderation is what OpenAI's interface says of a text. Categories are the model's labels, those that say that nothing is wrong among them; these flag
// nothing.
type moderation struct {
	Flagged    bool                `json:"flagged"`
	Categories map[string]bool     `json:"categories"`
	Scores     map[string]float32  `json:"category_scores"`
	Inputs     map[string][]string `json:"category_applied_input_types"`
}

// Moderations serves POST /v1/moderations.
func (a *API) Moderations(w http.ResponseWriter, r *http.Request) error {
	var in classifyRequest
	if err := a.Service.Read(w, r, classifyRules, &in); err != nil {
		return err
	}
	m, list, _, err := in.ask(a, r, false)
	if err != nil {
		return err
	}
	out := wire.NewJSONWriter(w)
	out.Raw(`{"id":`)
	out.Value("modr-" + rand.Text())
	out.Raw(`,"model":`)
	out.Value(m.Name)
	out.Raw(`,"results":`)
	out.List(len(list), func(i int) { out.Value(moderationOf(list[i].Labels)) })
	out.Raw("}")
	return out.End()
}

// moderationOf returns what the answer says of a text with labels.
func moderationOf(labels []llama.Label) moderation {
	result := moderation{Categories: map[string]bool{}, Scores: map[string]float32{}, Inputs: map[string][]string{}}
	for _, l := range labels {
		counts := l.Score >= flagged
		result.Categories[l.Name], result.Scores[l.Name], result.Inputs[l.Name] = counts, l.Score, []string{"text"}
		result.Flagged = result.Flagged || counts && !isHarmless(l.Name)
	}
	return result
}

// predictRequest is what POST /predict reads: Text Embeddings Inference's form.
type predictRequest struct {
	Model  string                                `json:"model"`
	Inputs predict                               `json:"inputs" wire:"required"`
	Long   *named[llama.Windows, *llama.Windows] `json:"long"`
}

// predict are texts, or pairs of texts: "text", ["first", "second"], or a list of lists of one text or two.
type predict struct {
	texts, seconds []string // seconds is nil without pairs
	list           bool
}

// ReadJSON reads any of these.
func (in *predict) ReadJSON(at string, value json.RawMessage) error {
	if value[0] != '[' {
		text, err := wire.String(at, value)
		in.texts = []string{text}
		return err
	}
	list, err := wire.List(at, value)
	if err != nil {
		return err
	}
	if wire.FirstByte(value) != '[' {
		return in.add(at, list)
	}
	in.list = true
	if n := len(list); n > maxInputs {
		return wire.Invalid(at, "%s has %d texts; it must have 1 to %d", at, n, maxInputs)
	}
	for i, one := range list {
		texts, err := wire.List(place(at, i), one)
		if err != nil {
			return err
		}
		if err := in.add(place(at, i), texts); err != nil {
			return err
		}
	}
	return nil
}

// add adds a text or a pair.
func (in *predict) add(at string, texts []json.RawMessage) error {
	if n := len(texts); n != 1 && n != 2 || len(in.texts) > 0 && (n == 2) != (in.seconds != nil) {
		return wire.Invalid(at, "%s has %d texts; it must have one or, for a pair, two, and as many as those before it", at, n)
	}
	for i, raw := range texts {
		text, err := wire.String(place(at, i), raw)
		if err != nil {
			return err
		}
		if i == 0 {
			in.texts = append(in.texts, text)
		} else {
			in.seconds = append(in.seconds, text)
		}
	}
	return nil
}

// predictRules are those of the parameters that are not read.
var predictRules = wire.Rules{
	"truncate":             wire.Refused("a label of a text's beginning says nothing of its rest", "false"),
	"truncation_direction": wire.Ignored(),
	"raw_scores":           wire.Refused("scores are those that the model's configuration asks for", "false"),
}

// Predict serves POST /predict: the labels of each text with their scores, the best one first.
func (a *API) Predict(w http.ResponseWriter, r *http.Request) error {
	var in predictRequest
	if err := a.Service.Read(w, r, predictRules, &in); err != nil {
		return err
	}
	m, err := a.Service.OpenAny(r.Context(), in.Model)
	if err != nil {
		return err
	}
	defer m.Close()
	at := func(i int) string {
		if !in.Inputs.list {
			return "inputs"
		}
		return place("inputs", i)
	}
	list, _, err := m.Classify(r.Context(), ask.Compared{Texts: in.Inputs.texts, Seconds: in.Inputs.seconds, Place: at, Names: ask.FieldNames{"prompt": "inputs"}},
		ask.Labelling{Long: in.Long.pointer()})
	if err != nil {
		return err
	}
	m.Close()
	out := wire.NewJSONWriter(w)
	if in.Inputs.list {
		out.List(len(list), func(i int) { out.Value(best(list[i].Labels)) })
	} else {
		out.Value(best(list[0].Labels))
	}
	return out.End()
}
