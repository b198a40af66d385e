package checkpoint

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/antigravity-go/antigravity/internal/checkpoint/storage"
	"github.com/antigravity-go/antigravity/internal/model"
	"github.com/antigravity-go/antigravity/internal/modeljson"
	"github.com/antigravity-go/antigravity/internal/safetensors"
	"github.com/antigravity-go/antigravity/internal/unsupported"
)

// PEFT writes an adapter as a folder: adapter_config.json, and two factors A [rank, in] and B [out, rank] for each matrix that changes. The
// names of the tensors say which matrix that is. For example, with "r": 8 and "lora_alpha": 16,
//
//	base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight   [8, 4096]
//	base_model.model.model.layers.0.self_attn.q_proj.lora_B.weight   [4096, 8]
//
// change model.layers.0.self_attn.q_proj.weight by 16/8·B·A. With use_rslora the factor is 16/√8. rank_pattern and alpha_pattern give some
// modules numbers of their own. The configuration is then compared with the tensors that were found.

// The names of the files in a folder that Hugging Face's PEFT wrote.
const (
	AdapterConfigFile  = "adapter_config.json"
	AdapterWeightsFile = "adapter_model.safetensors"
	adapterPickle      = "adapter_model.bin" // how PEFT wrote before safetensors
)

// How PEFT names an adapter's tensors: the path of the model's module, between these.
const (
	peftPrefix  = "base_model.model."
	peftSuffixA = ".lora_A.weight"
	peftSuffixB = ".lora_B.weight"
	weight      = ".weight" // after a module's path: the name of its matrix
)

// adapterJSON has the keys of adapter_config.json that count, with PEFT's defaults.
type adapterJSON struct {
	Kind           string          `json:"peft_type"`
	Rank           int             `json:"r"`
	Alpha          float64         `json:"lora_alpha"`
	RankStabilised bool            `json:"use_rslora"` // the scale is alpha/√rank (arXiv 2312.03732)
	Targets        moduleNames     `json:"target_modules"`
	Excluded       json.RawMessage `json:"exclude_modules"`
	Ranks          modulePatterns  `json:"rank_pattern"`
	Alphas         modulePatterns  `json:"alpha_pattern"`
	Layers         layerList       `json:"layers_to_transform"`
	Bias           string          `json:"bias"`
}

// adapterKeys lists the keys of adapter_config.json: "" for those that adapterJSON has or that matter only for training, and
// otherwise what the key asks for that is not implemented, unless its value is empty. So is a key's that is not listed.
var adapterKeys = map[string]string{
	"peft_type": "", "r": "", "lora_alpha": "", "use_rslora": "", "target_modules": "", "rank_pattern": "", "alpha_pattern": "",
	"layers_to_transform": "", "bias": "", "init_lora_weights": "",

	"auto_mapping": "", "base_model_name_or_path": "", "inference_mode": "", "lora_dropout": "", "megatron_core": "",
	"peft_version": "", "qalora_group_size": "", "revision": "", "task_type": "", "layers_pattern": "", "exclude_modules": "",
	"ensure_weight_tying": "", "loftq_config": "", "eva_config": "", "corda_config": "", "lora_ga_config": "",

	"use_dora":                "weights that are scaled by their length (DoRA)",
	"modules_to_save":         "whole modules in the place of the model's",
	"lora_bias":               "biases of its own",
	"fan_in_fan_out":          "weights that are stored transposed",
	"layer_replication":       "layers that are computed several times",
	"alora_invocation_tokens": "an adapter that works only after certain tokens",
	"trainable_token_indices": "embeddings of its own for some tokens",
	"target_parameters":       "matrices that are no module's",
	"use_qalora":              "pooled inputs (QALoRA)",
	"use_bdlora":              "block-diagonal matrices",
}

// Adapter reads the folder of an adapter of such a model, as PEFT writes it. The function open is called with the name
// of the file of the weights and returns its bytes, to which the Data of the result belong.
//
// An adapter's tensors say what it changes. The configuration is compared with them: each entry of a list of target_modules must have
// tensors, and the ranks must be those of the shapes.
func (f Folder) Adapter(c *model.Config, open func(name string) ([]byte, error)) (*Adapter, error) {
	data, err := f(AdapterConfigFile)
	if err != nil {
		return nil, fmt.Errorf("read the adapter's configuration: %w", err)
	}
	j, err := parseAdapterConfig(data)
	if err != nil {
		return nil, &FileError{AdapterConfigFile, err}
	}
	data, err = open(AdapterWeightsFile)
	if errors.Is(err, fs.ErrNotExist) {
		if old, _ := f.Optional(adapterPickle); old != nil {
			return nil, unsupported.Errorf("the weights are a Python pickle, %s; only %s is read, which PEFT writes by default", adapterPickle, AdapterWeightsFile)
		}
	}
	if err != nil {
		return nil, err
	}
	weights, err := safetensors.Parse(data)
	if err != nil {
		return nil, &FileError{AdapterWeightsFile, err}
	}
	tensors := Tensors(c)
	pairs, err := j.pairs(weights, tensors)
	if err != nil {
		return nil, &FileError{AdapterWeightsFile, err}
	}
	if err := j.checkTargets(pairs, tensors); err != nil {
		return nil, &FileError{AdapterWeightsFile, err}
	}
	return &Adapter{pairs}, nil
}

// parseAdapterConfig reads adapter_config.json, and refuses features that are not implemented.
func parseAdapterConfig(data []byte) (*adapterJSON, error) {
	j := adapterJSON{Rank: 8, Alpha: 8, Bias: "none"}
	if err := modeljson.Unmarshal(data, &j); err != nil {
		return nil, err
	}
	var all map[string]json.RawMessage
	if err := modeljson.Unmarshal(data, &all); err != nil {
		return nil, err
	}
	if j.Kind != "LORA" {
		return nil, unsupported.Errorf("peft_type is %.100q; only LORA is implemented", j.Kind)
	}
	if j.Bias != "none" {
		return nil, unsupported.Errorf("bias is %.100q; an adapter with biases is not implemented, only none", j.Bias)
	}
	for _, key := range slices.Sorted(maps.Keys(all)) {
		what, known := adapterKeys[key]
		switch {
		case known && what == "" || isEmpty(all[key]):
		case known:
			return nil, unsupported.Errorf("%s is %.100s; %s are not implemented, only null or false", key, all[key], what)
		default:
			return nil, unsupported.Errorf("%.100s is %.100s; this option of an adapter is not known, so that nobody could tell what it changes", key, all[key])
		}
	}
	return &j, checkStart(all["init_lora_weights"])
}

// pairs finds the pairs among the tensors of the file.
func (j *adapterJSON) pairs(weights *safetensors.File, tensors []Tensor) ([]AdapterPair, error) {
	found, own := map[string]*halves{}, map[string]string{} // own has the paths of the modules for which the adapter was made
	for _, t := range weights.Tensors() {
		of, isA := strings.CutSuffix(t.Name, peftSuffixA)
		isPart := isA
		if !isA {
			of, isPart = strings.CutSuffix(t.Name, peftSuffixB)
		}
		path, prefixed := strings.CutPrefix(of, peftPrefix)
		module := usualModule(path)
		if !isPart || !prefixed {
			return nil, unsupported.Errorf("the tensor %s is neither %s…%s nor …%s; nothing else of an adapter is implemented", t.Name, peftPrefix, peftSuffixA, peftSuffixB)
		}
		h := found[module+weight]
		if h == nil {
			h = &halves{}
			found[module+weight], own[module+weight] = h, path
		}
		if own[module+weight] != path {
			return nil, fmt.Errorf("the tensor %s is for the same matrix as those for %s", t.Name, own[module+weight])
		}
		d, _ := t.ElementType() // 0 if there is no such type
		*h.half(isA) = &AdapterTensor{t.Name, d, t.DType, t.Shape, t.Offset, t.Data}
	}
	return joinHalves(found, tensors, huggingFaceNames, func(name string, rank int) (float64, error) { return j.scale(own[name], rank) })
}

func huggingFaceNames(t *Tensor) (own string, within *storage.Within) {
	return t.HuggingFace.Name, &t.HuggingFace.Within
}

// module returns the path of the module that a matrix of a name belongs to.
func module(name string) string { return strings.TrimSuffix(name, weight) }

// scale returns what the product of a rank is multiplied by, for the matrix of a module with a path in the model for which the adapter was made.
func (j *adapterJSON) scale(path string, rank int) (float64, error) {
	if want, key := j.Ranks.of(path, float64(j.Rank)); float64(rank) != want {
		if key == "" {
			key = "r"
		}
		return 0, fmt.Errorf("the tensors for %s have a rank of %d, where %s of %s says %g", path, rank, key, AdapterConfigFile, want)
	}
	alpha, _ := j.Alphas.of(path, j.Alpha)
	if j.RankStabilised {
		return alpha / math.Sqrt(float64(rank)), nil
	}
	return alpha / float64(rank), nil
}

// allLinear stands for the names of all linear layers but the output head.
const allLinear = "all-linear"

// checkTargets refuses an adapter without tensors for a matrix that its configuration names.
func (j *adapterJSON) checkTargets(pairs []AdapterPair, tensors []Tensor) error {
	if j.Targets.pattern != "" && j.Targets.pattern != allLinear || !isEmpty(j.Excluded) {
		return nil // expressions are Python's: the tensors say what they matched
	}
	there := map[string]bool{}
	for i := range pairs {
		there[pairs[i].Of.HuggingFace.Name] = true
	}
	for i := range tensors {
		t := &tensors[i]
		own, within := module(t.HuggingFace.Name), module(t.HuggingFace.Within.Name)
		named := j.Targets.pattern == allLinear || slices.ContainsFunc(j.Targets.list, func(name string) bool {
			return endsWith(own, name) || t.HuggingFace.Within.Rows > 0 && endsWith(within, name)
		})
		chosen := len(j.Layers) == 0 || slices.Contains(j.Layers, t.Layer)
		if t.Role == model.Linear && named && chosen && !there[t.HuggingFace.Name] {
			return fmt.Errorf("there are no tensors for %s, which target_modules of %s names", t.HuggingFace.Name, AdapterConfigFile)
		}
	}
	return nil
}

// moduleNames is a list of modules, by their last names, or an expression that matches whole names.
type moduleNames struct {
	list    []string
	pattern string
}

// UnmarshalJSON reads "expression", ["name", …] or null.
func (m *moduleNames) UnmarshalJSON(b []byte) error {
	if modeljson.Unmarshal(b, &m.pattern) == nil {
		return nil
	}
	if err := modeljson.Unmarshal(b, &m.list); err != nil {
		return fmt.Errorf("target_modules cannot be %.40s", b)
	}
	if len(m.list) > maxPatterns {
		return unsupported.Errorf("target_modules names more than %d modules", maxPatterns)
	}
	return nil
}

// plainStarts are the values of init_lora_weights that leave the model's own weights as they are: true, false, and these.
var plainStarts = []string{"gaussian", "eva", "orthogonal"}

// checkStart refuses an adapter that was trained with changed weights of the model.
func checkStart(value json.RawMessage) error {
	var name string
	if modeljson.Unmarshal(value, &name) != nil || name == "" || slices.Contains(plainStarts, name) {
		return nil
	}
	return unsupported.Errorf("init_lora_weights is %.40q, which changes the model's own weights too; let PEFT convert the adapter to a plain one when it saves it (path_initial_model_for_weight_conversion)", name)
}

// layerList is one layer, several, or null for all.
type layerList []int

// UnmarshalJSON reads a number, a list of numbers, or null.
func (l *layerList) UnmarshalJSON(b []byte) error {
	var one *int
	if modeljson.Unmarshal(b, &one) == nil {
		*l = nil
		if one != nil {
			*l = layerList{*one}
		}
		return nil
	}
	if err := modeljson.Unmarshal(b, (*[]int)(l)); err != nil {
		return fmt.Errorf("layers_to_transform cannot be %.40s", b)
	}
	if len(*l) > model.MaxLayers {
		return fmt.Errorf("layers_to_transform names more than %d layers", model.MaxLayers)
	}
	return nil
}

// modulePatterns are numbers for modules that differ from the others. The first that matches counts.
type modulePatterns []modulePattern

// modulePattern gives a number to the modules with its key as their path, or as their path's end after a dot, or with a path that matches
// the key as an expression.
type modulePattern struct {
	key   string
	match *regexp.Regexp // nil: the key is a name
	value float64
}

// The most numbers by module that an adapter may have, how many of them by expressions, and how long these may be: real ones have a
// number for each module at most.
const (
	maxPatterns    = 1 << 13
	maxExpressions = 1 << 5
	maxExpression  = 1 << 8
)

// UnmarshalJSON reads {"path, its end, or an expression for it": number, …} or null.
func (p *modulePatterns) UnmarshalJSON(b []byte) error {
	*p = nil
	d := json.NewDecoder(bytes.NewReader(b))
	open, err := d.Token()
	if err != nil || open == nil {
		return err
	}
	if open != json.Delim('{') {
		return fmt.Errorf("numbers by module cannot be %.40s", b)
	}
	expressions := 0
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return err
		}
		m := modulePattern{key: key.(string)} // the decoder has checked that it is one
		if err := d.Decode(&m.value); err != nil {
			return fmt.Errorf("the number for the modules %.100q: %w", m.key, err)
		}
		if strings.ContainsFunc(m.key, isSpecial) {
			expressions++
			if expressions > maxExpressions || len(m.key) > maxExpression {
				return unsupported.Errorf("the numbers by module have more than %d expressions, or one of more than %d bytes", maxExpressions, maxExpression)
			}
			if strings.Contains(m.key, "{") { // a few bytes could stand for an expression that takes all memory
				return unsupported.Errorf("the expression %.100q for modules counts repetitions; only * and + are implemented", m.key)
			}
			if m.match, err = regexp.Compile(`^(?:.*\.)?(?:` + m.key + `)$`); err != nil {
				return unsupported.Errorf("the expression %.100q for modules: %v", m.key, err)
			}
		}
		if *p = append(*p, m); len(*p) > maxPatterns {
			return unsupported.Errorf("there are more than %d numbers by module", maxPatterns)
		}
	}
	return nil
}

// isSpecial reports whether a character makes a key an expression. A dot alone, which stands for any character there, does not.
func isSpecial(r rune) bool { return strings.ContainsRune(`\^$*+?()[]{}|`, r) }

// of returns the number for a module and the key that gives it, or otherwise and "" if no key matches.
func (p modulePatterns) of(module string, otherwise float64) (value float64, key string) {
	for _, m := range p {
		if m.match != nil && m.match.MatchString(module) || m.match == nil && endsWith(module, m.key) {
			return m.value, strconv.Quote(m.key)
		}
	}
	return otherwise, ""
}

// endsWith reports whether a module's path is a name, or ends with it after a dot.
func endsWith(module, name string) bool {
	rest, ok := strings.CutSuffix(module, name)
	return ok && (rest == "" || strings.HasSuffix(rest, "."))
}
