package checkpoint

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/antigravity-go/antigravity/internal/checkpoint/families"
	"github.com/antigravity-go/antigravity/internal/checkpoint/keys"
	"github.com/antigravity-go/antigravity/internal/gguf"
	"github.com/antigravity-go/antigravity/internal/model"
	"github.com/antigravity-go/antigravity/internal/modeljson"
	"github.com/antigravity-go/antigravity/internal/unsupported"
)

// How a text becomes a vector or a score is said by modules.json, which lists the modules, and a file in the folder of each module that has
// settings. In GGUF one key says it. For example,
//
//	modules.json               [{"path": "", "type": "….Transformer"}, {"path": "1_Pooling", "type": "….Pooling"},
//	                           {"path": "2_Normalize", "type": "….Normalize"}]
//	1_Pooling/config.json      {"pooling_mode": "cls"}, or {"pooling_mode_cls_token": true} before sentence-transformers 5.4
//
// become Pipeline{Given: true, Pooling: model.FirstPooling}, and so does bert.pooling_type 2 of a GGUF file. Without the last module the vector
// is Unscaled. A Transformer alone makes scores, and so do a Transformer and a LogitScore. A Transformer and Dense layers make vectors of tokens: see Late. Any other module is an error, and so is a setting
// that is not known: without it vectors would be wrong.

// The names of the files in a Hugging Face folder that say how a text becomes a vector, as sentence-transformers writes them.
const (
	ModulesFile  = "modules.json"
	PoolingFile  = "1_Pooling/config.json" // where ModulesFile usually has the pooling
	TextsFile    = "sentence_bert_config.json"
	PromptsFile  = "config_sentence_transformers.json"
	moduleConfig = "config.json" // in the folder of a module
)

// textsFiles are TextsFile and the names that it had once. The first one that exists counts.
var textsFiles = []string{
	TextsFile, "sentence_roberta_config.json", "sentence_distilbert_config.json", "sentence_camembert_config.json", "sentence_albert_config.json",
	"sentence_xlm-roberta_config.json", "sentence_xlnet_config.json",
}

// The types of modules, without the package that they are from.
const (
	transformerModule = "Transformer"
	poolingModule     = "Pooling"
	denseModule       = "Dense"
	normalizeModule   = "Normalize"
	dropoutModule     = "Dropout" // does nothing but in training
	logitScoreModule  = "LogitScore"
)

// ownModules begins the types of sentence-transformers' modules. Others are programs of the model's own.
const ownModules = "sentence_transformers."

// Pipeline is how a text becomes a vector or a score. The zero value is what models do that say nothing about it.
type Pipeline struct {
	Given     bool            // the files say how: the model was trained to embed texts or to score them
	Pooling   model.Pooling   // which states make the vector
	Further   []model.Pooling // other ways to pool, with vectors that follow that of Pooling
	Unscaled  bool            // the vector is as long as pooling makes it; otherwise it has unit length
	MaxTokens int             // of a text; 0: those that the model was trained for
	Headless  bool            // the files have no output head: vectors are all that the model makes

	Dense   []model.Dense     // layers between pooling and scaling
	Prompts map[string]string // texts that are put before others, by the names of tasks
	Default string            // the task of texts without a task; "": nothing is put before them
	Bare    bool              // the states of a prompt's tokens do not count when states are pooled

	Scores bool        // the modules are a transformer with a head that scores
	Logits *LogitScore // not nil: the modules are a transformer with an output head, and this
	Dialog bool        // texts to score become a conversation
	Late   *Late       // not nil: vectors are those of tokens

	width int    // of the states that are pooled, if the files say it
	mask  string // see Late.Mask
}

// LogitScore makes a score of a model's logits at the end of a text: that of True, less that of False.
type LogitScore struct {
	True, False int32 // tokens; False is -1 for nothing to be subtracted
}

// Poolings returns all ways to pool, at least one.
func (p *Pipeline) Poolings() []model.Pooling {
	return append([]model.Pooling{p.Pooling}, p.Further...)
}

// Pipeline reads modules.json and what it names, if there is such a file, and how long a text may be. What this module does not do is an error
// that wraps errors.ErrUnsupported.
func (f Folder) Pipeline() (*Pipeline, error) {
	p := &Pipeline{}
	data, err := f(ConfigFile)
	if err != nil {
		return nil, err
	}
	if p.Headless, err = headless(data); err != nil {
		return nil, &FileError{ConfigFile, err}
	}
	if err := f.optionally(TokenizerConfigFile, p.readTokenizer); err != nil {
		return nil, err
	}
	if data, err = f.Optional(ModulesFile); err != nil || data == nil {
		return p, err
	}
	p.Given = true
	modules, err := p.readModules(data)
	if err != nil {
		return nil, &FileError{ModulesFile, err}
	}
	for _, m := range modules {
		if err := f.readModule(&m); err != nil {
			return nil, err
		}
	}
	for _, name := range textsFiles {
		if data, err = f.Optional(name); err != nil {
			return nil, err
		}
		if data == nil && name != textsFiles[len(textsFiles)-1] {
			continue
		}
		if data == nil {
			name, data = TextsFile, []byte("{}")
		}
		if err := p.readTexts(data); err != nil {
			return nil, &FileError{name, err}
		}
		break
	}
	return p, f.optionally(PromptsFile, p.readPrompts)
}

// Fit completes the configuration of a model with such a pipeline, and refuses a pipeline that does not fit it.
func (p *Pipeline) Fit(c *model.Config) error {
	width := c.HiddenSize
	for _, d := range c.Dense { // a projection of states
		if width = d.Out; len(p.Further) > 0 || p.Pooling == model.MaxPooling {
			return unsupported.Errorf("states that are projected are pooled in several ways, or by their largest elements")
		}
	}
	c.Dense = append(c.Dense, p.Dense...)
	if len(p.Further) > 0 {
		c.Poolings = 1 + len(p.Further)
	}
	if p.Late != nil {
		if err := p.Late.fit(c); err != nil {
			return err
		}
	}
	switch l := p.Logits; {
	case p.width != 0 && p.width != width:
		return fmt.Errorf("states of %d elements are pooled, and the model makes %d", p.width, width)
	case p.Scores && !c.Head.Given():
		return unsupported.Errorf("the modules are those of a model that scores texts, and the model has no head that does")
	case p.Given && c.Head.Given() && !p.Scores:
		return unsupported.Errorf("the model has a head that scores texts, and the modules are those of another one")
	case l != nil && (c.Whole || p.Headless):
		return unsupported.Errorf("the module %s makes a score of logits, and the model has no output head", logitScoreModule)
	case l != nil && (l.True < 0 || int(l.True) >= c.VocabSize || l.False < -1 || int(l.False) >= c.VocabSize):
		return fmt.Errorf("true_token_id is %d and false_token_id %d; the model has %d tokens", l.True, l.False, c.VocabSize)
	}
	return c.Validate()
}

// pipelineModule is an entry of modules.json.
type pipelineModule struct {
	kind, folder string
	must         bool // its folder must have settings
	read         func(s settings) error
}

// readModule reads the settings of a module in a folder of its own.
func (f Folder) readModule(m *pipelineModule) error {
	if m.read == nil {
		return nil
	}
	name := m.folder + "/" + moduleConfig
	data, err := f(name)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !m.must:
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return &FileError{ModulesFile, fmt.Errorf("it names the module %s, whose %s is missing: %w", m.folder, name, err)}
	case err != nil:
		return err
	}
	s, err := parseSettings(data)
	if err == nil {
		err = m.read(s)
	}
	if err == nil {
		err = s.rest()
	}
	if err != nil {
		return &FileError{name, err}
	}
	return nil
}

// pooledName is what sentence-transformers calls the vector that pooling makes, and what later modules change.
const pooledName = "sentence_embedding"

// tokensName is what it calls the states of tokens.
const tokensName = "token_embeddings"

// ownNames reads the names of a module's input and of its output.
func ownNames(s settings) error {
	return errors.Join(s.only("module_input_name", pooledName), s.only("module_output_name", pooledName))
}

// readDense reads the settings of a layer that follows pooling or, without a pooling, the transformer.
func (p *Pipeline) readDense(d *model.Dense, s settings) error {
	d.Bias = true
	name := "torch.nn.modules.activation.Tanh"
	for key, into := range map[string]any{"in_features": &d.In, "out_features": &d.Out, "bias": &d.Bias, "activation_function": &name} {
		if _, err := s.take(key, into); err != nil {
			return err
		}
	}
	activation, known := denseActivations[name]
	if !known {
		return unsupported.Errorf("activation_function is %.100q; Identity and Tanh are implemented", name)
	}
	d.Activation = activation
	if p.Late != nil { // PyLate's layers name states, and those of sentence-transformers vectors, and it takes both
		return errors.Join(s.only("module_input_name", tokensName, pooledName), s.only("module_output_name", tokensName, pooledName))
	}
	return ownNames(s)
}

// denseActivations are Dense's activations by PyTorch's names of their classes.
var denseActivations = map[string]string{
	"torch.nn.modules.linear.Identity": "", "torch.nn.Identity": "", "torch.nn.modules.activation.Tanh": "tanh", "torch.nn.Tanh": "tanh",
}

// readModules reads modules.json, and returns the modules that may have settings in folders of their own. The modules must be a transformer
// and then nothing else, a LogitScore, or a pooling and, perhaps, dense layers and what scales vectors to unit length.
func (p *Pipeline) readModules(data []byte) (list []pipelineModule, err error) {
	var entries moduleEntries
	if err := modeljson.Unmarshal(data, &entries); err != nil {
		return nil, err
	}
	p.Dense = make([]model.Dense, 0, len(entries)) // the modules point into it
	var kinds []string
	for _, e := range entries {
		kind := e.Type[strings.LastIndexByte(e.Type, '.')+1:]
		m := pipelineModule{kind: kind, folder: e.Path}
		local := e.Path != "" && fs.ValidPath(e.Path) && filepath.IsLocal(filepath.FromSlash(e.Path))
		switch kind {
		case transformerModule, dropoutModule:
		case poolingModule:
			m.must, m.read = true, p.readPooling
		case logitScoreModule:
			m.must, m.read = true, p.readLogits
		case denseModule:
			p.Dense = append(p.Dense, model.Dense{Folder: e.Path})
			d := &p.Dense[len(p.Dense)-1]
			m.must, m.read = true, func(s settings) error { return p.readDense(d, s) }
		case normalizeModule:
			m.read = ownNames
		}
		switch {
		case m.read == nil && kind != transformerModule && kind != dropoutModule || kind != e.Type && !strings.HasPrefix(e.Type, ownModules) && !(kind == denseModule && strings.HasPrefix(e.Type, latePackage)):
			return nil, unsupported.Errorf("the module %.100q of the type %.100q is not implemented: vectors without it would be wrong", e.Path, e.Type)
		case !isEmpty(e.Kwargs):
			return nil, unsupported.Errorf("the module %.100q takes the arguments %.100s, which are not implemented", e.Path, e.Kwargs)
		case kind == transformerModule && e.Path != "":
			return nil, unsupported.Errorf("the model is in the folder %.100q, and not beside %s", e.Path, ModulesFile)
		case m.must && !local:
			return nil, fmt.Errorf("the module %s cannot be in %.100q", kind, e.Path)
		case m.read != nil && !local:
			m.read = nil // it has no folder
		}
		if kind != dropoutModule {
			kinds = append(kinds, kind)
		}
		list = append(list, m)
	}
	if len(p.Dense) == 0 {
		p.Dense = nil
	}
	return list, p.setKinds(kinds)
}

// moduleEntries is the content of modules.json.
type moduleEntries []struct {
	Path   string          `json:"path"`
	Type   string          `json:"type"`
	Kwargs json.RawMessage `json:"kwargs"`
}

// maxModules is a limit that no model comes near.
const maxModules = 32

// UnmarshalJSON reads a list of at most maxModules entries, one at a time: an entry takes more memory than its few bytes in the file.
func (e *moduleEntries) UnmarshalJSON(b []byte) error {
	list := json.NewDecoder(bytes.NewReader(b))
	if open, err := list.Token(); err != nil || open != json.Delim('[') {
		return fmt.Errorf("the modules cannot be %.40s", b)
	}
	for list.More() {
		if len(*e) == maxModules {
			return unsupported.Errorf("there are more than %d modules", maxModules)
		}
		var raw json.RawMessage
		if err := list.Decode(&raw); err != nil {
			return err
		}
		*e = append(*e, moduleEntries{{}}...)
		if err := modeljson.Unmarshal(raw, &(*e)[len(*e)-1]); err != nil {
			return err
		}
	}
	return nil
}

// setKinds notes what modules of such kinds make.
func (p *Pipeline) setKinds(kinds []string) error {
	switch {
	case slices.Equal(kinds, []string{transformerModule}):
		p.Scores = true
		return nil
	case slices.Equal(kinds, []string{transformerModule, logitScoreModule}):
		return nil
	}
	late, want := []string{transformerModule}, []string{transformerModule, poolingModule}
	for range p.Dense {
		late, want = append(late, denseModule), append(want, denseModule)
	}
	if slices.Equal(kinds, late) {
		p.Late, p.Pooling = newLate(p.mask), model.EachPooling
		return nil
	}
	p.Unscaled = len(kinds) == len(want)
	if !p.Unscaled {
		want = append(want, normalizeModule)
	}
	if !slices.Equal(kinds, want) {
		return unsupported.Errorf("the modules %.200q are not implemented: known are %s and %s, and after them %s and %s; %s alone; %s and %s; and %s and %s", kinds,
			transformerModule, poolingModule, denseModule, normalizeModule, transformerModule, transformerModule, denseModule, transformerModule, logitScoreModule)
	}
	return nil
}

// poolingModes are the ways to pool by their names, with the keys that chose them before sentence-transformers 5.4, in the order in which the
// vectors of several follow one another.
var poolingModes = []struct {
	name, key string
	pooling   model.Pooling
}{
	{"cls", "pooling_mode_cls_token", model.FirstPooling}, {"max", "pooling_mode_max_tokens", model.MaxPooling}, {"mean", "pooling_mode_mean_tokens", model.MeanPooling},
	{"mean_sqrt_len_tokens", "pooling_mode_mean_sqrt_len_tokens", model.RootPooling}, {"weightedmean", "pooling_mode_weightedmean_tokens", model.WeightedPooling},
	{"lasttoken", "pooling_mode_lasttoken", model.LastPooling},
}

// readPooling reads the settings of a pooling. Without a word on the way to pool that is the mean.
func (p *Pipeline) readPooling(s settings) error {
	var old []model.Pooling
	for _, m := range poolingModes {
		chosen := false
		if _, err := s.take(m.key, &chosen); err != nil {
			return err
		}
		if chosen {
			old = append(old, m.pooling)
		}
	}
	var modes poolingNames
	said, err := s.take("pooling_mode", &modes)
	if err != nil {
		return err
	}
	if !said {
		modes = old
	}
	if len(modes) > 0 {
		p.Pooling, p.Further = modes[0], modes[1:]
	}
	if len(p.Further) == 0 {
		p.Further = nil
	}
	counts := true
	for key, into := range map[string]any{"include_prompt": &counts, "word_embedding_dimension": &p.width, "embedding_dimension": &p.width} {
		if _, err := s.take(key, into); err != nil {
			return err
		}
	}
	p.Bare = !counts
	return nil
}

// poolingNames are ways to pool.
type poolingNames []model.Pooling

// UnmarshalJSON reads "name" or ["name", …].
func (n *poolingNames) UnmarshalJSON(b []byte) error {
	names := make([]string, 1)
	if modeljson.Unmarshal(b, &names[0]) != nil {
		if err := modeljson.Unmarshal(b, &names); err != nil {
			return err
		}
	}
	if len(names) == 0 || len(names) > len(poolingModes) {
		return unsupported.Errorf("it has %d ways to pool", len(names))
	}
	for _, name := range names {
		i := slices.IndexFunc(poolingModes, func(m struct {
			name, key string
			pooling   model.Pooling
		}) bool {
			return m.name == name
		})
		if i < 0 {
			return unsupported.Errorf("%.100q is no way to pool that is implemented", name)
		}
		*n = append(*n, poolingModes[i].pooling)
	}
	return nil
}

// readLogits reads the settings of a LogitScore.
func (p *Pipeline) readLogits(s settings) error {
	l := &LogitScore{False: -1}
	said, err := s.take("true_token_id", &l.True)
	if err == nil && !said {
		err = errors.New("true_token_id is missing")
	}
	if err == nil {
		_, err = s.take("false_token_id", &l.False)
	}
	if err == nil {
		err = s.only("module_input_name", "causal_logits")
	}
	p.Logits = l
	return err
}

// readTokenizer reads the longest text that tokenizer_config.json allows.
func (p *Pipeline) readTokenizer(data []byte) error {
	s, err := parseSettings(data)
	if err != nil {
		return err
	}
	return errors.Join(p.readMask(s), p.takeLength(s, "model_max_length", "max_len"))
}

// takeLength reads how many tokens a text may have: from the first of some keys that is there. A huge number, as transformers writes it,
// stands for no limit.
func (p *Pipeline) takeLength(s settings, keys ...string) error {
	for _, key := range keys {
		var n float64
		said, err := s.take(key, &n)
		switch {
		case err != nil:
			return err
		case !said:
			continue
		case n < 1 || n != math.Trunc(n):
			return fmt.Errorf("%s is %g", key, n)
		}
		if p.MaxTokens = 0; n < model.MaxVocab {
			p.MaxTokens = int(n)
		}
		return nil
	}
	return nil
}

// What a Transformer computes by its transformer_task, and what sentence-transformers calls the result.
var tasks = map[bool][]string{false: {"feature-extraction"}, true: {"sequence-classification", "text-generation", "any-to-any"}}

// without are arguments of transformers that change no result.
var without = []string{"trust_remote_code", "attn_implementation", "torch_dtype", "dtype", "use_fast", "padding_side", "device_map", "local_files_only", "revision", "token", "cache_dir", "use_cache"}

// readTexts reads the settings of the transformer: among them are the changes of texts before they become tokens.
func (p *Pipeline) readTexts(data []byte) error {
	s, err := parseSettings(data)
	if err != nil {
		return err
	}
	lower, task := false, ""
	if _, err := s.take("do_lower_case", &lower); err != nil {
		return err
	}
	if lower {
		return unsupported.Errorf("do_lower_case is true: texts in small letters are implemented in a tokenizer.json alone")
	}
	if _, err := s.take("transformer_task", &task); err != nil {
		return err
	}
	switch want := map[bool]string{false: tasks[false][0], true: tasks[true][0]}; {
	case task == "" && p.Scores:
		return unsupported.Errorf("the only module is a %s, and transformer_task is not %s", transformerModule, want[true])
	case task == "" || task == want[p.Scores] && p.Logits == nil || p.Logits != nil && slices.Contains(tasks[true][1:], task):
	default:
		return unsupported.Errorf("transformer_task is %.100q, which is not implemented with such modules", task)
	}
	if err := s.only("module_output_name", map[bool]string{false: "token_embeddings", true: "scores"}[p.Scores], map[bool]string{true: "causal_logits"}[p.Logits != nil]); err != nil {
		return err
	}
	if err := p.readModalities(s); err != nil {
		return err
	}
	if err := p.takeLength(s, "max_seq_length"); err != nil {
		return err
	}
	for _, key := range []string{"model_args", "model_kwargs", "config_args", "config_kwargs", "tokenizer_args", "processor_kwargs"} {
		var arguments settings
		if _, err := s.take(key, &arguments); err != nil {
			return err
		}
		arguments.ignore(without...)
		if key == "tokenizer_args" || key == "processor_kwargs" {
			if err := p.takeLength(arguments, "model_max_length", "max_len"); err != nil {
				return fmt.Errorf("%s: %w", key, err)
			}
		}
		if err := arguments.rest(); err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
	}
	if err := p.readProcessing(s); err != nil {
		return err
	}
	s.ignore("unpad_inputs")
	return s.rest()
}

// readModalities reads what the transformer does with texts and with other things. These are left alone, but a conversation: texts become one if
// the model takes it.
func (p *Pipeline) readModalities(s settings) error {
	var all map[string]settings
	if _, err := s.take("modality_config", &all); err != nil {
		return err
	}
	for name, m := range all {
		if name == "message" {
			if p.Dialog = true; p.Logits == nil {
				return unsupported.Errorf("modality_config has %q: texts that are rendered by the chat template are implemented for scores of logits alone", name)
			}
			if err := m.only("format", "flat", "auto", "structured"); err != nil {
				return err
			}
		} else if name != "text" {
			continue
		}
		err := errors.Join(m.only("method", "forward"), m.only("method_output_name", "last_hidden_state", "logits"))
		if err == nil {
			err = m.rest()
		}
		if err != nil {
			return fmt.Errorf("modality_config: %s: %w", name, err)
		}
	}
	return nil
}

// readProcessing reads the arguments of the tokenizer: a longest text, which counts before all other ones, and others that change no result.
func (p *Pipeline) readProcessing(s settings) error {
	var all map[string]settings
	if _, err := s.take("processing_kwargs", &all); err != nil {
		return err
	}
	for _, name := range []string{"common", "text"} {
		arguments := all[name]
		delete(all, name)
		arguments.ignore("padding", "truncation", "return_tensors", "padding_side", "pad_to_multiple_of")
		if err := p.takeLength(arguments, "max_length"); err != nil {
			return err
		}
		if err := arguments.rest(); err != nil {
			return fmt.Errorf("processing_kwargs: %s: %w", name, err)
		}
	}
	for _, name := range []string{"audio", "image", "video"} { // of other things than texts
		delete(all, name)
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if err := all[name].rest(); err != nil {
			return fmt.Errorf("processing_kwargs: %s: %w", name, err)
		}
	}
	return nil
}

// readPrompts reads the prompts that are put before texts, and what else is said of the model.
func (p *Pipeline) readPrompts(data []byte) error {
	s, err := parseSettings(data)
	if err != nil {
		return err
	}
	if _, err := s.take("prompts", &p.Prompts); err != nil {
		return err
	}
	if _, err := s.take("default_prompt_name", &p.Default); err != nil {
		return err
	}
	if _, ok := p.Prompts[p.Default]; !ok && p.Default != "" {
		return fmt.Errorf("default_prompt_name is %.100q, and there is no such prompt", p.Default)
	}
	made := "SentenceTransformer"
	if p.Scores || p.Logits != nil {
		made = "CrossEncoder"
	}
	types := []string{made}
	if p.Late != nil {
		types = append(types, "ColBERT")
		if err := p.Late.read(s); err != nil {
			return err
		}
	}
	if err := s.only("model_type", types...); err != nil {
		return err
	}
	s.ignore("__version__", "similarity_fn_name", "requirements", "activation_fn") // scores are given before an activation
	return s.rest()
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
	family, err := ggufFamily(f)
	if err != nil {
		return nil, err
	}
	k, pooling := keys.ReadFile(f, architectureOf(f)+"."), 0
	if k.Int("", families.PoolingKey, &pooling, 0); k.Err() != nil {
		return nil, k.Err()
	}
	n := uint64(pooling)
	if n == rankPooling && (family.Whole() || k.HasTensor(families.GGUF(model.ScoreOutput, 0, false))) {
		return &Pipeline{Pooling: model.FirstPooling}, nil
	}
	if n == families.TokensPooling && k.HasTensor(families.GGUF(model.ScoreOutput, 0, false)) {
		n = 0
	}
	if pooling, ok := poolingTypes[n]; ok {
		return &Pipeline{Given: n != 0, Pooling: pooling}, nil
	}
	return nil, unsupported.Errorf("%s is %d; mean (1), first token (2) and last token (3) are implemented, and scores (4) of encoders", k.Key("", families.PoolingKey), n)
}

// CheckScore returns an error if a GGUF file would lose what a model's score is made of: such a file has no place for a LogitScore, and its reader
// takes the tokens yes and no of Qwen3-Reranker's question. t is the model's tokenizer, nil without one.
func (p *Pipeline) CheckScore(t Tokens) error {
	if p.Logits == nil {
		return nil
	}
	for text, want := range map[string]int32{"yes": p.Logits.True, "no": p.Logits.False} {
		if t == nil {
			return unsupported.Errorf("a score of logits has no place in GGUF without a tokenizer")
		}
		if id, ok := t.ID(text); !ok || id != want {
			return unsupported.Errorf("a score of logits of token %d has no place in GGUF: readers take the token %q in its place", want, text)
		}
	}
	return nil
}

// poolingTypes are the ways to pool by llama.cpp's numbers. 0 says that nothing is said.
var poolingTypes = map[uint64]model.Pooling{0: model.MeanPooling, 1: model.MeanPooling, firstPooling: model.FirstPooling, 3: model.LastPooling}

// llama.cpp's numbers for the state of the first token, and for models that score texts.
const (
	firstPooling = 2
	rankPooling  = 4
)

// Metadata describes the pipeline in GGUF's keys: nothing for what models do that say nothing about it. The format has no place for
// vectors that are not scaled, which are an error.
func (p *Pipeline) Metadata(c *model.Config) ([]gguf.KeyValue, error) {
	switch {
	case p.Late != nil:
		return nil, unsupported.Errorf("vectors of tokens have no place in GGUF")
	case p.Unscaled:
		return nil, unsupported.Errorf("vectors that are not scaled to unit length have no place in GGUF")
	case len(p.Further) > 0 || p.Bare:
		return nil, unsupported.Errorf("vectors of several ways to pool, and those without the tokens of prompts, have no place in GGUF")
	case p.Logits != nil && (p.Logits.False < 0 || !families.Of(c).Judges()):
		return nil, unsupported.Errorf("a score of logits has no place in GGUF")
	}
	if f := families.Of(c); f.FolderOnly() {
		return nil, unsupported.Errorf("the architecture %s has no place in GGUF", f.Name)
	}
	if err := families.FileHead(c); err != nil {
		return nil, err
	}
	key := families.Architecture(c) + "." + families.PoolingKey
	if h := &c.Head; h.Given() {
		number := uint32(rankPooling)
		switch {
		case h.Path != nil:
			number = families.TokensPooling
		case h.Each():
			number = 0
		case h.Layers[0].Norm && h.Pooling == model.FirstPooling: // llama.cpp's number for scores has it take the mean
			number = firstPooling
		}
		return []gguf.KeyValue{{Key: key, Value: gguf.ValueOf(number)}}, nil
	}
	for number, pooling := range poolingTypes {
		if p.Given && p.Logits == nil && pooling == p.Pooling && number != 0 {
			return []gguf.KeyValue{{Key: key, Value: gguf.ValueOf(uint32(number))}}, nil
		}
	}
	if p.Given && p.Logits == nil {
		return nil, unsupported.Errorf("the way to pool has no place in GGUF: mean, first token and last token have")
	}
	return nil, nil
}
