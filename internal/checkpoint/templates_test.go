package checkpoint

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/antigravity-go/antigravity/internal/gguf"
	"github.com/antigravity-go/antigravity/internal/model"
)

// listIn returns a function that lists the files in a folder of a folder.
func listIn(files map[string][]byte) func(folder string) []string {
	return func(folder string) (names []string) {
		for _, path := range slices.Sorted(maps.Keys(files)) {
			if name, ok := strings.CutPrefix(path, folder+"/"); ok {
				names = append(names, name)
			}
		}
		return names
	}
}

// byName returns templates as texts by their names.
func byName(list []Template) map[string]string {
	texts := map[string]string{}
	for _, t := range list {
		texts[t.Name] = t.Source
	}
	return texts
}

// asTokenizersRead does what transformers 5's PreTrainedTokenizerBase does with a folder's files.
func asTokenizersRead(files, inConfig map[string]string) map[string]string {
	found := map[string]string{}
	if source, ok := files[TemplateFile]; ok {
		found["default"] = source
	}
	for path, source := range files {
		if name, ok := strings.CutPrefix(path, TemplatesFolder+"/"); ok {
			found[strings.TrimSuffix(name, ".jinja")] = source
		}
	}
	if len(found) > 0 {
		return found
	}
	return inConfig
}

// asProcessorsRead does what ProcessorMixin does: the tokenizer's templates serve if there are no others.
func asProcessorsRead(files map[string]string, old, own, inConfig map[string]string) map[string]string {
	if len(old) > 0 {
		return old
	}
	if found := asTokenizersRead(files, nil); len(found) > 0 {
		if source, ok := files[TemplateFile]; ok {
			found["default"] = source
		}
		return found
	}
	if len(own) > 0 {
		return own
	}
	return inConfig
}

// TestTemplatesFromAllPlaces reads each set of places that a template may stand in, in each form, in folders with a processor and without.
func TestTemplatesFromAllPlaces(t *testing.T) {
	forms := []struct {
		json func(place string) string
		want func(place string) map[string]string
	}{
		{func(place string) string { return strconv.Quote(place) }, func(place string) map[string]string { return map[string]string{"default": place} }},
		{func(place string) string {
			return fmt.Sprintf(`[{"name":"tool_use","template":"t-%s"},{"name":"default","template":"d-%s"}]`, place, place)
		}, func(place string) map[string]string {
			return map[string]string{"tool_use": "t-" + place, "default": "d-" + place}
		}},
		{func(place string) string { return fmt.Sprintf(`{"rag":"r-%s","default":"d-%s"}`, place, place) },
			func(place string) map[string]string {
				return map[string]string{"rag": "r-" + place, "default": "d-" + place}
			}},
		{func(place string) string { return fmt.Sprintf(`[{"template":"t-%s","name":"tool_use"}]`, place) },
			func(place string) map[string]string { return map[string]string{"tool_use": "t-" + place} }},
	}
	keyed := []string{TokenizerConfigFile, OldTemplateFile, ProcessorFile}
	plain := []string{TemplateFile, TemplatesFolder + "/tool_use.jinja", TemplatesFolder + "/rag.jinja", TemplatesFolder + "/default.jinja"}
	for chosen := range 1 << (len(keyed) + len(plain)) {
		for _, processor := range []bool{false, true} {
			for i, form := range forms {
				files, jinja := map[string][]byte{TemplatesFolder + "/README.md": []byte("no template")}, map[string]string{}
				in := map[string]map[string]string{}
				for bit, file := range append(slices.Clone(keyed), plain...) {
					switch {
					case chosen>>bit&1 == 0:
					case bit < len(keyed):
						files[file], in[file] = []byte(`{"chat_template":`+form.json(file)+`}`), form.want(file)
					default:
						files[file], jinja[file] = []byte(file), file
					}
				}
				if processor {
					files[PreprocessorFile] = []byte("{}")
				}
				want := asTokenizersRead(jinja, in[TokenizerConfigFile])
				if processor || in[ProcessorFile] != nil {
					want = asProcessorsRead(jinja, in[OldTemplateFile], in[ProcessorFile], in[TokenizerConfigFile])
				}
				if want == nil { // tokenizers read no further
					want = in[OldTemplateFile]
				}
				got, err := folderOf(files).Chat(listIn(files))
				if err != nil || !maps.Equal(byName(got.Templates), want) {
					t.Fatalf("places %b, form %d, processor %v: %v, %v; want %v", chosen, i, processor, got, err, want)
				}
			}
		}
	}
}

// TestTemplatesThatAreNone reads what says nothing, and refuses what says something that is no template.
func TestTemplatesThatAreNone(t *testing.T) {
	for text, wrong := range map[string]bool{
		`{}`: false, `{"chat_template":null}`: false, `{"chat_template":""}`: false, `{"chat_template":[]}`: false, `{"chat_template":{}}`: false,
		`{"chat_template":7}`: true, `{"chat_template":[7]}`: true, `{"chat_template":[{"name":"a"}]}`: true, `{"chat_template":[{"template":"a"}]}`: true,
		`{"chat_template":{"default":7}}`: true, `{"chat_template":[{"name":"a","template":null}]}`: true, `{`: true, `[]`: true,
		"{\"chat_template\":\"caf\xe9\"}": true,
	} {
		for _, file := range []string{TokenizerConfigFile, OldTemplateFile, ProcessorFile, TemplateFile, TemplatesFolder + "/rag.jinja", TemplatesFolder + "/default.jinja"} {
			if strings.HasSuffix(file, templateSuffix) && utf8.ValidString(text) {
				continue // which is a template
			}
			files := map[string][]byte{file: []byte(text)}
			got, err := folderOf(files).Chat(listIn(files))
			var in *FileError
			if ok := err == nil; ok == wrong || ok && len(got.Templates) > 0 || !ok && (!errors.As(err, &in) || in.Name != file) {
				t.Errorf("%s %s: %+v, %v", file, text, got, err)
			}
		}
	}
}

// TestTemplatesInGGUF writes templates as GGUF's keys and reads them again.
func TestTemplatesInGGUF(t *testing.T) {
	c := &model.Config{Variant: model.Variant{Family: "qwen3"}}
	for _, want := range []map[string]string{
		{}, {"default": "d"}, {"default": "d", "tool_use": "t"}, {"tool_use": "t", "rag": "r"}, {"default": "d", "a_b": "x", "A9": "y"},
	} {
		var list []Template
		for _, name := range slices.Sorted(maps.Keys(want)) {
			list = append(list, Template{Name: name, Source: want[name]})
		}
		keys, err := TemplateMetadata(list)
		if err != nil {
			t.Fatal(err)
		}
		f := fileOf(t, c, keys...)
		got, err := TemplatesOf(f)
		if err != nil || !maps.Equal(byName(got), want) {
			t.Errorf("%v, %v; want %v", got, err, want)
		}
		if _, plain := want["default"]; len(want) > 1 && !plain && len(f.Strings("tokenizer.chat_templates")) != len(want) {
			t.Errorf("the list of names is %v", f.Strings("tokenizer.chat_templates"))
		}
	}
	if _, err := TemplateMetadata([]Template{{Name: "a b", Source: "x"}, {Name: "a-b", Source: "y"}}); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("two names that are one in GGUF: %v", err)
	}
	for _, key := range []string{"tokenizer.chat_template", "tokenizer.chat_template.rag"} {
		if _, err := TemplatesOf(fileOf(t, c, gguf.KeyValue{Key: key, Value: gguf.ValueOf(uint32(7))})); err == nil || !strings.Contains(err.Error(), key) {
			t.Errorf("%s is a number: %v", key, err)
		}
	}
}
