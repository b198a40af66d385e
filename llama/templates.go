package llama

import (
	"fmt"
	"slices"
	"strings"

	"github.com/antigravity-go/antigravity/internal/calls"
	"github.com/antigravity-go/antigravity/internal/chat"
	"github.com/antigravity-go/antigravity/internal/checkpoint"
)

// A model may have several chat templates: one for conversations with functions on offer, say. For example, of the templates default, rag and
// tool_use
//
//	TemplateOptions{}                               takes default
//	TemplateOptions{Tools: …}                       takes tool_use
//	TemplateOptions{Tools: …, Named: "default"}     takes default
//	TemplateOptions{Named: "rag", Vars: …}          takes rag
//
// How the model writes calls is told by the template that functions are given to, and how it marks thoughts by the default.

// templates are the chat templates of a tokenizer. The zero value has no template.
type templates struct {
	all  []namedTemplate // ordered by name
	from string          // see ChatTemplates
}

// namedTemplate is one of several templates.
type namedTemplate struct {
	name   string
	source string
	parsed *chat.Template
	err    error // why there is no parsed
}

// builtIn is the place of the template for the vocabulary of Llama 3.
const builtIn = "built in, for Llama 3's vocabulary: the files have no chat template"

// HasTemplate reports whether the model has a chat format, which Template and Chat need.
func (t *Tokenizer) HasTemplate() bool { return len(t.templates.all) > 0 }

// ChatTemplates says which chat templates a model has.
type ChatTemplates struct {
	Names   []string // in order; a model with one template has "default"
	Sources []string // of each name the template, in Jinja
	// From is the place of the template that is taken by default: the name of a file of the model's folder, a key of its GGUF file,
	// "LoadOptions.ChatTemplate", or words that begin with "built in" if the files have no template and the vocabulary is Llama 3's. It is ""
	// for a model without a template.
	From string
}

// ChatTemplates returns the model's chat templates and the place that they are from. The slices are the caller's.
func (t *Tokenizer) ChatTemplates() ChatTemplates {
	all := ChatTemplates{Names: t.templates.names(), From: t.templates.from}
	for i := range t.templates.all {
		all.Sources = append(all.Sources, t.templates.all[i].source)
	}
	return all
}

func (t *templates) names() []string {
	names := make([]string, len(t.all))
	for i := range t.all {
		names[i] = t.all[i].name
	}
	return names
}

// named returns the template of a name.
func (t *templates) named(name string) *namedTemplate {
	if i := slices.IndexFunc(t.all, func(n namedTemplate) bool { return n.name == name }); i >= 0 {
		return &t.all[i]
	}
	return nil
}

// choose returns the template that options ask for. There is at least one template.
func (t *templates) choose(o *TemplateOptions) (*chat.Template, error) {
	name := o.Named
	if name == "" {
		if name = checkpoint.DefaultTemplate; len(o.Tools) > 0 && t.named(checkpoint.ToolTemplate) != nil {
			name = checkpoint.ToolTemplate
		}
	}
	n := t.named(name)
	if n == nil {
		return nil, &ParamError{"TemplateOptions.Named", fmt.Sprintf("%.100q", o.Named), "the name of one of the model's chat templates: " + strings.Join(t.names(), ", ")}
	}
	return n.parsed, n.err
}

// setTemplates takes the model's chat templates; else Llama 3's for its vocabulary, else no template. A default, or one for functions, that does
// not parse is an error, since answering in another format would silently be worse; of another template it is what asking for that gives.
func setTemplates(t *Tokenizer, list []checkpoint.Template, bos, eos string) error {
	if _, ok := t.vocabulary.ID("<|start_header_id|>"); ok && len(list) == 0 {
		list = []checkpoint.Template{{Name: checkpoint.DefaultTemplate, Source: chat.Llama3(), File: builtIn}}
	}
	source := func(names ...string) string {
		for _, name := range names {
			if i := slices.IndexFunc(list, func(s checkpoint.Template) bool { return s.Name == name }); i >= 0 {
				return list[i].Source
			}
		}
		return ""
	}
	t.calls = calls.Of(source(checkpoint.ToolTemplate, checkpoint.DefaultTemplate), func(token string) bool { return slices.Contains(t.vocabulary.Added(), token) })
	t.thinker = newThinker(t, source(checkpoint.DefaultTemplate, checkpoint.ToolTemplate))
	for i := range list {
		s := &list[i]
		parsed, err := chat.Parse(s.Source, t.vocabulary.Added(), bos, eos)
		if err != nil {
			if err = fmt.Errorf("chat template: %w", err); s.File != "" {
				err = fmt.Errorf("%s: %w", s.File, err)
			}
			if s.Name == checkpoint.DefaultTemplate || s.Name == checkpoint.ToolTemplate {
				return err
			}
		}
		t.templates.all = append(t.templates.all, namedTemplate{s.Name, s.Source, parsed, err})
		if t.templates.from == "" || s.Name == checkpoint.DefaultTemplate {
			t.templates.from = s.File
		}
	}
	setCalls(t)
	return nil
}

// setCalls gives all templates the format of calls. A model with a template that has no place for functions is told how to call them, in a way
// that can be written as content.
func setCalls(t *Tokenizer) {
	with := t.templates.named(checkpoint.ToolTemplate)
	if with == nil {
		with = t.templates.named(checkpoint.DefaultTemplate)
	}
	if f := t.calls.Family(); with != nil && !with.parsed.HasTools() && (t.calls == calls.None || !f.JSON() || f.Channels != nil) {
		t.calls = calls.Hermes
	}
	for i := range t.templates.all {
		if n := &t.templates.all[i]; n.parsed != nil {
			n.parsed.WriteCalls(t.calls)
		}
	}
}
