package checkpoint

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/antigravity-go/antigravity/internal/gguf"
	"github.com/antigravity-go/antigravity/internal/modeljson"
	"github.com/antigravity-go/antigravity/internal/unsupported"
)

// A chat template may stand in several files of a folder, and a model may have several templates with names. transformers reads them in one
// order for models of text, and in another for models that see or hear, which have a processor besides the tokenizer. Of the places below the
// first one that has a template counts, alone:
//
//	without a processor                                   with a processor
//	chat_template.jinja, additional_chat_templates/*      chat_template.json
//	tokenizer_config.json                                 chat_template.jinja, additional_chat_templates/*
//	chat_template.json                                    processor_config.json
//	processor_config.json                                 tokenizer_config.json
//
// (transformers' tokenizers do not look at the last two on the left. No other template is in the folder then.) For example, a folder with
//
//	tokenizer_config.json    {"chat_template": [{"name": "default", "template": "A"}, {"name": "tool_use", "template": "B"}]}
//
// has the templates default and tool_use. If it has a chat_template.jinja, too, that one is all that the model has. In GGUF the default is
// tokenizer.chat_template, and another one tokenizer.chat_template.tool_use.

// The files and the folder that may have chat templates.
const (
	TemplateFile          = "chat_template.jinja"
	OldTemplateFile       = "chat_template.json" // as processors of transformers 4 have it
	TemplatesFolder       = "additional_chat_templates"
	ProcessorFile         = "processor_config.json"
	PreprocessorFile      = "preprocessor_config.json" // of pictures or of sound; a folder that has it has a processor
	templateSuffix        = ".jinja"
	templateJSONKey       = "chat_template"
	processorClassJSONKey = "processor_class"
)

// The names of templates that have a meaning.
const (
	DefaultTemplate = "default"
	ToolTemplate    = "tool_use" // renders conversations with functions on offer
)

// maxTemplates is the most templates that a model may have. Published models have three.
const maxTemplates = 64

// Template is a chat template of a model.
type Template struct {
	Name   string // DefaultTemplate, ToolTemplate, or another one
	Source string // in Jinja, not empty
	File   string // its place, for messages: a file of the folder, or a key of GGUF's
}

// IsTemplateFile reports whether a file of a folder may be one of several templates: additional_chat_templates/rag.jinja, say.
func IsTemplateFile(name string) bool {
	folder, file := path.Split(name)
	return folder == TemplatesFolder+"/" && strings.HasSuffix(file, templateSuffix)
}

// templates reads the chat templates of a folder, ordered by name. tokenizer is the content of tokenizer_config.json, or nil. The function
// list returns the names of the files in a folder of the folder.
func (f Folder) templates(tokenizer []byte, list func(folder string) []string) ([]Template, error) {
	processor, err := f.hasProcessor(tokenizer)
	if err != nil {
		return nil, err
	}
	places := []func() ([]Template, error){
		func() ([]Template, error) { return f.templateFiles(list(TemplatesFolder), processor) },
		func() ([]Template, error) { return templatesIn(TokenizerConfigFile, tokenizer) },
		func() ([]Template, error) { return f.templatesOf(OldTemplateFile) },
		func() ([]Template, error) { return f.templatesOf(ProcessorFile) },
	}
	if processor {
		places[0], places[1], places[2], places[3] = places[2], places[0], places[3], places[1]
	}
	for _, read := range places {
		if found, err := read(); err != nil || len(found) > 0 {
			slices.SortFunc(found, func(a, b Template) int { return strings.Compare(a.Name, b.Name) })
			return found, err
		}
	}
	return nil, nil
}

// hasProcessor reports whether a folder has a processor besides the tokenizer.
func (f Folder) hasProcessor(tokenizer []byte) (bool, error) {
	for _, name := range []string{ProcessorFile, PreprocessorFile} {
		if data, err := f.Optional(name); data != nil || err != nil {
			return true, err
		}
	}
	if tokenizer == nil {
		return false, nil
	}
	var all map[string]json.RawMessage
	if err := modeljson.Unmarshal(tokenizer, &all); err != nil {
		return false, &FileError{TokenizerConfigFile, err}
	}
	return !isEmpty(all[processorClassJSONKey]), nil
}

// templateFiles reads chat_template.jinja and those files of additional_chat_templates that are templates. If both have the default, that of
// chat_template.jinja counts if there is a processor, and otherwise the other one.
func (f Folder) templateFiles(names []string, processor bool) (found []Template, err error) {
	add := func(name, file string) error {
		if slices.ContainsFunc(found, func(t Template) bool { return t.Name == name }) {
			return nil
		}
		data, err := f.Optional(file)
		if err == nil && !utf8.Valid(data) {
			err = &FileError{file, errors.New("the chat template is not in UTF-8")}
		}
		if err == nil && len(data) > 0 {
			found = append(found, Template{name, string(data), file})
		}
		return err
	}
	if processor {
		err = add(DefaultTemplate, TemplateFile)
	}
	for _, file := range names {
		name, is := strings.CutSuffix(file, templateSuffix)
		if !is {
			continue
		}
		if err == nil {
			err = add(name, TemplatesFolder+"/"+file)
		}
		if err == nil && len(found) > maxTemplates {
			err = tooManyTemplates()
		}
		if err != nil {
			return nil, err
		}
	}
	if err == nil {
		err = add(DefaultTemplate, TemplateFile)
	}
	return found, err
}

func tooManyTemplates() error {
	return unsupported.Errorf("the model has more than %d chat templates", maxTemplates)
}

// templatesOf reads the chat templates in a JSON file, which need not exist.
func (f Folder) templatesOf(file string) ([]Template, error) {
	data, err := f.Optional(file)
	if err != nil {
		return nil, err
	}
	return templatesIn(file, data)
}

// templatesIn reads the chat templates in the content of a JSON file; nil: there is no such file.
func templatesIn(file string, data []byte) ([]Template, error) {
	if data == nil {
		return nil, nil
	}
	var j struct {
		Templates templateTexts `json:"chat_template"`
	}
	if err := modeljson.Unmarshal(data, &j); err != nil {
		return nil, &FileError{file, err}
	}
	var found []Template
	for name, source := range j.Templates {
		if source != "" {
			found = append(found, Template{name, source, file})
		}
	}
	return found, nil
}

// templateTexts are the sources of chat templates by their names.
type templateTexts map[string]string

// UnmarshalJSON reads "source", [{"name": "default", "template": "source"}, …], {"default": "source", …} or null.
func (t *templateTexts) UnmarshalJSON(b []byte) error {
	var source *string
	if modeljson.Unmarshal(b, &source) == nil {
		if *t = nil; source != nil {
			*t = templateTexts{DefaultTemplate: *source}
		}
		return nil
	}
	*t = templateTexts{}
	list := json.NewDecoder(bytes.NewReader(b))
	open, err := list.Token()
	switch {
	case err != nil || open != json.Delim('[') && open != json.Delim('{'):
		return fmt.Errorf("a chat template cannot be %.40s", b)
	case open == json.Delim('{'):
		return t.readNamed(list)
	}
	for list.More() { // one at a time: an entry takes more memory than its few bytes in the file
		var entry json.RawMessage
		if err := list.Decode(&entry); err != nil {
			return fmt.Errorf("a list of chat templates: %w", err)
		}
		var named struct {
			Name     *string `json:"name"`
			Template *string `json:"template"`
		}
		if err := modeljson.Unmarshal(entry, &named); err != nil || named.Name == nil || named.Template == nil {
			return fmt.Errorf("a list of chat templates has %.60s, which is not a name and a template", entry)
		}
		if (*t)[*named.Name] = *named.Template; len(*t) > maxTemplates {
			return tooManyTemplates()
		}
	}
	return nil
}

// readNamed reads what follows the opening of an object of templates.
func (t *templateTexts) readNamed(object *json.Decoder) error {
	for object.More() {
		name, err := object.Token()
		if err != nil {
			return err
		}
		var source string
		if err := object.Decode(&source); err != nil {
			return fmt.Errorf("the chat template %.40q: %w", name, err)
		}
		if (*t)[name.(string)] = source; len(*t) > maxTemplates { // the decoder has checked that a key is one
			return tooManyTemplates()
		}
	}
	return nil
}

// The keys of GGUF's metadata for chat templates: the default, the list of the other ones' names, and what comes before such a name.
const (
	TemplateKey    = "tokenizer.chat_template"
	templatesKey   = "tokenizer.chat_templates"
	namedTemplates = TemplateKey + "."
)

// TemplatesOf reads the chat templates in a GGUF file, ordered by name.
func TemplatesOf(f *gguf.File) (found []Template, err error) {
	for _, key := range f.Keys() {
		name, named := strings.CutPrefix(key, namedTemplates)
		if !named && key != TemplateKey {
			continue
		}
		if !named {
			name = DefaultTemplate
		} else if name == DefaultTemplate {
			if source, _ := f.String(TemplateKey); source != "" { // which llama.cpp takes
				continue
			}
		}
		source, ok := f.String(key)
		switch {
		case !ok:
			return nil, fmt.Errorf("%s is no text", key)
		case source != "":
			found = append(found, Template{name, source, key})
		}
		if len(found) > maxTemplates {
			return nil, tooManyTemplates()
		}
	}
	slices.SortFunc(found, func(a, b Template) int { return strings.Compare(a.Name, b.Name) })
	return found, nil
}

// TemplateMetadata describes chat templates in GGUF's keys. As in llama.cpp's files, anything but letters and digits in a name becomes an
// underscore, and two names that become the same are an error.
func TemplateMetadata(templates []Template) (list []gguf.KeyValue, err error) {
	others := map[string]string{}
	for _, t := range templates {
		if t.Name == DefaultTemplate {
			list = append(list, gguf.KeyValue{Key: TemplateKey, Value: gguf.ValueOf(t.Source)})
			continue
		}
		name := strings.Map(func(r rune) rune {
			if r < 128 && (r >= '0' && r <= '9' || r|0x20 >= 'a' && r|0x20 <= 'z') {
				return r
			}
			return '_'
		}, t.Name)
		if other, ok := others[name]; ok {
			return nil, unsupported.Errorf("the chat templates %q and %q have the same name in GGUF, %s", other, t.Name, name)
		}
		others[name] = t.Name
		list = append(list, gguf.KeyValue{Key: namedTemplates + name, Value: gguf.ValueOf(t.Source)})
	}
	if len(others) > 0 {
		list = append(list, gguf.KeyValue{Key: templatesKey, Value: gguf.ArrayOf(slices.Sorted(maps.Keys(others)))})
	}
	return list, nil
}
