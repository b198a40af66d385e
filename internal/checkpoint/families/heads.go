package families

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/antigravity-go/antigravity/internal/checkpoint/keys"
	"github.com/antigravity-go/antigravity/internal/gguf"
	"github.com/antigravity-go/antigravity/internal/model"
	"github.com/antigravity-go/antigravity/internal/modeljson"
	"github.com/antigravity-go/antigravity/internal/unsupported"
)

// The keys of heads that put labels on texts, or on tokens. For example,
//
//	"architectures": ["BertForSequenceClassification"],
//	"id2label": {"0": "no", "1": "yes"}                  Head: FirstPooling, {64 → 64, tanh; 64 → 2}, OneLabel
//	"problem_type": "multi_label_classification"         AnyLabels
//	"architectures": ["BertForTokenClassification"]      EachPooling, {64 → 2}
//
// GGUF says by its tensors which layers there are, and names the labels. For the problem, for a token that does not count and for what steps of paths
// count, the format has no keys: those here are of this module alone.

// headRule is a head of a family.
type headRule struct {
	dense, norm, output string // names of its layers' tensors in folders; "" for one that it has not
	activation          string // after dense: see model.Dense
	activationKey       string // of config.json, which names it; "": it is always the same
	bare                bool   // the last layer has no bias
	modern              bool   // ModernBERT's keys say how states are pooled, and which biases there are
	pooling             model.Pooling
	path                bool // see model.Head.Path
}

// headRules are those of a family, for texts and for tokens; nil: it has no such head.
type headRules struct{ texts, tokens *headRule }

var (
	bertHeads    = headRules{&headRule{dense: "model.pooler.dense", output: "classifier", activation: "tanh", pooling: model.FirstPooling}, eachClassifier}
	robertaHeads = headRules{&headRule{dense: "classifier.dense", output: "classifier.out_proj", activation: "tanh", pooling: model.FirstPooling}, eachClassifier}
	modernHeads  = headRules{
		&headRule{dense: "head.dense", norm: "head.norm", output: "classifier", activation: gelu, modern: true, pooling: model.FirstPooling},
		&headRule{dense: "head.dense", norm: "head.norm", output: "classifier", activation: gelu, modern: true, pooling: model.EachPooling},
	}
	distilHeads    = headRules{&headRule{dense: "pre_classifier", output: "classifier", activation: "relu", pooling: model.FirstPooling}, eachClassifier}
	eachClassifier = &headRule{output: "classifier", pooling: model.EachPooling}
	// decoderHeads are those of all families that read token by token: transformers has them once for all.
	decoderHeads = headRules{&headRule{output: "score", bare: true, pooling: model.LastPooling}, &headRule{output: "score", pooling: model.EachPooling}}
)

// rules returns the heads that the family may have.
func (f *Family) rules() headRules {
	if f.whole {
		return f.heads
	}
	return decoderHeads
}

// of returns the rule of a head.
func (r *headRules) of(h *model.Head) *headRule {
	if h.Each() {
		return r.tokens
	}
	return r.texts
}

// The ends of the names of classes that have heads.
const (
	textsClass  = "ForSequenceClassification"
	tokensClass = "ForTokenClassification"
)

// The keys of GGUF's metadata for heads, after the architecture's name and a dot. The last three are of this module.
const (
	labelsKey  = "classifier.output_labels"
	problemKey = "classifier.problem_type"
	paddingKey = "classifier.padding_token_id"
	pathKey    = "classifier.transition_biases" // see model.Path
)

// problems are the kinds of problems by their names.
var problems = []string{model.OneLabel: "single_label_classification", model.AnyLabels: "multi_label_classification", model.Regression: "regression"}

// head walks over the keys of a head.
func (c *walking) head(k *keys.Walk) {
	h := &c.Head
	switch rules := c.family.rules(); {
	case k.ReadsFolder():
		c.headOfFolder(k, &rules)
	case k.ReadsFile():
		c.headOfFile(k, &rules)
	case k.WritesFile() && h.Given():
		k.Put("", labelsKey, nil, gguf.ArrayOf(h.Labels))
		if h.Problem != usualProblem(h) {
			k.Put("", problemKey, nil, gguf.ValueOf(problems[h.Problem]))
		}
		if h.Padding >= 0 {
			k.Put("", paddingKey, nil, gguf.ValueOf(uint32(h.Padding)))
		}
		if h.Path != nil {
			k.Put("", pathKey, nil, gguf.ArrayOf(h.Path[:]))
		}
		return
	}
	if h.Given() && k.Reads() {
		c.TiedEmbeddings = true // there are no logits
	}
}

// usualProblem returns what transformers makes of a head if nothing is said.
func usualProblem(h *model.Head) model.Problem {
	if len(h.Labels) == 1 {
		return model.AnyLabels
	}
	return model.OneLabel
}

// headOfFolder reads config.json.
func (c *walking) headOfFolder(k *keys.Walk, rules *headRules) {
	var architectures []string
	k.Decode("architectures", &architectures)
	named := func(end string) bool {
		return slices.ContainsFunc(architectures, func(a string) bool { return strings.HasSuffix(a, end) })
	}
	var rule *headRule
	switch texts, tokens := named(textsClass), named(tokensClass); {
	case texts:
		rule = rules.texts
	case tokens:
		rule = rules.tokens
	default:
		return
	}
	if rule == nil {
		k.Fail(unsupported.Errorf("a head that classifies is not implemented for the architecture %s", c.family.Name))
		return
	}
	h := &c.Head
	h.Pooling, h.Padding, h.Labels = rule.pooling, -1, c.labels(k)
	if rule.path {
		h.Path = &model.Path{}
	}
	dense, activation, biased, bias := rule.dense != "", rule.activation, !rule.bare, true
	if rule.activationKey != "" {
		name := ""
		if k.Text(rule.activationKey, "", &name, activation); name != activation && name != "tanh" {
			k.Fail(unsupported.Errorf("%s is %.100q; only %s and tanh are implemented", rule.activationKey, name, activation))
		}
		activation = cmp.Or(name, activation)
	}
	if rule.modern {
		bias = c.modernHead(k, h)
	}
	if dense {
		first := model.Dense{In: c.HiddenSize, Out: c.HiddenSize, Bias: bias, Activation: activation}
		h.Layers = append(h.Layers, model.HeadLayer{Dense: first, Norm: rule.norm != "", NormBias: c.NormBias})
	}
	h.Layers = append(h.Layers, model.HeadLayer{Dense: model.Dense{In: c.HiddenSize, Out: len(h.Labels), Bias: biased}})
	problem := ""
	h.Problem = usualProblem(h)
	if k.Text("problem_type", "", &problem, ""); problem != "" {
		c.setProblem(k, "problem_type", problem)
	}
	if h.Pooling == model.LastPooling {
		padding := -1
		k.Int("pad_token_id", "", &padding, -1)
		h.Padding = int32(min(max(padding, -1), c.VocabSize)) // Validate refuses the latter
	}
}

// setProblem notes a kind of problem by its name.
func (c *walking) setProblem(k *keys.Walk, key, name string) {
	at := slices.Index(problems, name)
	if at < 0 {
		k.Fail(unsupported.Errorf("%s is %.100q; known are %s", key, name, strings.Join(problems, ", ")))
		return
	}
	c.Head.Problem = model.Problem(at)
}

// modernHead reads ModernBERT's keys, and returns whether the first layer has a bias.
func (c *walking) modernHead(k *keys.Walk, h *model.Head) (bias bool) {
	pooling, activation := "", ""
	k.Text("classifier_activation", "", &activation, gelu)
	k.Bool("classifier_bias", "", &bias, false)
	if activation != "" && activation != gelu {
		k.Fail(unsupported.Errorf("classifier_activation is %.100q; only gelu is implemented", activation))
	}
	if h.Each() {
		return bias
	}
	switch k.Text("classifier_pooling", "", &pooling, "cls"); pooling {
	case "mean":
		h.Pooling = model.MeanPooling
	case "", "cls":
	default:
		k.Fail(unsupported.Errorf("classifier_pooling is %.100q; cls and mean are implemented", pooling))
	}
	return bias
}

// labels reads the names of labels in their order.
func (c *walking) labels(k *keys.Walk) []string {
	count, names := 0, map[string]json.RawMessage(nil)
	k.Int("num_labels", "", &count, 2) // transformers' default
	if !k.Decode("id2label", &names) || names == nil {
		if count < 1 || count > model.MaxLabels {
			k.Fail(fmt.Errorf("num_labels is %d, not between 1 and %d", count, model.MaxLabels))
			return nil
		}
		return unnamed(count)
	}
	list, said := make([]string, min(len(names), model.MaxLabels)), make([]bool, min(len(names), model.MaxLabels))
	for number, name := range names {
		n, err := strconv.Atoi(number)
		if err != nil || n < 0 || n >= len(list) || said[n] {
			k.Fail(fmt.Errorf("id2label has the label %.60q; the numbers of %d labels must be those from 0 on", number, len(names)))
			return nil
		}
		if list[n], said[n] = string(bytes.TrimSpace(name)), true; modeljson.Unmarshal(name, &list[n]) != nil && strings.ContainsAny(list[n], `"[{`) {
			k.Fail(fmt.Errorf("id2label names the label %d %.60s, which is no text", n, name))
			return nil
		}
	}
	return list
}

// unnamed returns transformers' names of labels without names.
func unnamed(n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = "LABEL_" + strconv.Itoa(i)
	}
	return list
}

// headOfFile reads what a GGUF file says by its tensors.
func (c *walking) headOfFile(k *keys.Walk, rules *headRules) {
	h := &c.Head
	has := func(p model.Part, bias bool) bool { return k.HasTensor(GGUF(p, 0, bias)) }
	output, ok := k.Tensor(GGUF(model.ScoreOutput, 0, false))
	if !ok || len(output.Shape) != 2 {
		return
	}
	pooling := -1
	k.Int("", PoolingKey, &pooling, -1)
	rule := rules.texts
	if pooling == eachPooling || pooling == TokensPooling {
		rule = rules.tokens
	}
	if rule == nil {
		k.Fail(unsupported.Errorf("a head that classifies is not implemented for the architecture %s", c.family.Name))
		return
	}
	h.Pooling, h.Padding = rule.pooling, -1
	if rule.path || k.Has("", pathKey) {
		h.Path = &model.Path{}
		c.pathOfFile(k)
	}
	if rule.modern && !h.Each() && pooling != firstPooling { // llama.cpp takes the mean for them
		h.Pooling = model.MeanPooling
	}
	if has(model.ScoreDense, false) {
		first := model.Dense{In: c.HiddenSize, Out: c.HiddenSize, Bias: has(model.ScoreDense, true), Activation: rule.activation}
		h.Layers = append(h.Layers, model.HeadLayer{Dense: first, Norm: rule.norm != "" && has(model.ScoreNorm, false), NormBias: has(model.ScoreNorm, true)})
	}
	h.Layers = append(h.Layers, model.HeadLayer{Dense: model.Dense{In: c.HiddenSize, Out: output.Shape[0], Bias: has(model.ScoreOutput, true)}})
	if h.Labels = k.Texts(labelsKey); h.Labels == nil && output.Shape[0] <= model.MaxLabels {
		h.Labels = unnamed(output.Shape[0])
	}
	problem := ""
	h.Problem = usualProblem(h)
	if k.Text("", problemKey, &problem, ""); problem != "" {
		c.setProblem(k, k.Key("", problemKey), problem)
	}
	if k.Has("", paddingKey) {
		h.Padding = k.Token(paddingKey)
	}
}

// pathOfFile reads what the steps of a path count.
func (c *walking) pathOfFile(k *keys.Walk) {
	list := k.Floats(pathKey)
	if list == nil {
		return
	}
	if copy(c.Head.Path[:], list) != len(list) || len(list) < len(c.Head.Path) {
		k.Fail(fmt.Errorf("%s has %d numbers, not %d", k.Key("", pathKey), len(list), len(c.Head.Path)))
	}
}

// GGUF's numbers for no pooling, and for a head of tokens: the latter is not llama.cpp's own, but of programs that change it.
const (
	eachPooling   = 0
	TokensPooling = 5
)

// FileHead returns an error if a GGUF file has no place for what the head of a model computes: its reader knows the activation by the architecture.
func FileHead(c *model.Config) error {
	written, err := ByArchitecture("", Architecture(c), false)
	if err != nil || !c.Head.Given() {
		return err
	}
	rules := written.rules()
	if first := c.Head.Layers[0]; len(c.Head.Layers) > 1 && first.Activation != rules.of(&c.Head).activation {
		return unsupported.Errorf("the activation %s of a head that labels texts has no place in GGUF", first.Activation)
	}
	return nil
}

// headName returns the name in folders of a tensor of the head, without what follows; "" for any other part.
func (f *Family) headName(h *model.Head, p model.Part) string {
	rules := f.rules()
	rule := rules.of(h)
	if rule == nil {
		return ""
	}
	switch p {
	case model.ScoreDense:
		return rule.dense
	case model.ScoreNorm:
		return rule.norm
	case model.ScoreOutput:
		return rule.output
	}
	return ""
}
