package checkpoint

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/internal/hftok"
)

// smallTokenizer returns a tokenizer.json with a BertNormalizer and the template "<s> text".
func smallTokenizer(lower, strip, chinese, prefix bool) string {
	return fmt.Sprintf(`{"added_tokens":[{"id":1,"content":"<s>","special":true},{"id":2,"content":"</s>","special":false}],
		"normalizer":{"type":"BertNormalizer","lowercase":%t,"strip_accents":%t,"handle_chinese_chars":%t},
		"pre_tokenizer":{"type":"Metaspace","replacement":"▁","prepend_scheme":%q},
		"post_processor":{"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"<s>","type_id":0}},{"Sequence":{"id":"A","type_id":0}}],
			"special_tokens":{"<s>":{"id":"<s>","ids":[1],"tokens":["<s>"]}}},
		"model":{"type":"WordLevel","vocab":{"a":0}}}`, lower, strip, chinese, map[bool]string{false: "never", true: "first"}[prefix])
}

// checkFolder checks a tokenizer.json with other files.
func checkFolder(t *testing.T, tokenizer string, files map[string]string) (*Chat, error) {
	t.Helper()
	k, err := hftok.ParseJSON([]byte(tokenizer))
	if err != nil {
		t.Fatal(err)
	}
	c, err := Folder(func(name string) ([]byte, error) {
		if text, ok := files[name]; ok {
			return []byte(text), nil
		}
		return nil, fs.ErrNotExist
	}).Chat(func(string) []string { return nil })
	if err != nil {
		return nil, err
	}
	_, err = c.Check(k)
	return c, err
}

// TestSettingsOfTokenizersAgree has each setting with each value next to a tokenizer.json with each: they agree, or the error names the setting.
func TestSettingsOfTokenizersAgree(t *testing.T) {
	for i, key := range []string{"do_lower_case", "strip_accents", "tokenize_chinese_chars", "add_prefix_space"} {
		for _, here := range []bool{false, true} {
			said := [4]bool{}
			said[i] = here
			tokenizer := smallTokenizer(said[0], said[1], said[2], said[3])
			for _, value := range []any{nil, false, true, 1, "true", []any{}} {
				for _, class := range []string{"BertTokenizer", "ElectraTokenizerFast", "PreTrainedTokenizerFast"} {
					config, err := json.Marshal(map[string]any{key: value, "tokenizer_class": class, "model_input_names": []string{"x"}, "clean_up_tokenization_spaces": true})
					if err != nil {
						t.Fatal(err)
					}
					_, err = checkFolder(t, tokenizer, map[string]string{TokenizerConfigFile: string(config)})
					there, is := value.(bool)
					right := value == nil || is && (there == here || i < 3 && class == "PreTrainedTokenizerFast")
					if right && err != nil || !right && (err == nil || !strings.Contains(err.Error(), key)) {
						t.Errorf("%s with %s %t: %v", config, key, here, err)
					}
				}
			}
		}
	}
}

func TestFilesNextToTokenizerJSON(t *testing.T) {
	for _, c := range []struct{ file, text, want string }{
		{TokenizerConfigFile, `{"split_special_tokens":false,"add_bos_token":true,"bos_token":"<s>","add_eos_token":false,"eos_token":"</s>"}`, ""},
		{TokenizerConfigFile, `{"add_eos_token":true,"eos_token":"</s>"}`, ""},
		{TokenizerConfigFile, `{"add_bos_token":true,"bos_token":null}`, ""},
		{TokenizerConfigFile, `{"add_bos_token":false,"bos_token":"<s>"}`, ""},
		{TokenizerConfigFile, `{"add_bos_token":false,"bos_token":"<s>","tokenizer_class":"GPTNeoXTokenizerFast"}`, "add_bos_token is false"},
		{TokenizerConfigFile, `{"add_bos_token":true,"bos_token":"</s>","tokenizer_class":"GPTNeoXTokenizer"}`, "add_bos_token is true"},
		{TokenizerConfigFile, `{"add_bos_token":"yes"}`, "add_bos_token"},
		{TokenizerConfigFile, `{"add_eos_token":1}`, "add_eos_token"},
		{TokenizerConfigFile, `{"split_special_tokens":true}`, "split_special_tokens"},
		{TokenizerConfigFile, `{"split_special_tokens":0}`, "split_special_tokens"},
		{TokenizerConfigFile, `{"added_tokens_decoder":{"0":{"content":"a"},"1":{"content":"<s>","special":true},"2":{"content":"</s>","special":false}}}`, ""},
		{TokenizerConfigFile, `{"added_tokens_decoder":{"2":{"content":"<s>"}}}`, `"<s>" has id 2, and 1`},
		{TokenizerConfigFile, `{"added_tokens_decoder":{"9":{"content":"<t>"}}}`, `"<t>" has id 9`},
		{TokenizerConfigFile, `{"added_tokens_decoder":{"1":{"content":"<s>","special":false}}}`, `"<s>" has special false`},
		{TokenizerConfigFile, `{"added_tokens_decoder":{"one":{"content":"<s>"}}}`, `"one"`},
		{TokenizerConfigFile, `{"added_tokens_decoder":7}`, "added_tokens_decoder"},
		{AddedTokensFile, `{"<s>":1,"a":0}`, ""},
		{AddedTokensFile, `{"<s>":2}`, `"<s>" has id 2, and 1`},
		{AddedTokensFile, `{"<t>":9}`, `"<t>" has id 9`},
		{AddedTokensFile, `[]`, AddedTokensFile},
		{SpecialTokensFile, `{"eos_token":{"content":"</s>"},"additional_special_tokens":["<s>"]}`, ""},
		{SpecialTokensFile, `{"eos_token":7}`, SpecialTokensFile},
	} {
		_, err := checkFolder(t, smallTokenizer(true, true, true, true), map[string]string{c.file: c.text})
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s %s: got %v, want an error with %q", c.file, c.text, err, c.want)
		}
	}
	for config, want := range map[string]string{
		`{}`:                  "</s>",
		`{"eos_token":"<s>"}`: "</s>",
		`{"eos_token":"<s>","added_tokens_decoder":{"1":{"content":"<s>"}}}`: "<s>",
		`{"added_tokens_decoder":{"1":{"content":"<s>"}}}`:                   "</s>",
	} {
		c, err := checkFolder(t, smallTokenizer(true, true, true, true), map[string]string{TokenizerConfigFile: config, SpecialTokensFile: `{"eos_token":"</s>"}`})
		if err != nil || c.EOS != want {
			t.Errorf("%s: %+v, %v; the end is %q", config, c, err, want)
		}
	}
}

// TestTokenizerJSONCounts has the settings for which tokenizer.json counts with each value, for tokens that its template has and has not: what disagrees
// is in vain, but for classes that follow it.
func TestTokenizerJSONCounts(t *testing.T) {
	k, err := hftok.ParseJSON([]byte(smallTokenizer(true, true, true, true)))
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"add_bos_token", "add_eos_token"} {
		for _, value := range []bool{false, true} {
			for _, token := range []string{"<s>", "</s>"} {
				for _, class := range []string{"", "LlamaTokenizerFast", "GPTNeoXTokenizerFast"} {
					config, err := json.Marshal(map[string]any{key: value, strings.TrimPrefix(key, "add_"): token, "tokenizer_class": class})
					if err != nil {
						t.Fatal(err)
					}
					c, err := Folder(func(name string) ([]byte, error) {
						if name == TokenizerConfigFile {
							return config, nil
						}
						return nil, fs.ErrNotExist
					}).Chat(func(string) []string { return nil })
					if err != nil {
						t.Fatal(err)
					}
					ignored, err := c.Check(k)
					agrees := value == (key == "add_bos_token" && token == "<s>")
					follows := class == "GPTNeoXTokenizerFast"
					if agrees != (len(ignored) == 0 && err == nil) || !agrees && follows != (err != nil) || err == nil && !agrees && !strings.Contains(ignored[0].Name, key) {
						t.Errorf("%s: %v, %v", config, ignored, err)
					}
				}
			}
		}
	}
}

// TestCheckScore has scores of other tokens than yes and no, which a GGUF file would make of them.
func TestCheckScore(t *testing.T) {
	k, err := hftok.ParseJSON([]byte(`{"model":{"type":"WordLevel","vocab":{"no":0,"yes":1,"maybe":2}}}`))
	if err != nil {
		t.Fatal(err)
	}
	for yes := range int32(3) {
		for no := int32(-1); no < 3; no++ {
			p := Pipeline{Logits: &LogitScore{True: yes, False: no}}
			if err := p.CheckScore(k); (err == nil) != (yes == 1 && no == 0) {
				t.Errorf("the logit of %d less that of %d: %v", yes, no, err)
			}
		}
	}
	if err := new(Pipeline).CheckScore(nil); err != nil {
		t.Error(err)
	}
}
