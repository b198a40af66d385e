package llama_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/internal/scriptedmodel"
	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/constrain"
)

// The ends of templates: of Qwen3's, whose models open thoughts, and of QwQ's, which opens them itself. Both drop the thoughts of a history
// unless its last turn has calls.
const (
	thinkTurns = `{%- for m in messages %}<|im_start|>{{ m.role }}
{% if m.role == 'assistant' and m.reasoning_content %}<think>
{{ m.reasoning_content }}
</think>

{% endif %}{{ m.content }}<|im_end|>
{% endfor %}{%- if add_generation_prompt %}<|im_start|>assistant
`
	thinkSwitch = thinkTurns + `{% if enable_thinking is defined and enable_thinking is false %}<think>

</think>

{% endif %}{% endif %}`
	thinkOpened = thinkTurns + `<think>
{% endif %}`
)

var imMarks = []string{"<|im_start|>", "<|im_end|>"}

// thinkingModel loads a scripted model. Marks are added tokens, or else text.
func thinkingModel(t testing.TB, template string, added []string, chains ...[]string) *llama.Model {
	t.Helper()
	m, err := llama.Load(scriptedmodel.Write(t, scriptedmodel.Script{Template: template, Special: imMarks, Added: added, Chains: chains}), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}

var marks = []string{"<think>", "</think>"}

// The scripts: a thought of five tokens, and an answer.
var (
	said    = []string{"\n\n", "The", " answer", " is", " STO", "P", " 4", "2", "."}
	thought = []string{"It", " asks,", " STOP", " ", "\xed\x95", "\x9c", "!"}
)

// script is the chains of a model that opens a thought with open, or finds it open, and closes it with shut.
func script(open, shut []string) [][]string {
	return [][]string{slices.Concat([]string{"\n"}, open, thought, shut, said)}
}

func TestThoughts(t *testing.T) {
	const all, answer = "It asks, STOP 한!", "The answer is STOP 42."
	split := [][]string{{"<th", "ink", ">"}, {" \n</", "thi", "nk>"}}
	yes, no := new(true), new(false)
	for _, c := range []struct {
		name, template string
		added          []string
		chains         [][]string
		params         llama.Params
		thought, text  string
		stop           llama.StopReason
		tokens         int // of the thought; -1: not said
	}{
		{"opened by the model", thinkSwitch, marks, script(marks[:1], marks[1:]), llama.Params{}, all, answer, llama.EndOfTurn, 9},
		{"opened by the template", thinkOpened, marks, script(nil, marks[1:]), llama.Params{}, all, answer, llama.EndOfTurn, 8},
		{"opened by both", thinkOpened, marks, script(marks[:1], marks[1:]), llama.Params{}, all, answer, llama.EndOfTurn, 9},
		{"marks of several tokens", thinkSwitch, nil, script(split[0], split[1]), llama.Params{}, all, answer, llama.EndOfTurn, 13},
		{"opened by the template, marks of several tokens", thinkOpened, nil, script(nil, split[1]), llama.Params{}, all, answer, llama.EndOfTurn, 10},
		{"no thought", thinkSwitch, marks, [][]string{slices.Concat([]string{"\n"}, said[1:])}, llama.Params{}, "", answer, llama.EndOfTurn, 0},
		{"switched off", thinkSwitch, marks, script(marks[:1], marks[1:]), llama.Params{Template: llama.TemplateOptions{Thinking: llama.Thinking{Enabled: no}}}, "", answer, llama.EndOfTurn, 0},
		{"switched on", thinkSwitch, marks, script(marks[:1], marks[1:]), llama.Params{Template: llama.TemplateOptions{Thinking: llama.Thinking{Enabled: yes}}}, all, answer, llama.EndOfTurn, 9},
		{"a variable", thinkSwitch, marks, script(marks[:1], marks[1:]), llama.Params{Template: llama.TemplateOptions{Vars: map[string]any{"enable_thinking": false}}}, "", answer, llama.EndOfTurn, 0},
		{"switched off where the template opens", thinkOpened, marks, script(nil, marks[1:]), llama.Params{Template: llama.TemplateOptions{Thinking: llama.Thinking{Enabled: no}}}, "", answer, llama.EndOfTurn, 2},
		{"a budget of one", thinkSwitch, marks, script(marks[:1], marks[1:]), llama.Params{Template: llama.TemplateOptions{Thinking: llama.Thinking{Budget: 1}}}, "It", answer, llama.EndOfTurn, 4},
		{"a budget of three", thinkOpened, marks, script(nil, marks[1:]), llama.Params{Template: llama.TemplateOptions{Thinking: llama.Thinking{Budget: 3}}}, "It asks, STOP", answer, llama.EndOfTurn, 5},
		{"a budget of the whole", thinkOpened, marks, script(nil, marks[1:]), llama.Params{Template: llama.TemplateOptions{Thinking: llama.Thinking{Budget: 8}}}, all, answer, llama.EndOfTurn, 8},
		{"a budget, marks of several tokens", thinkOpened, nil, script(nil, split[1]), llama.Params{Template: llama.TemplateOptions{Thinking: llama.Thinking{Budget: 2}}}, "It asks,", answer, llama.EndOfTurn, -1},
		{"a stop string in both", thinkSwitch, marks, script(marks[:1], marks[1:]), llama.Params{Stop: []string{"STOP"}}, all, "The answer is ", llama.StopString, 9},
		{"an end within the thought", thinkOpened, marks, [][]string{slices.Concat([]string{"\n"}, thought)}, llama.Params{}, all, "", llama.EndOfTurn, 7},
		{"a limit within the thought", thinkOpened, marks, script(nil, marks[1:]), llama.Params{MaxTokens: 2}, "It asks,", "", llama.MaxTokens, 2},
		{"a limit within the answer", thinkOpened, marks, script(nil, marks[1:]), llama.Params{MaxTokens: 10}, all, "The", llama.MaxTokens, 8},
		{"a limit within the mark", thinkOpened, nil, script(nil, split[1]), llama.Params{MaxTokens: 9}, all + " \n</thi", "", llama.MaxTokens, 9},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := thinkingModel(t, c.template, c.added, c.chains...)
			history := []llama.Message{{Role: llama.RoleUser, Content: "What is it?"}}
			c.params.MaxTokens = max(c.params.MaxTokens, 0)
			if c.params.MaxTokens == 0 {
				c.params.MaxTokens = 100
			}
			var pieces []llama.Piece
			piece, err := llama.Collect(func(yield func(llama.Piece, error) bool) {
				for p, err := range newSession(t, m, nil).Chat(t.Context(), history, c.params) {
					pieces = append(pieces, p)
					if !yield(p, err) {
						return
					}
				}
			})
			if err != nil {
				t.Fatal(err)
			}
			if piece.Thought != c.thought || piece.Text != c.text || piece.Stop != c.stop {
				t.Errorf("thought %q, text %q, stop %v; want %q, %q, %v", piece.Thought, piece.Text, piece.Stop, c.thought, c.text, c.stop)
			}
			if m := piece.Message; m.Thinking != piece.Thought || m.Content != piece.Text {
				t.Errorf("the message is %+v", m)
			}
			if c.tokens >= 0 && piece.Stats.ThoughtTokens != c.tokens {
				t.Errorf("the thought has %d tokens, want %d", piece.Stats.ThoughtTokens, c.tokens)
			}
			answering := false
			for _, p := range pieces {
				if answering && p.Thought != "" {
					t.Errorf("a thought %q comes after the answer", p.Thought)
				}
				answering = answering || p.Text != ""
			}
		})
	}
}

// TestThoughtsBeforeForms asks for answers of a form from models that think.
func TestThoughtsBeforeForms(t *testing.T) {
	for _, c := range []struct {
		name, template string
		added          []string
		chains         [][]string
		thinking       llama.Thinking
		thought        string
	}{
		{"opened by the model", thinkSwitch, marks, script(marks[:1], marks[1:]), llama.Thinking{}, "It asks, STOP 한!"},
		{"opened by the template", thinkOpened, marks, script(nil, marks[1:]), llama.Thinking{}, "It asks, STOP 한!"},
		{"text", thinkSwitch, nil, script([]string{"<", "think", ">"}, []string{"</", "think>", "\n"}[:2]), llama.Thinking{}, "It asks, STOP 한!"},
		{"a budget", thinkOpened, marks, script(nil, marks[1:]), llama.Thinking{Budget: 2}, "It asks,"},
		{"off", thinkOpened, marks, script(nil, marks[1:]), llama.Thinking{Enabled: new(false)}, ""},
		{"switched off", thinkSwitch, marks, script(marks[:1], marks[1:]), llama.Thinking{Enabled: new(false)}, ""},
		{"no end of the thought", thinkOpened, marks, [][]string{slices.Concat([]string{"\n"}, thought)}, llama.Thinking{Budget: 20}, "*"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := thinkingModel(t, c.template, c.added, c.chains...)
			form, err := constrain.Choice(m.Tokenizer(), `{"a": 1}`, `{"b": 2}`)
			if err != nil {
				t.Fatal(err)
			}
			for _, draft := range []llama.Drafter{nil, llama.PromptLookup(llama.LookupOptions{})} {
				p := llama.Params{MaxTokens: 100, Constraint: form, Draft: draft, Template: llama.TemplateOptions{Thinking: c.thinking}}
				piece, err := llama.Collect(newSession(t, m, nil).Chat(t.Context(), []llama.Message{{Role: llama.RoleUser, Content: "It asks, STOP"}}, p))
				if err != nil {
					t.Fatal(err)
				}
				if c.thought == "*" && !strings.HasPrefix(piece.Thought, "It asks,") || c.thought != "*" && piece.Thought != c.thought {
					t.Errorf("thought %q", piece.Thought)
				}
				if piece.Text != `{"a": 1}` && piece.Text != `{"b": 2}` || piece.Stop != llama.EndOfTurn {
					t.Errorf("text %q, %v", piece.Text, piece.Stop)
				}
			}
		})
	}
}
