package checkpoint

import (
	"errors"
	"io/fs"
	"reflect"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/internal/gguf"
	"github.com/antigravity-go/antigravity/internal/model"
)

// modules returns a modules.json of types and folders in turn.
func modules(types ...string) string {
	var list []string
	for i := 0; i < len(types); i += 2 {
		list = append(list, `{"idx":0,"name":"x","path":"`+types[i+1]+`","type":"sentence_transformers.models.`+types[i]+`"}`)
	}
	return "[" + strings.Join(list, ",") + "]"
}

// usual is the modules that most models have.
func usual() string {
	return modules("Transformer", "", "Pooling", "1_Pooling", "Normalize", "2_Normalize")
}

func TestPipeline(t *testing.T) {
	const last, plain = `{"pooling_mode_cls_token":false,"pooling_mode_lasttoken":true,"include_prompt":true}`, `{"architectures":["Qwen3ForCausalLM"]}`
	for _, c := range []struct {
		name  string
		files map[string]string
		want  Pipeline
		fails string // "": it does not
	}{
		{"nothing", nil, Pipeline{}, ""},
		{"last token", map[string]string{ModulesFile: usual(), PoolingFile: last}, Pipeline{Given: true, Pooling: model.LastPooling}, ""},
		{"first token", map[string]string{ModulesFile: usual(), PoolingFile: `{"pooling_mode_cls_token":true}`}, Pipeline{Given: true, Pooling: model.FirstPooling}, ""},
		{"mean, unscaled, elsewhere", map[string]string{ModulesFile: modules("Transformer", "", "Pooling", "a/b"), "a/b/config.json": `{"pooling_mode_mean_tokens":true}`},
			Pipeline{Given: true, Unscaled: true}, ""},
		{"no head", map[string]string{ConfigFile: `{"architectures":["Qwen3Model"],"tie_word_embeddings":false}`}, Pipeline{Headless: true}, ""},
		{"the table for a head", map[string]string{ConfigFile: `{"architectures":["Qwen3Model"],"tie_word_embeddings":true}`}, Pipeline{}, ""},
		{"short texts", map[string]string{ModulesFile: usual(), PoolingFile: last, TextsFile: `{"max_seq_length":9,"do_lower_case":false}`,
			PromptsFile: `{"prompts":{"query":"q: ","document":""},"default_prompt_name":null}`}, Pipeline{Given: true, Pooling: model.LastPooling, MaxTokens: 9, Prompts: map[string]string{"query": "q: ", "document": ""}}, ""},
		{"an empty prompt", map[string]string{ModulesFile: usual(), PoolingFile: last, PromptsFile: `{"prompts":{"document":""},"default_prompt_name":"document"}`},
			Pipeline{Given: true, Pooling: model.LastPooling, Prompts: map[string]string{"document": ""}, Default: "document"}, ""},
		{"a prompt", map[string]string{ModulesFile: usual(), PoolingFile: last, PromptsFile: `{"prompts":{"query":"q: "},"default_prompt_name":"query"}`},
			Pipeline{Given: true, Pooling: model.LastPooling, Prompts: map[string]string{"query": "q: "}, Default: "query"}, ""},
		{"dense", map[string]string{
			ModulesFile: modules("Transformer", "", "Pooling", "1_Pooling", "Dense", "2_Dense", "Dense", "3_Dense", "Normalize", "4"), PoolingFile: last,
			"2_Dense/config.json": `{"in_features":4,"out_features":6,"bias":false,"activation_function":"torch.nn.modules.linear.Identity"}`,
			"3_Dense/config.json": `{"in_features":6,"out_features":4}`,
		}, Pipeline{Given: true, Pooling: model.LastPooling, Dense: []model.Dense{{Folder: "2_Dense", In: 4, Out: 6, Bias: false, Activation: ""}, {Folder: "3_Dense", In: 6, Out: 4, Bias: true, Activation: "tanh"}}}, ""},

		{"dense, missing", map[string]string{ModulesFile: modules("Transformer", "", "Pooling", "1_Pooling", "Dense", "2_Dense", "Normalize", "3"), PoolingFile: last}, Pipeline{}, "!2_Dense"},
		{"dense of another activation", map[string]string{ModulesFile: modules("Transformer", "", "Pooling", "1_Pooling", "Dense", "2_Dense"), PoolingFile: last,
			"2_Dense/config.json": `{"activation_function":"torch.nn.modules.activation.GELU"}`}, Pipeline{}, "GELU"},
		{"dense elsewhere", map[string]string{ModulesFile: modules("Transformer", "", "Pooling", "1_Pooling", "Dense", "../d")}, Pipeline{}, "!../d"},
		{"dense before pooling", map[string]string{ModulesFile: modules("Transformer", "", "Dense", "2_Dense", "Pooling", "1_Pooling")}, Pipeline{}, "Dense"},
		{"a mean without prompts", map[string]string{ModulesFile: usual(), PoolingFile: `{"pooling_mode_mean_tokens":true,"include_prompt":false}`,
			PromptsFile: `{"prompts":{"query":"q: "}}`}, Pipeline{Given: true, Bare: true, Prompts: map[string]string{"query": "q: "}}, ""},
		{"two poolings", map[string]string{ModulesFile: usual(), PoolingFile: `{"pooling_mode_mean_tokens":true,"pooling_mode_max_tokens":true}`},
			Pipeline{Given: true, Pooling: model.MaxPooling, Further: []model.Pooling{model.MeanPooling}}, ""},
		{"two poolings by name", map[string]string{ModulesFile: usual(), PoolingFile: `{"pooling_mode":["mean","cls"]}`},
			Pipeline{Given: true, Further: []model.Pooling{model.FirstPooling}}, ""},
		{"weighted", map[string]string{ModulesFile: usual(), PoolingFile: `{"pooling_mode_weightedmean_tokens":true}`}, Pipeline{Given: true, Pooling: model.WeightedPooling}, ""},
		{"a pooling by name wins", map[string]string{ModulesFile: usual(), PoolingFile: `{"pooling_mode":"lasttoken","pooling_mode_cls_token":true}`}, Pipeline{Given: true, Pooling: model.LastPooling}, ""},
		{"no word on the pooling", map[string]string{ModulesFile: usual(), PoolingFile: `{"word_embedding_dimension":64}`}, Pipeline{Given: true, width: 64}, ""},
		{"dropout", map[string]string{ModulesFile: modules("Transformer", "", "Pooling", "1_Pooling", "Dropout", "2", "Normalize", "3"), PoolingFile: last}, Pipeline{Given: true, Pooling: model.LastPooling}, ""},
		{"scores", map[string]string{ModulesFile: modules("Transformer", ""), TextsFile: `{"transformer_task":"sequence-classification"}`}, Pipeline{Given: true, Scores: true}, ""},
		{"scores of logits", map[string]string{ModulesFile: modules("Transformer", "", "LogitScore", "1_LogitScore"), "1_LogitScore/config.json": `{"true_token_id":3}`},
			Pipeline{Given: true, Logits: &LogitScore{3, -1}}, ""},
		{"scores of logits of two", map[string]string{ModulesFile: modules("Transformer", "", "LogitScore", "a"), "a/config.json": `{"true_token_id":3,"false_token_id":0,"module_input_name":"causal_logits"}`,
			TextsFile: `{"transformer_task":"text-generation","module_output_name":"causal_logits","modality_config":{"text":{"method":"forward","method_output_name":"logits"},"message":{"method":"forward","method_output_name":"logits","format":"flat"}}}`},
			Pipeline{Given: true, Logits: &LogitScore{3, 0}, Dialog: true}, ""},
		{"a longest text in the tokenizer's file", map[string]string{TokenizerConfigFile: `{"model_max_length":77}`}, Pipeline{MaxTokens: 77}, ""},
		{"no longest text in the tokenizer's file", map[string]string{TokenizerConfigFile: `{"model_max_length":1000000000000000019884624838656}`}, Pipeline{}, ""},
		{"an old longest text", map[string]string{TokenizerConfigFile: `{"max_len":77}`}, Pipeline{MaxTokens: 77}, ""},
		{"several longest texts", map[string]string{ModulesFile: usual(), PoolingFile: last, TokenizerConfigFile: `{"model_max_length":77}`, TextsFile: `{"max_seq_length":66}`}, Pipeline{Given: true, Pooling: model.LastPooling, MaxTokens: 66}, ""},
		{"the tokenizer's arguments win", map[string]string{ModulesFile: usual(), PoolingFile: last, TokenizerConfigFile: `{"model_max_length":77}`,
			TextsFile: `{"max_seq_length":66,"tokenizer_args":{"model_max_length":55}}`}, Pipeline{Given: true, Pooling: model.LastPooling, MaxTokens: 55}, ""},
		{"the arguments of each call win", map[string]string{ModulesFile: usual(), PoolingFile: last,
			TextsFile: `{"max_seq_length":66,"processor_kwargs":{"model_max_length":55},"processing_kwargs":{"text":{"max_length":44}}}`}, Pipeline{Given: true, Pooling: model.LastPooling, MaxTokens: 44}, ""},
		{"an old name", map[string]string{ModulesFile: usual(), PoolingFile: last, "sentence_roberta_config.json": `{"max_seq_length":33}`}, Pipeline{Given: true, Pooling: model.LastPooling, MaxTokens: 33}, ""},

		{"a program of its own", map[string]string{ModulesFile: `[{"path":"","type":"custom_st.Transformer"}]`}, Pipeline{}, "custom_st"},
		{"arguments of a module", map[string]string{ModulesFile: `[{"path":"","type":"sentence_transformers.models.Transformer","kwargs":["task"]}]`}, Pipeline{}, "task"},
		{"a router", map[string]string{ModulesFile: modules("Router", "")}, Pipeline{}, "Router"},
		{"word embeddings", map[string]string{ModulesFile: modules("WordEmbeddings", "0_WordEmbeddings", "Pooling", "1_Pooling")}, Pipeline{}, "WordEmbeddings"},
		{"a residual", map[string]string{ModulesFile: modules("Transformer", "", "Pooling", "1_Pooling", "Dense", "2_Dense"), PoolingFile: last,
			"2_Dense/config.json": `{"in_features":4,"out_features":4,"use_residual":true}`}, Pipeline{}, "use_residual"},
		{"dense of tokens", map[string]string{ModulesFile: modules("Transformer", "", "Pooling", "1_Pooling", "Dense", "2_Dense"), PoolingFile: last,
			"2_Dense/config.json": `{"in_features":4,"out_features":4,"module_input_name":"token_embeddings"}`}, Pipeline{}, "token_embeddings"},
		{"units of tokens", map[string]string{ModulesFile: usual(), PoolingFile: last, "2_Normalize/config.json": `{"module_input_name":"token_embeddings"}`}, Pipeline{}, "token_embeddings"},
		{"conversations", map[string]string{ModulesFile: usual(), PoolingFile: last, TextsFile: `{"modality_config":{"message":{"method":"forward"}}}`}, Pipeline{}, "message"},
		{"another task", map[string]string{ModulesFile: usual(), PoolingFile: last, TextsFile: `{"transformer_task":"fill-mask"}`}, Pipeline{}, "fill-mask"},
		{"another kind of model", map[string]string{ModulesFile: usual(), PoolingFile: last, PromptsFile: `{"model_type":"SparseEncoder"}`}, Pipeline{}, "SparseEncoder"},
		{"query expansion", map[string]string{ModulesFile: usual(), PoolingFile: last, TextsFile: `{"query_expansion":{"length":32}}`}, Pipeline{}, "query_expansion"},
		{"arguments of the model", map[string]string{ModulesFile: usual(), PoolingFile: last, TextsFile: `{"model_args":{"is_causal":false,"new":1}}`}, Pipeline{}, "new"},
		{"a text for a number", map[string]string{ModulesFile: usual(), PoolingFile: last, TextsFile: `{"max_seq_length":"9"}`}, Pipeline{}, "!max_seq_length"},
		{"no tokens", map[string]string{TokenizerConfigFile: `{"model_max_length":0}`}, Pipeline{}, "!model_max_length"},
		{"a default that is not there", map[string]string{ModulesFile: usual(), PoolingFile: last, PromptsFile: `{"prompts":{},"default_prompt_name":"x"}`}, Pipeline{}, "!\"x\""},
		{"no pooling", map[string]string{ModulesFile: modules("Transformer", "", "Normalize", "2")}, Pipeline{}, "Normalize"},
		{"twice", map[string]string{ModulesFile: modules("Transformer", "", "Pooling", "1", "Normalize", "2", "Normalize", "3")}, Pipeline{}, "Normalize"},
		{"only a transformer", map[string]string{ModulesFile: modules("Transformer", "")}, Pipeline{}, "Transformer"},
		{"too many modules", map[string]string{ModulesFile: "[{}" + strings.Repeat(",{}", 1000000) + "]"}, Pipeline{}, "more than 32 modules"},
		{"nothing in the list", map[string]string{ModulesFile: `[]`}, Pipeline{}, "modules"},
		{"a transformer elsewhere", map[string]string{ModulesFile: modules("Transformer", "0_T", "Pooling", "1_Pooling")}, Pipeline{}, "0_T"},
		{"a pooling of another name", map[string]string{ModulesFile: usual(), PoolingFile: `{"pooling_mode":"variance"}`}, Pipeline{}, "variance"},
		{"capitals", map[string]string{ModulesFile: usual(), PoolingFile: `{"Pooling_Mode_Mean_Tokens":true}`}, Pipeline{}, "Pooling_Mode"},
		{"small letters", map[string]string{ModulesFile: usual(), PoolingFile: last, TextsFile: `{"do_lower_case":true}`}, Pipeline{}, "do_lower_case"},

		{"outside", map[string]string{ModulesFile: modules("Transformer", "", "Pooling", "../1_Pooling")}, Pipeline{}, "!../1_Pooling"},
		{"at the root", map[string]string{ModulesFile: modules("Transformer", "", "Pooling", "/1_Pooling")}, Pipeline{}, "!/1_Pooling"},
		{"missing", map[string]string{ModulesFile: usual()}, Pipeline{}, "!missing"},
		{"no JSON", map[string]string{ModulesFile: `{`}, Pipeline{}, "!modules.json"},
		{"a negative length", map[string]string{ModulesFile: usual(), PoolingFile: last, TextsFile: `{"max_seq_length":-1}`}, Pipeline{}, "!-1"},
	} {
		files := map[string][]byte{ConfigFile: []byte(plain)}
		for name, text := range c.files {
			files[name] = []byte(text)
		}
		got, err := folderOf(files).Pipeline()
		text, wrong := strings.CutPrefix(c.fails, "!")
		var in *FileError
		switch {
		case c.fails == "" && (err != nil || !reflect.DeepEqual(*got, c.want)):
			t.Errorf("%s: %+v, %v; want %+v", c.name, got, err, c.want)
		case c.fails != "" && (!errors.As(err, &in) || !strings.Contains(err.Error(), text) || errors.Is(err, errors.ErrUnsupported) == wrong):
			t.Errorf("%s: %v; want an error with %q, unsupported: %v", c.name, err, text, !wrong)
		}
	}
	if _, err := folderOf(map[string][]byte{ConfigFile: []byte(plain), ModulesFile: []byte(usual())}).Pipeline(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a pooling that is missing: %v", err)
	}
}

func TestPipelineOfGGUF(t *testing.T) {
	for number, want := range map[int]model.Pooling{-1: model.MeanPooling, 0: model.MeanPooling, 1: model.MeanPooling, 2: model.FirstPooling, 3: model.LastPooling, 4: 255, 9: 255} {
		var metadata []gguf.KeyValue
		if number >= 0 {
			metadata = append(metadata, gguf.KeyValue{Key: "qwen3.pooling_type", Value: gguf.ValueOf(uint32(number))})
		}
		got, err := PipelineOf(fileOf(t, &model.Config{Variant: model.Variant{Family: "qwen3"}}, metadata...))
		switch {
		case want == 255 && (!errors.Is(err, errors.ErrUnsupported) || !strings.Contains(err.Error(), "qwen3.pooling_type")):
			t.Errorf("%d: %v", number, err)
		case want != 255 && (err != nil || !reflect.DeepEqual(*got, Pipeline{Given: number > 0, Pooling: want})):
			t.Errorf("%d: %+v, %v", number, got, err)
		}
	}
}

// Values written as GGUF's keys are read again.
func TestPipelineMetadata(t *testing.T) {
	c := &model.Config{Variant: model.Variant{Family: "qwen3"}}
	for _, p := range []*Pipeline{{}, {Given: true}, {Given: true, Pooling: model.FirstPooling}, {Given: true, Pooling: model.LastPooling}} {
		list, err := p.Metadata(c)
		if err != nil {
			t.Fatal(err)
		}
		got, err := PipelineOf(fileOf(t, c, list...))
		if err != nil || !reflect.DeepEqual(got, p) {
			t.Errorf("%+v, %v; want %+v", got, err, p)
		}
	}
	if _, err := (&Pipeline{Unscaled: true}).Metadata(c); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("unscaled vectors: %v", err)
	}
}

// Python's numbers in keys that nothing reads refuse no model, and keys match exactly.
func TestPipelineReadsAsPythonWrites(t *testing.T) {
	files := map[string]string{
		ConfigFile:  `{"architectures":["Qwen3ForCausalLM"],"unread":NaN}`,
		ModulesFile: `[{"path":"","type":"Transformer","unread":-Infinity},{"path":"1_Pooling","type":"Pooling"}]`,
		PoolingFile: `{"pooling_mode_cls_token":true}`,
		TextsFile:   `{"max_seq_length":7,"unpad_inputs":NaN}`,
	}
	p, err := Folder(func(name string) ([]byte, error) {
		text, ok := files[name]
		if !ok {
			return nil, fs.ErrNotExist
		}
		return []byte(text), nil
	}).Pipeline()
	if err != nil || !reflect.DeepEqual(*p, Pipeline{Given: true, Pooling: model.FirstPooling, Unscaled: true, MaxTokens: 7}) {
		t.Errorf("%+v, %v", p, err)
	}
}

func TestPromptsByTask(t *testing.T) {
	p := &Pipeline{Prompts: map[string]string{"query": "q: ", "passage": "p: ", "sts": "s: "}, Default: "sts"}
	for task, want := range map[string]string{"": "s: ", "query": "q: ", "document": "p: ", "passage": "p: "} {
		if got, ok := p.Prompt(task); got != want || !ok {
			t.Errorf("%q: %q, %v; want %q", task, got, ok, want)
		}
	}
	if _, ok := p.Prompt("other"); ok {
		t.Error("a task that is not there")
	}
	if got, ok := (&Pipeline{}).Prompt("query"); got != "" || !ok {
		t.Errorf("no prompts: %q, %v", got, ok)
	}
}

// FuzzPipeline reads arbitrary JSON as each file of a pipeline: there is an error, or a pipeline that fits a model or does not, and no panic.
func FuzzPipeline(f *testing.F) {
	for _, text := range []string{
		modules("Transformer", ""), modules("Transformer", "", "LogitScore", "1_Pooling"), `{"pooling_mode":["cls","mean"],"include_prompt":false}`,
		`{"true_token_id":3,"false_token_id":null}`, `{"transformer_task":"text-generation","modality_config":{"message":{"format":"flat"}}}`,
		`{"max_seq_length":9,"processing_kwargs":{"text":{"max_length":3}},"tokenizer_args":{"model_max_length":1e30}}`,
		`{"prompts":{"query":"q: "},"default_prompt_name":"query","model_type":"CrossEncoder"}`, `{"in_features":4,"out_features":4,"bias":null}`,
	} {
		for file := range 6 {
			f.Add(byte(file), []byte(text))
		}
	}
	f.Fuzz(func(t *testing.T, which byte, data []byte) {
		files := map[string][]byte{
			ConfigFile: []byte(`{"architectures":["Qwen3ForCausalLM"]}`), ModulesFile: []byte(modules("Transformer", "", "Pooling", "1_Pooling", "Dense", "2_Dense", "Normalize", "3")),
			PoolingFile: []byte(`{}`), "2_Dense/config.json": []byte(`{"in_features":4,"out_features":4}`),
		}
		files[[]string{ModulesFile, PoolingFile, "2_Dense/config.json", TextsFile, PromptsFile, TokenizerConfigFile}[which%6]] = data
		p, err := folderOf(files).Pipeline()
		if err != nil {
			return
		}
		if len(p.Poolings()) == 0 || p.MaxTokens < 0 || len(p.Dense) > maxModules {
			t.Errorf("%q gives %+v", data, p)
		}
		if err := p.Fit(biased()); err == nil && p.width != 0 && p.width != biased().HiddenSize {
			t.Errorf("%q fits", data)
		}
	})
}
