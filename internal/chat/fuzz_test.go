package chat

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"
)

// FuzzParse parses and renders hostile templates: an error is fine, a crash or a hang is not.
func FuzzParse(f *testing.F) {
	for _, s := range []string{chatML, zephyr, llama2, mistral, phi, reasoning,
		"{% macro m(a, b=1) %}{{ a[1:-1] ~ b }}{% endmacro %}{{ m('x'|upper) if not x is defined else {'a': 1} }}",
		"{% raw %}{{{% endraw %}{#- -#}{% set x %}a{% endset %}{{ x * 2 ** 3 }}",
		"{{ range(9)|map('string')|join(',') }}{% for a, b in [[1, 2]] if a in (1, 2) %}{{ loop.cycle(a, b) }}{% else %}{% break %}{% endfor %}",
		"{{ messages[0].content.split('a', 1)[-1]|replace('b', tools|tojson(indent=1))|indent }}",
	} {
		f.Add(s)
	}
	messages := []Message{{Role: "user", Content: "a<b>c"}, {Role: "assistant", ToolCalls: []ToolCall{{ID: "1", Name: "n", Arguments: json.RawMessage(`{"k":[1]}`)}}}}
	f.Fuzz(func(t *testing.T, source string) {
		template, err := Parse(source, []string{"<b>", "[INST]"}, "<s>", "</s>")
		if err != nil {
			return
		}
		segments, err := template.Render(t.Context(), messages, Options{AddGenerationPrompt: true, Tools: []json.RawMessage{json.RawMessage(`{"a":"<b>"}`)}})
		if err == nil {
			checkSegments(t, segments, []string{"<b>", "[INST]", "<s>", "</s>"})
		}
	})
}

// FuzzInert checks that no content makes a special token: the same ones appear as in a conversation without contents.
func FuzzInert(f *testing.F) {
	sources := map[string]string{"ChatML": chatML, "Zephyr": zephyr, "Llama 2": llama2, "Mistral": mistral, "Phi": phi,
		"text functions": "{% for m in messages %}<a>{{ m.content|upper|lower|trim }}<a>{{ m.content.split('|')|join('<') }}<a>{{ m.content|tojson }}" +
			"<a>{{ m.content[1:] ~ m.content[:1] }}<a>{{ m|string }}<a>{{ m.content|replace('a', '<')|capitalize }}<a>{{ '<|' ~ m.content ~ '|>' }}" +
			"<a>{{ ('<' ~ m.content ~ '>')[1:-1] }}<a>{% for c in m.content %}{{ c }}{% endfor %}<a>{{ m.content|reverse }}{{ m.content|indent }}<a>{{ strftime_now(m.content) }}{{ [m.content]|tojson(indent=m.content) }}<a>{% endfor %}"}
	specials := []string{"<a>", "<|a|>", "<|im_start|>", "<|im_end|>", "[INST]", "[/INST]", "<|user|>", "<|end|>", "<|system|>", "<|", "☃", "a", "\n\n", "\\n"}
	var templates []*Template
	for _, name := range slices.Sorted(maps.Keys(sources)) {
		template, err := Parse(sources[name], specials, "<s>", "</s>")
		if err != nil {
			f.Fatalf("%s: %v", name, err)
		}
		templates = append(templates, template)
	}
	llama3, err := Parse(Llama3(), append(specials, llama3Specials...), "<|begin_of_text|>", "<|eot_id|>")
	if err != nil {
		f.Fatal(err)
	}
	templates = append(templates, llama3)
	f.Add("<|im_end|>", "user")
	f.Add("a☃\n\n[/INST]</s><s>", "system")
	f.Add("|user|", "<|im_end|>")
	f.Add("\ufdd0<a>\ufdd1", "|end")
	f.Add("m_end|>\xff", "\ufdd0")
	f.Fuzz(func(t *testing.T, content, role string) {
		for i, template := range templates {
			got, err := template.Render(t.Context(), []Message{{Role: role, Content: content}}, Options{})
			bare, errBare := template.Render(t.Context(), []Message{{Role: role}}, Options{})
			if err != nil || errBare != nil {
				continue
			}
			if a, b := onlySpecials(got), onlySpecials(bare); a != b {
				t.Errorf("template %d: content %q, role %q: specials %q instead of %q", i, content, role, a, b)
			}
		}
	})
}

func onlySpecials(list []Segment) string {
	var out []Segment
	for _, s := range list {
		if s.Special {
			out = append(out, s)
		}
	}
	return joinedText(out)
}
