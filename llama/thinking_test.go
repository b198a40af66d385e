package llama_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/internal/effort"
	"github.com/antigravity-go/antigravity/internal/scriptedmodel"
	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/constrain"
)

// The ends of templates: of Qwen3's, which leaves it to the model to open thoughts, and of QwQ's, which opens them. Both drop the thoughts
// of a history unless its last turn has calls.
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

// TestThoughtsAreTheSame compares answers that are computed in other ways: with drafts, by a pool, and read from their tokens at once.
func TestThoughtsAreTheSame(t *testing.T) {
	for _, template := range []string{thinkSwitch, thinkOpened} {
		open := marks[:1]
		if template == thinkOpened {
			open = nil
		}
		m := thinkingModel(t, template, marks, script(open, marks[1:])...)
		history := []llama.Message{{Role: llama.RoleUser, Content: "It asks, STOP"}}
		for _, thinking := range []llama.Thinking{{}, {Budget: 3}, {Enabled: new(false)}} {
			p := llama.Params{Template: llama.TemplateOptions{Thinking: thinking}}
			want, err := llama.Collect(newSession(t, m, nil).Chat(t.Context(), history, p))
			if err != nil {
				t.Fatal(err)
			}
			p.Draft = llama.PromptLookup(llama.LookupOptions{})
			drafted, err := llama.Collect(newSession(t, m, nil).Chat(t.Context(), history, p))
			if err != nil || drafted.Thought != want.Thought || drafted.Text != want.Text || !slices.Equal(drafted.Tokens, want.Tokens) {
				t.Errorf("with drafts %q, %q, %v; want %q, %q", drafted.Thought, drafted.Text, err, want.Thought, want.Text)
			}
			pool, err := m.NewPool(nil)
			if err != nil {
				t.Fatal(err)
			}
			defer pool.Close()
			prompt, err := m.Tokenizer().Template(history, p.Template)
			if err != nil {
				t.Fatal(err)
			}
			pooled, err := llama.Collect(pool.Answer(t.Context(), prompt, p))
			if err != nil || pooled.Message.Thinking != want.Thought || pooled.Message.Content != want.Text {
				t.Errorf("a pool: %+v, %v; want %q, %q", pooled.Message, err, want.Thought, want.Text)
			}
			if read := m.Tokenizer().ParseAnswer(want.Tokens, -1); read.Thinking != want.Thought || read.Content != want.Text {
				t.Errorf("%q is read as %+v", want.Tokens, read)
			}
		}
		whole, err := llama.Collect(newSession(t, m, nil).Generate(t.Context(), m.Tokenizer().EncodeSpecial("\n", false), llama.Params{}))
		if err != nil || whole.Thought != "" || !strings.Contains(whole.Text, "</think>\n\nThe") {
			t.Errorf("a text that goes on: %q, %q, %v", whole.Thought, whole.Text, err)
		}
	}
}

// TestThoughtsOfAHistory sends an answer back: the template renders its thought, and the cache has all of it.
func TestThoughtsOfAHistory(t *testing.T) {
	m := thinkingModel(t, thinkSwitch, marks, script(marks[:1], marks[1:])...)
	s := newSession(t, m, nil)
	history := []llama.Message{{Role: llama.RoleUser, Content: "What?"}}
	first, err := llama.Collect(s.Chat(t.Context(), history, llama.Params{}))
	if err != nil {
		t.Fatal(err)
	}
	history = append(history, first.Message, llama.Message{Role: llama.RoleUser, Content: "And?"})
	prompt, err := m.Tokenizer().Template(history, llama.TemplateOptions{})
	if text := m.Tokenizer().Decode(prompt...); err != nil || !strings.Contains(text, "assistant\n<think>\nIt asks, STOP 한!\n</think>\n\nThe answer is STOP 42.\nuser\nAnd?") {
		t.Errorf("%q, %v", text, err)
	}
}

// TestBegunThoughts goes on with thoughts and texts that are given, for templates that open the thought, or close it.
func TestBegunThoughts(t *testing.T) {
	effort.Turn(t, 8)
	user := llama.Message{Role: llama.RoleUser, Content: "What?"}
	for _, added := range [][]string{marks, nil} {
		for _, c := range []struct {
			template, thought, text string
			think                   *bool
			end                     string // of the prompt
		}{
			{thinkOpened, "", "It", nil, "<think>\n\n</think>\n\nIt"},
			{thinkOpened, "It asks", "", nil, "<think>\nIt asks"},
			{thinkOpened, "It asks", "It", nil, "<think>\nIt asks\n</think>\n\nIt"},
			{thinkSwitch, "", "It", nil, "<think>\n\n</think>\n\nIt"}, // the template closes it
			{thinkSwitch, "It", "", new(false), "</think>\n\n<think>\nIt"},
		} {
			tokens := thinkingModel(t, c.template, added, script(nil, marks[1:])...).Tokenizer()
			if !tokens.Thinks() {
				t.Error("the model does not think")
			}
			begun, err := tokens.Template([]llama.Message{user, {Role: llama.RoleAssistant, Thinking: c.thought, Content: c.text}},
				llama.TemplateOptions{Continue: true, Thinking: llama.Thinking{Enabled: c.think}})
			if text := tokens.Decode(begun...); err != nil || !strings.HasSuffix(text, c.end) || strings.Count(text, "</think>") > 1 {
				t.Errorf("%q, %q: %q, %v; want the end %q", c.thought, c.text, text, err, c.end)
			}
		}
		m := thinkingModel(t, thinkOpened, added, script(nil, marks[1:])...)
		tokens := m.Tokenizer()
		prompt, err := tokens.Template([]llama.Message{user}, llama.TemplateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if added == nil {
			continue // a thought that has begun is not seen if its marks are text
		}
		scripted, _ := tokens.ID("It")
		pool, err := m.NewPool(nil)
		if err != nil {
			t.Fatal(err)
		}
		defer pool.Close()
		answer, err := llama.Collect(pool.Answer(t.Context(), append(slices.Clip(prompt), scripted), llama.Params{MaxTokens: 50}))
		if err != nil || answer.Thought != " asks, STOP 한!" || answer.Text != "The answer is STOP 42." {
			t.Errorf("%q, %q, %v", answer.Thought, answer.Text, err)
		}
	}
	if pebbleModel(t).Tokenizer().Thinks() {
		t.Error("Pebble thinks")
	}
}

// TestOneBeginningOfText renders conversations for models with templates that write the token that begins a text, or do not.
func TestOneBeginningOfText(t *testing.T) {
	for template, want := range map[string]int{"{{ bos_token }}{% for m in messages %}{{ m.content }}{% endfor %}": 1, "{% for m in messages %}{{ m.content }}{% endfor %}": 0} {
		m, err := llama.Load(scriptedmodel.Write(t, scriptedmodel.Script{Template: template, Special: []string{"<s>"}, BOS: "<s>", Chains: [][]string{{"a", "b"}}}), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		bos, _ := m.Tokenizer().ID("<s>")
		prompt, err := m.Tokenizer().Template([]llama.Message{{Role: llama.RoleUser, Content: "a<s>"}}, llama.TemplateOptions{})
		n := 0
		for _, token := range prompt {
			if token == bos {
				n++
			}
		}
		if err != nil || n != want || n == 1 && prompt[0] != bos {
			t.Errorf("%s: %d begin tokens in %v, %v", template, n, prompt, err)
		}
	}
}

// TestChatTemplate gives a template to a model without a template, and to one that has another.
func TestChatTemplate(t *testing.T) {
	for _, own := range []string{"", "{{ raise_exception('no') }}"} {
		dir := scriptedmodel.Write(t, scriptedmodel.Script{Template: own, Special: imMarks, Added: marks, Chains: script(marks[:1], marks[1:])})
		m, err := llama.Load(dir, &llama.LoadOptions{ChatTemplate: thinkSwitch})
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		piece, err := llama.Collect(newSession(t, m, nil).Chat(t.Context(), []llama.Message{{Role: llama.RoleUser, Content: "What?"}}, llama.Params{}))
		if err != nil || piece.Message.Content != "The answer is STOP 42." || piece.Message.Thinking == "" {
			t.Errorf("%+v, %v", piece.Message, err)
		}
		if _, err := llama.Load(dir, &llama.LoadOptions{ChatTemplate: "{% if"}); err == nil || !strings.Contains(err.Error(), "LoadOptions.ChatTemplate") {
			t.Errorf("a template that does not parse: %v", err)
		}
	}
}

// TestRandomThoughtsBeforeForms draws answers freely: whatever the thought is, the answer has its form, and reading its tokens gives the
// same.
func TestRandomThoughtsBeforeForms(t *testing.T) {
	effort.Turn(t, 8)
	overlong := []string{">x", "</think>y", "think>z", ">\n", "<think>{"} // tokens that have an end of a mark and more
	for _, c := range []struct {
		template string
		added    []string
	}{{thinkSwitch, marks}, {thinkOpened, marks}, {thinkSwitch, nil}, {thinkOpened, nil}} {
		m := thinkingModel(t, c.template, c.added, append(script([]string{"<", "think", ">"}[:0], []string{"</", "think"}), overlong)...)
		form, err := constrain.Choice(m.Tokenizer(), `{"a": 1}`, "<b>", "<think")
		if err != nil {
			t.Fatal(err)
		}
		for seed := range uint64(60) {
			p := llama.Params{
				MaxTokens: 400, Temperature: 100, Seed: seed, Constraint: form,
				Template: llama.TemplateOptions{Thinking: llama.Thinking{Budget: int(seed)%7*3 + 1}},
			}
			piece, err := llama.Collect(newSession(t, m, nil).Chat(t.Context(), []llama.Message{{Role: llama.RoleUser, Content: "What?"}}, p))
			if err != nil {
				t.Fatal(err)
			}
			if text := piece.Text; text != `{"a": 1}` && text != "<b>" && text != "<think" || piece.Stop != llama.EndOfTurn {
				t.Fatalf("seed %d: thought %q, text %q, %v, of %q", seed, piece.Thought, piece.Text, piece.Stop, m.Tokenizer().Decode(piece.Tokens...))
			}
		}
	}
}
