package chat

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"
)

// Short equivalents of what common models ship, in our own words, with expectations derived by hand from Jinja's rules.
const (
	chatML = `{% for message in messages %}
{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n'}}
{% endfor %}
{% if add_generation_prompt %}
{{ '<|im_start|>assistant\n' }}
{% endif %}
`
	zephyr = `{% for message in messages %}
{% if message['role'] == 'user' %}
{{ '<|user|>\n' + message['content'] + eos_token }}
{% elif message['role'] == 'system' %}
{{ '<|system|>\n' + message['content'] + eos_token }}
{% elif message['role'] == 'assistant' %}
{{ '<|assistant|>\n'  + message['content'] + eos_token }}
{% endif %}
{% if loop.last and add_generation_prompt %}
{{ '<|assistant|>' }}
{% endif %}
{% endfor %}`
	llama2 = `{% if messages[0]['role'] == 'system' %}{% set rest = messages[1:] %}{% set system = messages[0]['content'] %}` +
		`{% else %}{% set rest = messages %}{% set system = false %}{% endif %}` +
		`{% for message in rest %}{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}` +
		`{{ raise_exception('user and assistant must take turns') }}{% endif %}` +
		`{% if loop.index0 == 0 and system != false %}{% set content = '<<SYS>>\n' + system + '\n<</SYS>>\n\n' + message['content'] %}` +
		`{% else %}{% set content = message['content'] %}{% endif %}` +
		`{% if message['role'] == 'user' %}{{ bos_token + '[INST] ' + content.strip() + ' [/INST]' }}` +
		`{% elif message['role'] == 'assistant' %}{{ ' '  + content.strip() + ' ' + eos_token }}{% endif %}{% endfor %}`
	mistral = `{%- if messages[0]["role"] == "system" %}
    {%- set system_message = messages[0]["content"] %}
    {%- set loop_messages = messages[1:] %}
{%- else %}
    {%- set loop_messages = messages %}
{%- endif %}
{%- if not tools is defined %}
    {%- set tools = none %}
{%- endif %}
{%- set user_messages = loop_messages | selectattr("role", "equalto", "user") | list %}
{%- set ns = namespace() %}
{%- set ns.index = 0 %}
{%- for message in loop_messages %}
    {%- if not (message.role == "tool" or (message.tool_calls is defined and message.tool_calls is not none)) %}
        {%- if (message["role"] == "user") != (ns.index % 2 == 0) %}
            {{- raise_exception("roles must alternate") }}
        {%- endif %}
        {%- set ns.index = ns.index + 1 %}
    {%- endif %}
{%- endfor %}
{{- bos_token }}
{%- for message in loop_messages %}
    {%- if message["role"] == "user" %}
        {%- if tools is not none and (message == user_messages[-1]) %}
            {{- "[AVAILABLE_TOOLS] [" }}
            {%- for tool in tools %}
                {%- set tool = tool.function %}
                {{- '{"type": "function", "function": {' }}
                {%- for key, val in tool.items() if key != "return" %}
                    {%- if val is string %}
                        {{- '"' + key + '": "' + val + '"' }}
                    {%- else %}
                        {{- '"' + key + '": ' + val|tojson }}
                    {%- endif %}
                    {%- if not loop.last %}
                        {{- ", " }}
                    {%- endif %}
                {%- endfor %}
                {{- "}}" }}
                {%- if not loop.last %}
                    {{- ", " }}
                {%- else %}
                    {{- "]" }}
                {%- endif %}
            {%- endfor %}
            {{- "[/AVAILABLE_TOOLS]" }}
        {%- endif %}
        {%- if loop.last and system_message is defined %}
            {{- "[INST] " + system_message + "\n\n" + message["content"] + "[/INST]" }}
        {%- else %}
            {{- "[INST] " + message["content"] + "[/INST]" }}
        {%- endif %}
    {%- elif message.tool_calls is defined and message.tool_calls is not none %}
        {{- "[TOOL_CALLS] [" }}
        {%- for tool_call in message.tool_calls %}
            {%- set out = tool_call.function|tojson %}
            {{- out[:-1] }}
            {%- if not tool_call.id is defined or tool_call.id|length != 9 %}
                {{- raise_exception("call ids have nine characters") }}
            {%- endif %}
            {{- ', "id": "' + tool_call.id + '"}' }}
            {%- if not loop.last %}
                {{- ", " }}
            {%- else %}
                {{- "]" + eos_token }}
            {%- endif %}
        {%- endfor %}
    {%- elif message["role"] == "assistant" %}
        {{- " " + message["content"]|trim + eos_token}}
    {%- elif message["role"] == "tool" or message["role"] == "tool_results" %}
        {{- '[TOOL_RESULTS] {"content": ' + message.content|string + ", " }}
        {{- '"call_id": "' + message.tool_call_id + '"}[/TOOL_RESULTS]' }}
    {%- else %}
        {{- raise_exception("unknown role") }}
    {%- endif %}
{%- endfor %}`
	gemma2 = `{{ bos_token }}{% if messages[0]['role'] == 'system' %}{{ raise_exception('no system role') }}{% endif %}` +
		`{% for m in messages %}{% set role = 'model' if m.role == 'assistant' else m.role %}{{ '<start_of_turn>' + role + '\n' + m.content | trim + '<end_of_turn>\n' }}{% endfor %}`
	gemma3 = `{{ bos_token }}
{%- if messages[0]['role'] == 'system' -%}
    {%- set prefix = messages[0]['content'] + '

' -%}
    {%- set rest = messages[1:] -%}
{%- else -%}
    {%- set prefix = "" -%}
    {%- set rest = messages -%}
{%- endif -%}
{%- for m in rest -%}
    {{ '<start_of_turn>' + m.role + '\n' + (prefix if loop.first else "") }}
    {%- if m['content'] is string -%}
        {{ m['content'] | trim }}
    {%- else -%}
        {{ raise_exception("no text") }}
    {%- endif -%}
    {{ '<end_of_turn>
' }}
{%- endfor -%}`
	olmo3 = `{%- for m in messages -%}{{- m['role'] ~ ':' ~ m.get('content', none) -}}{%- if m.get('tool_calls', none) is not none -%}{{- '<function_calls>' -}}` +
		`{%- for call in m['tool_calls'] %}{%- if call is mapping and call.get('function', none) is not none %}{%- set ns = namespace(list=[]) -%}` +
		`{%- for key, value in call['function']['arguments'].items() -%}{%- set ns.list = ns.list + [key ~ '=' ~ (value | tojson)] -%}{%- endfor -%}` +
		`{{- call['function']['name'] + '(' + ns.list | join(', ') + ')' -}}{%- if not loop.last -%}{{ '
' }}{%- endif -%}{%- endif %}{%- endfor %}{{- '</function_calls>' -}}{%- endif -%}{%- endfor -%}`
	ministral3 = `{{- bos_token }}{%- for m in messages %}{%- for call in m.tool_calls %}{%- set arguments = call['function']['arguments'] %}` +
		`{%- if arguments is not string %}{%- set arguments = arguments|tojson|safe %}{%- endif %}{{- '[TOOL_CALLS]' + call['function']['name'] + '[ARGS]' + arguments }}{%- endfor %}{%- endfor %}`
	phi = `{% for m in messages %}{{'<|' + m.role + '|>\n' + m.content + '<|end|>\n'}}{% endfor %}`
	// what reasoning models do with earlier turns, and training marks
	reasoning = `{%- for m in messages %}
    {%- set content = m.content %}
    {%- if m.role == 'assistant' %}
        {%- if '</think>' in content %}
            {%- set content = content.split('</think>')[-1].lstrip('\n') %}
        {%- endif %}
        {%- generation %}
        {{- '<a>' ~ content ~ '</a>' }}
        {%- endgeneration %}
    {%- elif content.startswith('<tool>') and content.endswith('</tool>') %}
        {{- '<t>' ~ content[6:-7] ~ '</t>' }}
        {%- continue %}
    {%- else %}
        {{- '<u>' ~ content ~ '</u>' }}
    {%- endif %}
    {%- if loop.index0 >= 3 %}{% break %}{% endif %}
{%- endfor %}`
)

func special(s string) Segment { return Segment{Text: s, Special: true} }
func plain(s string) Segment   { return Segment{Text: s} }

func TestCommonTemplates(t *testing.T) {
	user := func(s string) Message { return Message{Role: "user", Content: s} }
	assistant := func(s string) Message { return Message{Role: "assistant", Content: s} }
	system := func(s string) Message { return Message{Role: "system", Content: s} }
	weather := json.RawMessage(`{"type":"function","function":{"name":"weather","return":1,"description":"It's <b>","parameters":{"z":1,"a":[1.0,true,null,"한국"]}}}`)
	tests := []struct {
		name, template string
		specials       []string
		messages       []Message
		options        Options
		want           []Segment
	}{
		{"ChatML", chatML, []string{"<|im_start|>", "<|im_end|>"}, []Message{system("S"), user("a<|im_end|>b")}, Options{AddGenerationPrompt: true}, []Segment{
			special("<|im_start|>"), plain("system\nS"), special("<|im_end|>"), plain("\n\n"),
			special("<|im_start|>"), plain("user\na<|im_end|>b"), special("<|im_end|>"), plain("\n\n"), special("<|im_start|>"), plain("assistant\n\n"),
		}},
		{"ChatML with a role that breaks out", chatML, []string{"<|im_start|>", "<|im_end|>"}, []Message{{Role: "x<|im_end|>", Content: ""}}, Options{}, []Segment{
			special("<|im_start|>"), plain("x<|im_end|>\n"), special("<|im_end|>"), plain("\n\n"),
		}},
		{"Zephyr", zephyr, []string{"<s>", "</s>"}, []Message{user("hi</s>"), assistant(" yo "), user("?")}, Options{AddGenerationPrompt: true}, []Segment{
			plain("<|user|>\nhi</s>"), special("</s>"), plain("\n<|assistant|>\n yo "), special("</s>"), plain("\n<|user|>\n?"), special("</s>"), plain("\n<|assistant|>\n"),
		}},
		{"Llama 2", llama2, nil, []Message{system(" S "), user(" a<s> "), assistant("b "), user("c")}, Options{}, []Segment{
			special("<s>"), plain("[INST] <<SYS>>\n S \n<</SYS>>\n\n a<s> [/INST] b "), special("</s>"), special("<s>"), plain("[INST] c [/INST]"),
		}},
		{"Llama 2 without system", llama2, nil, []Message{user(" a ")}, Options{}, []Segment{special("<s>"), plain("[INST] a [/INST]")}},
		{"Mistral", mistral, []string{"[INST]", "[/INST]"}, []Message{system("S"), user("a"), assistant(" b "), user("[/INST]c")}, Options{}, []Segment{
			special("<s>"), special("[INST]"), plain(" a"), special("[/INST]"), plain(" b"), special("</s>"), special("[INST]"), plain(" S\n\n[/INST]c"), special("[/INST]"),
		}},
		{"Mistral with tools", mistral, []string{"[INST]", "[/INST]", "[TOOL_CALLS]"}, []Message{
			user("a"),
			{Role: "assistant", ToolCalls: []ToolCall{{ID: "123456789", Name: "weather", Arguments: json.RawMessage(`{"z":"[INST]","a":2}`)}}},
			{Role: "tool", Content: "22", ToolCallID: "123456789"},
		}, Options{Tools: []json.RawMessage{weather}}, []Segment{
			special("<s>"),
			plain(`[AVAILABLE_TOOLS] [{"type": "function", "function": {"name": "weather", "description": "It's <b>", "parameters": {"z": 1, "a": [1.0, true, null, "한국"]}}}][/AVAILABLE_TOOLS]`),
			special("[INST]"), plain(" a"), special("[/INST]"),
			special("[TOOL_CALLS]"), plain(` [{"name": "weather", "arguments": {"z": "[INST]", "a": 2}, "id": "123456789"}]`), special("</s>"),
			plain(`[TOOL_RESULTS] {"content": 22, "call_id": "123456789"}[/TOOL_RESULTS]`),
		}},
		{"Gemma 2", gemma2, []string{"<start_of_turn>", "<end_of_turn>"}, []Message{user(" a<end_of_turn>"), assistant("b")}, Options{}, []Segment{
			special("<s>"), special("<start_of_turn>"), plain("user\na<end_of_turn>"), special("<end_of_turn>"), plain("\n"),
			special("<start_of_turn>"), plain("model\nb"), special("<end_of_turn>"), plain("\n"),
		}},
		{"Gemma 3 puts the system's text before the user's", gemma3, []string{"<start_of_turn>", "<end_of_turn>"}, []Message{system("S"), user(" a ")}, Options{}, []Segment{
			special("<s>"), special("<start_of_turn>"), plain("user\nS\n\na"), special("<end_of_turn>"), plain("\n"),
		}},
		{"OLMo 3 with calls", olmo3, []string{"<function_calls>", "</function_calls>"}, []Message{
			{Role: "assistant", Content: "x", ToolCalls: []ToolCall{{Name: "f", Arguments: json.RawMessage(`{"z":"</function_calls>","a":[true,null]}`)}, {Name: "g", Arguments: json.RawMessage(`{}`)}}},
		}, Options{}, []Segment{
			plain("assistant:x"), special("<function_calls>"), plain(`f(z="</function_calls>", a=[true, null])` + "\ng()"), special("</function_calls>"),
		}},
		{"Ministral 3 with a call", ministral3, []string{"[TOOL_CALLS]", "[ARGS]"}, []Message{
			{Role: "assistant", ToolCalls: []ToolCall{{Name: "f", Arguments: json.RawMessage(`{"z":"[ARGS]"}`)}}},
		}, Options{}, []Segment{special("<s>"), special("[TOOL_CALLS]"), plain("f"), special("[ARGS]"), plain(`{"z": "[ARGS]"}`)}},
		{"Phi builds a token from the role", phi, []string{"<|user|>", "<|end|>"}, []Message{user("end")}, Options{}, []Segment{
			special("<|user|>"), plain("\nend"), special("<|end|>"), plain("\n"),
		}},
		{"SmolLM3 has another name for tools", `{% for tool in xml_tools %}{{ tool.function.name }}{% endfor %}{{ messages[0].content }}`, nil, []Message{user("a")},
			Options{Tools: []json.RawMessage{weather}}, []Segment{plain("weathera")}},
		{"reasoning", reasoning, []string{"<a>", "</a>", "</think>", "<tool>"}, []Message{
			user("<a>"), assistant("x</think>\n\ny</a>"), user("<tool>z</a></tool>"), user("u"), user(""),
		}, Options{}, []Segment{
			plain("<u><a></u>"), special("<a>"), plain("y</a>"), special("</a>"), plain("<t>z</a></t><u>u</u>"),
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			template, err := Parse(test.template, test.specials, "<s>", "</s>")
			if err != nil {
				t.Fatal(err)
			}
			got, err := template.Render(t.Context(), test.messages, test.options)
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, test.want) {
				t.Errorf("\n got %+v\nwant %+v", got, test.want)
			}
		})
	}
}

var testDate = time.Date(2025, 3, 4, 5, 6, 7, 0, time.UTC)

func TestRefusal(t *testing.T) {
	template, err := Parse(llama2, nil, "<s>", "</s>")
	if err != nil {
		t.Fatal(err)
	}
	_, err = template.Render(t.Context(), []Message{{Role: "assistant", Content: "x"}}, Options{})
	if err == nil || err.Error() != "rendering the chat template: user and assistant must take turns" {
		t.Errorf("got %v", err)
	}
	if template, err = Parse(gemma2, nil, "<s>", "</s>"); err != nil { // which has no system role
		t.Fatal(err)
	}
	_, err = template.Render(t.Context(), []Message{{Role: "system", Content: "x"}, {Role: "user", Content: "x"}}, Options{})
	if err == nil || err.Error() != "rendering the chat template: no system role" {
		t.Errorf("got %v", err)
	}
}

// TestJinja holds single features against what Jinja 2 prints, in Hugging Face's environment.
func TestJinja(t *testing.T) {
	tests := []struct{ name, template, want string }{
		{"text", "a\n\nb\n", "a\n\nb"},
		{"trim_blocks", "{% if true %}\nx\n{% endif %}\ny", "x\ny"},
		{"trim_blocks keeps after +", "{% if true +%}\nx{% endif %}", "\nx"},
		{"lstrip_blocks", "a\n  {% if true %}b{% endif %}", "a\nb"},
		{"lstrip_blocks keeps after +", "a\n  {%+ if true %}b{% endif %}", "a\n  b"},
		{"lstrip_blocks only at the start of a line", "{{ 'a' }} {% if true %}b{% endif %}", "a b"},
		{"lstrip_blocks leaves variables alone", "a\n  {{ 'b' }}", "a\n  b"},
		{"lstrip_blocks and comments", "a\n  {# c #}\nb", "a\nb"},
		{"minus", "a \n {{- 'b' -}} \n c", "abc"},
		{"minus in a block", "a \n {%- if true -%} \n c {%- endif %}\n d", "ac d"},
		{"variable keeps its line break", "{{ 'a' }}\nb", "a\nb"},
		{"raw", "{% raw %}\n{{ x }}{% endraw %}\ny", "\n{{ x }}y"},
		{"brace before a comment", "{ {#- c #}{ 1 }", "{{ 1 }"},
		{"escapes", `{{ 'a\n\t\\n\'"\x41\u00e9' }}`, "a\n\t\\n'\"Aé"},
		{"adjacent literals", `{{ 'a' "b" }}`, "ab"},
		{"lines in a tag", "{{ 'a'\n ~ 'b'\n  if true\n else 'c' }}", "ab"},
		{"conditional in brackets", "{{ 'a' ~ ('b' if false else 'c') ~ ('d' if false) }}", "ac"},
		{"conditional is lazy", "{{ raise_exception('no') if false else 'x' }}", "x"},
		{"nested conditional", "{{ 1 if false else 2 if false else 3 }}", "3"},
		{"conditional as argument", "{{ [1 if true else 2, 3]|join('a' if false else 'b') }}", "1b3"},
		{"and, or give an operand", "{{ '' or 'x' }}{{ 'a' and 'b' }}", "xb"},
		{"loop filter", "{% for x in [1,2,3] if x != 2 %}{{ x }}{{ loop.index }}{{ loop.last }};{% endfor %}", "11False;32True;"},
		{"loop else", "{% for x in [] %}a{% else %}b{% endfor %}", "b"},
		{"loop over undefined", "{% for x in nothing %}a{% endfor %}b", "b"},
		{"loop scope", "{% set x = 1 %}{% for y in [1] %}{% set x = 2 %}{% endfor %}{{ x }}", "1"},
		{"if has no scope", "{% if true %}{% set x = 2 %}{% endif %}{{ x }}", "2"},
		{"namespace", "{% set ns = namespace(n=1) %}{% for y in [1,2] %}{% set ns.n = ns.n + y %}{% endfor %}{{ ns.n }}", "4"},
		{"neighbours", "{% for x in 'abc' %}{{ loop.previtem }}{{ loop.nextitem }},{% endfor %}", "b,ac,b,"},
		{"loop.cycle", "{% for x in [1,2,3] %}{{ loop.cycle('a','b') }}{% endfor %}", "aba"},
		{"pairs", "{% for k, v in {'b': 1, 'a': 2}.items() %}{{ k }}{{ v }}{% endfor %}", "b1a2"},
		{"range", "{{ range(3)|list }}{{ range(5, 0, -2)|list }}", "[0, 1, 2][5, 3, 1]"},
		{"negative index", "{{ [1][-1] }}{{ 'ab'[-2] }}{{ [1][5] is defined }}", "1aFalse"},
		{"slices", "{{ 'héllo'[1:3] }}{{ [1,2,3][::-1] }}{{ [1,2,3][:-1] }}{{ 'abc'[5:] }}", "él[3, 2, 1][1, 2]"},
		{"integers", "{{ 7 // 2 }} {{ -7 // 2 }} {{ -7 % 3 }} {{ 7 / 2 }} {{ 6 / 2 }} {{ 2 * 3 }}", "3 -4 2 3.5 3.0 6"},
		{"printing", "{{ true }} {{ none }} {{ missing }} {{ [1, 'a', none, {'k': 'v'}] }} {{ 1.0 }}", "True None  [1, 'a', None, {'k': 'v'}] 1.0"},
		{"quotes", `{{ ["it's", 'a"b'] }}`, `["it's", 'a"b']`},
		{"undefined is not none", "{{ missing is none }}{{ none is none }}{{ none is defined }}{{ missing is defined }}", "FalseTrueTrueFalse"},
		{"tools are None", "{{ tools is defined }}{{ tools is none }}", "TrueTrue"},
		{"not in", "{{ 'a' not in 'bc' }}{{ 'x' in ['x', 'y'] and true }}{{ 'k' in {'k': 1} }}", "TrueTrueTrue"},
		{"in binds looser than +", "{{ 'ab' in 'a' + 'b' }}{{ 'a' in 'A'|lower }}", "TrueTrue"},
		{"filters bind tighter than +", "{{ 'a' + ' b '|trim + 'c' }}", "abc"},
		{"tests", "{{ 3 is odd }}{{ {} is mapping }}{{ [] is mapping }}{{ 'a' is iterable }}{{ 1 is iterable }}{{ 4 is divisibleby 2 }}", "TrueTrueFalseTrueFalseTrue"},
		{"empty things are false", "{{ 'a' if {} else 'b' }}{{ 'a' if [] else 'b' }}{{ 'a' if {'x': 1} else 'b' }}", "bba"},
		{"default", "{{ missing|default('a') }}{{ none|default('b') }}{{ ''|d('c', true) }}", "aNonec"},
		{"tojson", `{{ {'b': [1, 2.5, true, none], 'a': "é<'\n"}|tojson }}`, `{"b": [1, 2.5, true, null], "a": "é<'\n"}`},
		{"tojson indent", `{{ {'b': [1], 'a': {}, 'c': []}|tojson(indent=2) }}`, "{\n  \"b\": [\n    1\n  ],\n  \"a\": {},\n  \"c\": []\n}"},
		{"text filters", "{{ 'aB c'|upper }}{{ 'AB'|lower }}{{ 'ab CD'|capitalize }}{{ 'ab cd'|title }}{{ 'aXa'|replace('a','b') }}", "AB CabAb cdAb CdbXb"},
		{"list filters", "{{ [3,1]|first }}{{ [3,1]|last }}{{ [1,2]|length }}{{ [[1,2],[3]]|map('length')|join(',') }}", "3122,1"},
		{"attribute filters", "{{ [{'a': 1}, {'a': 0}, {}]|selectattr('a')|list }}{{ [{'a': 1}]|map(attribute='a')|list }}", "[{'a': 1}][1]"},
		{"reject", "{{ [1,2,3]|reject('equalto', 2)|join('-') }}", "1-3"},
		{"indent", "{{ 'a\nb\n\nc'|indent(2) }}", "a\n  b\n\n  c"},
		{"methods", "{{ ' a '.strip() }}{{ 'xax'.strip('x') }}{{ 'a,b'.split(',') }}{{ 'a  b '.split() }}{{ 'abc'.replace('b','') }}{{ 'abc'.find('c') }}", "aa['a', 'b']['a', 'b']ac2"},
		{"dictionary methods", "{{ {'a': 1}.get('a') }}{{ {'a': 1}.get('b') }}{{ {'a': 1}.get('b', 2) }}{{ {'b': 1, 'a': 2}.keys()|list }}", "1None2['b', 'a']"},
		{"set block", "{% set x %}a{{ 1 }}{% endset %}{{ x ~ x }}", "a1a1"},
		{"macro", "{% macro m(a, b='x') %}[{{ a }}{{ b }}]{% endmacro %}{{ m(1) }}{{ m(1, b=2) }}", "[1x][12]"},
		{"trailing commas", "{{ {'a': 1,} }}{{ [1,] }}", "{'a': 1}[1]"},
		{"date", "{{ strftime_now is defined }} {{ strftime_now('%Y-%m-%d %B %-d %H:%M %%') }}", "True 2025-03-04 March 4 05:06 %"},
		{"date_string", "{{ date_string }}", "04 Mar 2025"},
		{"variables", "{{ v.b[0] }}{{ v.a }}", "1é"},
		{"generation", "a{% generation %}b{% endgeneration %}c", "abc"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			template, err := Parse(test.template, nil, "", "")
			if err != nil {
				t.Fatal(err)
			}
			got, err := template.Render(t.Context(), []Message{{Role: "user"}}, Options{
				Date: testDate,
				Vars: map[string]any{"v": json.RawMessage(`{"b":[1],"a":"é"}`)},
			})
			if err != nil {
				t.Fatal(err)
			}
			if text := joinedText(got); text != test.want {
				t.Errorf("got %q, want %q", text, test.want)
			}
		})
	}
}

func TestParseErrors(t *testing.T) {
	tests := []struct{ name, template, want string }{
		{"include", "{% include '/etc/passwd' %}", "include"},
		{"import", "{% import 'x' as y %}", "import"},
		{"from", "{% from 'x' import y %}", "from"},
		{"extends", "{% extends 'x' %}", "extends"},
		{"unknown filter", "a\n\n{{ 1|nonesuch }}", "line 3: no filter is named nonesuch"},
		{"unknown test", "{{ 1 is nonesuch }}", "nonesuch"},
		{"syntax", "a\n{{ 1 }}\n{% if x %}\n{{ 1 + }}{% endif %}", "line 4"},
		{"syntax near a literal", "a\n{{ x 'abc' }}", `line 2: expected }}, near "abc"`},
		{"unclosed variable", "a\n{{ 1 ", "line 2"},
		{"unclosed comment", "{# a", "comment"},
		{"unclosed block", "{% if true %}", "endif"},
		{"unclosed string", "{{ 'a }}", "closing"},
		{"unbalanced", "{{ (1] }}", "unbalanced"},
		{"strange character", "{{ 1 § 2 }}", "§"},
		{"deep brackets", "{{ " + strings.Repeat("(", 100000) + " }}", "nested"},
		{"deep blocks", strings.Repeat("{% if true %}", 10000), "nested"},
		{"long tag", "{{ 1" + strings.Repeat("+1", 100000) + " }}", "tokens"},
		{"long template", strings.Repeat("a", 1<<20+1), "bytes"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := Parse(test.template, nil, "", "")
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want something about %q", err, test.want)
			}
		})
	}
}

// TestHostile renders templates that would take all memory, all time or all stack; package jinja has the table of ceilings.
func TestHostile(t *testing.T) {
	double := "{% set x = 'aaaaaaaaaaaaaaaa' %}"
	tests := []struct{ name, template string }{
		{"endless output", "{% for i in range(1000000) %}{{ 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa' }}{% endfor %}"},
		{"huge range", "{% for i in range(2000000000) %}{% endfor %}"},
		{"nested loops", "{% for a in range(2000) %}{% for b in range(2000) %}{% for c in range(2000) %}{% endfor %}{% endfor %}{% endfor %}"},
		{"doubling", double + strings.Repeat("{% set x = x ~ x %}", 60)},
		{"doubling with +", double + strings.Repeat("{% set x = x + x %}", 60)},
		{"doubling in a loop", double + "{% set ns = namespace(x=x) %}{% for i in range(100) %}{% set ns.x = ns.x ~ ns.x %}{% endfor %}"},
		{"doubling a list", "{% set ns = namespace(x=[1]) %}{% for i in range(100) %}{% set ns.x = ns.x + ns.x %}{% endfor %}"},
		{"shared lists compared", "{% set ns = namespace(x=[1], y=[1]) %}{% for i in range(90) %}{% set ns.x = [ns.x, ns.x] %}{% set ns.y = [ns.y, ns.y] %}{% endfor %}{{ ns.x == ns.y }}"},
		{"shared lists printed", "{% set ns = namespace(x=[1]) %}{% for i in range(90) %}{% set ns.x = [ns.x, ns.x] %}{% endfor %}{{ ns.x }}"},
		{"shared lists as JSON", "{% set ns = namespace(x=[1]) %}{% for i in range(90) %}{% set ns.x = [ns.x, ns.x] %}{% endfor %}{{ ns.x|tojson }}"},
		{"deep list printed", "{% set ns = namespace(x=[1]) %}{% for i in range(5000) %}{% set ns.x = [ns.x] %}{% endfor %}{{ ns.x }}"},
		{"deep list compared", "{% set ns = namespace(x=[1], y=[1]) %}{% for i in range(5000) %}{% set ns.x = [ns.x] %}{% set ns.y = [ns.y] %}{% endfor %}{{ ns.x == ns.y }}"},
		{"repetition", "{{ 'a' * 2000000000 }}"},
		{"replacement", "{% set x = 'a' * 1000000 %}{{ x|replace('a', x) }}"},
		{"join", "{% set x = 'a' * 1000000 %}{{ x|join(x) }}"},
		{"block set", "{% set x %}{% for i in range(1000000) %}aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa{% endfor %}{% endset %}"},
		{"endless recursion", "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}"},
		{"exponential recursion", "{% macro m(n) %}{% if n > 0 %}{{ m(n-1) }}{{ m(n-1) }}{% endif %}{% endmacro %}{{ m(30) }}"},
		{"division by zero", "{{ 1 // 0 }}"},
		{"modulo zero", "{{ 1 % 0 }}"},
		{"quadratic split", "{% set x = 'a b' * 100000 %}{% set y = (bos_token ~ x) %}{% for i in range(1000) %}{% set z = x.split(' ') %}{% endfor %}"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			template, err := Parse(test.template, nil, "", "")
			if err != nil {
				t.Fatal(err)
			}
			if _, err = template.Render(t.Context(), []Message{{Role: "user", Content: "x"}}, Options{}); err == nil {
				t.Error("rendered")
			}
			if err != nil && len(err.Error()) > 500 {
				t.Errorf("error of %d bytes", len(err.Error()))
			}
		})
	}
}
