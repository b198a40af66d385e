package checkpoint

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/antigravity-go/antigravity/internal/gguf"
	"github.com/antigravity-go/antigravity/internal/modeljson"
)

// How a text becomes a vector is said by modules.json, which lists the modules, and a file in the folder of each module that has settings.
// In GGUF one key says it. For example,
//
//	modules.json               [{"path": "", "type": "….Transformer"}, {"path": "1_Pooling", "type": "….Pooling"},
//	                           {"path": "2_Normalize", "type": "….Normalize"}]
//	1_Pooling/config.json      {"pooling_mode_cls_token": true}
//
// become Pipeline{Given: true, Pooling: FirstPooling}, and so does bert.pooling_type 2 of a GGUF file. Without the last module the vector
// is Unscaled. Any other module is an error: without it vectors would be wrong.

// The names of the files in a Hugging Face folder that say how a text becomes a vector, as sentence-transformers writes them.
const (
	ModulesFile       = "modules.json"
	PoolingFile       = "1_Pooling/config.json" // where ModulesFile usually has the pooling
	TextsFile         = "sentence_bert_config.json"
	PromptsFile       = "config_sentence_transformers.json"
	moduleConfig      = "config.json" // in the folder of a module
	transformerModule = "Transformer"
	poolingModule     = "Pooling"
	denseModule       = "Dense"
	normalizeModule   = "Normalize"
)

// poolingKey is the key of GGUF's metadata, after the architecture's name and a dot, for what Pooling says.
const poolingKey = "pooling_type"

// Pooling says which of a text's last hidden states make its vector.
type Pooling uint8

// The ways to pool.
const (
	MeanPooling  Pooling = iota // the mean of all: also if nothing is said
	FirstPooling                // that of the first token, which may be one like [CLS]
	LastPooling                 // that of the last token, which may be one that ends a text
)

// Pipeline is how a text becomes a vector. The zero value is what models do that say nothing about it.
type Pipeline struct {
	Given     bool // the files say how: the model was trained to embed texts
	Pooling   Pooling
	Unscaled  bool // the vector is as long as pooling makes it; otherwise it has unit length
	MaxTokens int  // of a text; 0: those that the model was trained for
	Headless  bool // the files have no output head: vectors are all that the model makes

	Dense   []Dense           // layers between pooling and scaling
	Prompts map[string]string // texts that are put before others, by the names of tasks
	Default string            // the task of texts without a task; "": nothing is put before them
	bare    bool              // the states of a prompt's tokens do not count when states are pooled
}

// Pipeline reads modules.json and what it names, if there is such a file. What this module does not do is an error that wraps
// errors.ErrUnsupported.
func (f Folder) Pipeline() (*Pipeline, error) {
	p := &Pipeline{}
	data, err := f(ConfigFile)
	if err != nil {
		return nil, err
	}
	if p.Headless, err = headless(data); err != nil {
		return nil, &FileError{ConfigFile, err}
	}
	if data, err = f.Optional(ModulesFile); err != nil || data == nil {
		return p, err
	}
	p.Given = true
	pooling, err := p.readModules(data)
	if err != nil {
		return nil, &FileError{ModulesFile, err}
	}
	if err := f.readModule(pooling, p.readPooling); err != nil {
		return nil, err
	}
	for i := range p.Dense {
		if err := f.readModule(p.Dense[i].Folder, p.Dense[i].read); err != nil {
			return nil, err
		}
	}
	for name, read := range map[string]func([]byte) error{TextsFile: p.readTexts, PromptsFile: p.readPrompts} {
		data, err := f.Optional(name)
		if err != nil {
			return nil, err
		}
		if data == nil {
			continue
		}
		if err := read(data); err != nil {
			return nil, &FileError{name, err}
		}
	}
	if p.bare && p.Pooling == MeanPooling && len(p.Prompts) > 0 {
		return nil, &FileError{pooling + "/" + moduleConfig, unsupported("include_prompt is false: a mean without the tokens of prompts is not implemented")}
	}
	return p, nil
}

// readModule reads the configuration of a module in a folder of its own.
func (f Folder) readModule(folder string, read func(data []byte) error) error {
	name := folder + "/" + moduleConfig
	data, err := f(name)
	if errors.Is(err, fs.ErrNotExist) {
		return &FileError{ModulesFile, fmt.Errorf("it names the module %s, whose %s is missing: %w", folder, name, err)}
	}
	if err != nil {
		return err
	}
	if err := read(data); err != nil {
		return &FileError{name, err}
	}
	return nil
}

// read reads the configuration of a layer that follows pooling.
func (d *Dense) read(data []byte) error {
	var j struct {
		In         int     `json:"in_features"`
		Out        int     `json:"out_features"`
		Bias       *bool   `json:"bias"`
		Activation *string `json:"activation_function"`
	}
	if err := modeljson.Unmarshal(data, &j); err != nil {
		return err
	}
	d.In, d.Out, d.Bias = j.In, j.Out, or(j.Bias, true)
	name := or(j.Activation, "torch.nn.modules.activation.Tanh")
	activation, known := denseActivations[name[strings.LastIndexByte(name, '.')+1:]]
	if !known {
		return unsupported("activation_function is %.100q; Identity and Tanh are implemented", name)
	}
	d.Activation = activation
	return nil
}

// denseActivations are Dense's activations by the names of PyTorch's classes.
var denseActivations = map[string]string{"Identity": "", "Tanh": "tanh"}

// readModules reads modules.json, and returns the folder of the pooling. The modules must be a transformer, a pooling and, perhaps,
// dense layers and what scales vectors to unit length.
func (p *Pipeline) readModules(data []byte) (pooling string, err error) {
	var modules []struct {
		Path string `json:"path"`
		Type string `json:"type"`
	}
	if err := modeljson.Unmarshal(data, &modules); err != nil {
		return "", err
	}
	var kinds []string
	for _, m := range modules {
		kind := m.Type[strings.LastIndexByte(m.Type, '.')+1:]
		local := m.Path != "" && fs.ValidPath(m.Path) && filepath.IsLocal(filepath.FromSlash(m.Path))
		switch {
		case !slices.Contains([]string{transformerModule, poolingModule, denseModule, normalizeModule}, kind):
			return "", unsupported("the module %.100q of the type %.100q is not implemented: vectors without it would be wrong", m.Path, m.Type)
		case kind == transformerModule && m.Path != "":
			return "", unsupported("the model is in the folder %.100q, and not beside %s", m.Path, ModulesFile)
		case (kind == poolingModule || kind == denseModule) && !local:
			return "", fmt.Errorf("the module %s cannot be in %.100q", kind, m.Path)
		case kind == poolingModule:
			pooling = m.Path
		case kind == denseModule:
			p.Dense = append(p.Dense, Dense{Folder: m.Path})
		}
		kinds = append(kinds, kind)
	}
	want := []string{transformerModule, poolingModule}
	for range p.Dense {
		want = append(want, denseModule)
	}
	p.Unscaled = len(kinds) == len(want)
	if !p.Unscaled {
		want = append(want, normalizeModule)
	}
	if !slices.Equal(kinds, want) {
		return "", unsupported("the modules %.200q are not implemented: known are %s and %s, and after them %s and %s", kinds, transformerModule, poolingModule, denseModule, normalizeModule)
	}
	return pooling, nil
}

// poolingModes are the ways to pool by the keys of a pooling's configuration that choose them.
var poolingModes = map[string]Pooling{
	"pooling_mode_mean_tokens": MeanPooling, "pooling_mode_cls_token": FirstPooling, "pooling_mode_lasttoken": LastPooling,
}

// readPooling reads the configuration of a pooling, in which one of many keys pooling_mode_… is true.
func (p *Pipeline) readPooling(data []byte) error {
	var all map[string]any
	if err := modeljson.Unmarshal(data, &all); err != nil {
		return err
	}
	p.bare = all["include_prompt"] == false
	var modes []string
	for key, value := range all {
		if strings.HasPrefix(key, "pooling_mode_") && value == true {
			modes = append(modes, key)
		}
	}
	slices.Sort(modes)
	if len(modes) == 1 {
		if mode, ok := poolingModes[modes[0]]; ok {
			p.Pooling = mode
			return nil
		}
	}
	return unsupported("the pooling %.300q is not implemented: one of pooling_mode_mean_tokens, pooling_mode_cls_token and pooling_mode_lasttoken must be true", modes)
}

// readTexts reads the changes of texts before they become tokens.
func (p *Pipeline) readTexts(data []byte) error {
	var texts struct {
		MaxTokens *int `json:"max_seq_length"`
		Lower     bool `json:"do_lower_case"`
	}
	if err := modeljson.Unmarshal(data, &texts); err != nil {
		return err
	}
	if texts.Lower {
		return unsupported("do_lower_case is true: texts in small letters are implemented in a tokenizer.json alone")
	}
	if p.MaxTokens = or(texts.MaxTokens, 0); p.MaxTokens < 0 {
		return fmt.Errorf("max_seq_length is %d", p.MaxTokens)
	}
	return nil
}

// readPrompts reads the prompts that are put before texts.
func (p *Pipeline) readPrompts(data []byte) error {
	var j struct {
		Prompts map[string]string `json:"prompts"`
		Default *string           `json:"default_prompt_name"`
	}
	if err := modeljson.Unmarshal(data, &j); err != nil {
		return err
	}
	p.Prompts, p.Default = j.Prompts, or(j.Default, "")
	if _, ok := p.Prompts[p.Default]; !ok && p.Default != "" {
		return fmt.Errorf("default_prompt_name is %.100q, and there is no such prompt", p.Default)
	}
	return nil
}

// The tasks that callers can name whatever the files say: for a search, texts are asked for and found.
const (
	queryTask    = "query"
	documentTask = "document"
)

// Prompt returns the text that is put before the texts of a task; the task "" stands for the one that the files choose. ok reports whether
// there is such a task.
func (p *Pipeline) Prompt(task string) (prompt string, ok bool) {
	if task == "" {
		return p.Prompts[p.Default], true
	}
	for _, name := range append([]string{task}, otherTasks[task]...) {
		if prompt, ok := p.Prompts[name]; ok {
			return prompt, true
		}
	}
	return "", task == queryTask || task == documentTask
}

// otherTasks are what files call tasks that callers can name.
var otherTasks = map[string][]string{documentTask: {"passage", "corpus"}}

// Tasks returns the names of the tasks, in order.
func (p *Pipeline) Tasks() []string {
	names := []string{documentTask, queryTask}
	for name := range p.Prompts {
		names = append(names, name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// headless reports whether a config.json is of a model without its output head: the class is Qwen3Model, say, and not Qwen3ForCausalLM.
func headless(data []byte) (bool, error) {
	var j struct {
		Architectures []string `json:"architectures"`
		Tied          bool     `json:"tie_word_embeddings"`
	}
	if err := modeljson.Unmarshal(data, &j); err != nil {
		return false, err
	}
	return len(j.Architectures) == 1 && strings.HasSuffix(j.Architectures[0], "Model") && !j.Tied, nil
}

// PipelineOf reads how a GGUF file says that a text becomes a vector. What this module does not do is an error that wraps
// errors.ErrUnsupported. Vectors have unit length: the format has no key for others.
func PipelineOf(f *gguf.File) (*Pipeline, error) {
	if _, err := ggufFamily(f); err != nil {
		return nil, err
	}
	key := architectureOf(f) + "." + poolingKey
	k := newKeyReader(f)
	n, _ := k.whole(key)
	if k.err != nil {
		return nil, k.err
	}
	if f, err := ggufFamily(f); err == nil && f.whole && n == rankPooling {
		return &Pipeline{Pooling: FirstPooling}, nil
	}
	if pooling, ok := poolingTypes[n]; ok {
		return &Pipeline{Given: n != 0, Pooling: pooling}, nil
	}
	return nil, unsupported("%s is %d; mean (1), first token (2) and last token (3) are implemented, and scores (4) of encoders", key, n)
}

// poolingTypes are the ways to pool by llama.cpp's numbers. 0 says that nothing is said.
var poolingTypes = map[uint64]Pooling{0: MeanPooling, 1: MeanPooling, firstPooling: FirstPooling, 3: LastPooling}

// llama.cpp's numbers for the state of the first token, and for models that score texts.
const (
	firstPooling = 2
	rankPooling  = 4
)

// Metadata describes the pipeline in GGUF's keys: nothing for what models do that say nothing about it. The format has no place for
// vectors that are not scaled, which are an error.
func (p *Pipeline) Metadata(c *Config) ([]gguf.KeyValue, error) {
	if p.Unscaled {
		return nil, unsupported("vectors that are not scaled to unit length have no place in GGUF")
	}
	key := familyOf(c.Family).architecture() + "." + poolingKey
	if c.ScoreNorm { // llama.cpp's number for scores has it take the mean
		number := uint32(firstPooling)
		if c.ScoreMean {
			number = rankPooling
		}
		return []gguf.KeyValue{{Key: key, Value: gguf.ValueOf(number)}}, nil
	}
	for number, pooling := range poolingTypes {
		if p.Given && pooling == p.Pooling && number != 0 {
			return []gguf.KeyValue{{Key: key, Value: gguf.ValueOf(uint32(number))}}, nil
		}
	}
	return nil, nil
}
