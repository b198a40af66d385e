package llama

import (
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math/bits"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/internal/chat"
	"github.com/antigravity-go/antigravity/internal/effort"
)

// counted is a vocabulary in which each byte is a token. It counts how often and how much it encodes.
type counted struct {
	noVocabulary
	renderings, tokens *int
}

func (v counted) EncodeSegments(dst []int32, segments iter.Seq2[string, bool]) []int32 {
	*v.renderings++
	for text := range segments {
		*v.tokens += len(text)
		dst = append(dst, make([]int32, len(text))...)
	}
	return dst
}

// strict is a chat template that refuses a conversation unless it begins with a user's message after the instructions, and unless
// every result comes after a call.
const strict = `{%- set ns = namespace(first = true, calls = 0) -%}
{%- if tools %}{{ tools | tojson }}{% endif -%}
{%- for m in messages -%}
{%- if m.role == 'system' or m.role == 'developer' -%}[{{ m.content }}]
{%- else -%}
{%- if ns.first and m.role != 'user' and not lax %}{{ raise_exception('a conversation must begin with the user') }}{% endif -%}
{%- set ns.first = false -%}
{%- if m.tool_calls %}{% set ns.calls = ns.calls + m.tool_calls | length %}{{ m.tool_calls | tojson }}{% endif -%}
{%- if m.role == 'tool' %}{% if ns.calls == 0 %}{{ raise_exception('a result without a call') }}{% endif %}{% set ns.calls = ns.calls - 1 %}{% endif -%}
{{ m.role }}:{{ m.content }};
{%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt %}assistant:{% endif -%}`

func countedTokenizer(t testing.TB, template string) (*Tokenizer, *int, *int) {
	t.Helper()
	parsed, err := chat.Parse(template, nil, "", "")
	if err != nil {
		t.Fatal(err)
	}
	var renderings, tokens int
	return &Tokenizer{eyes: &eyes{}, vocabulary: counted{noVocabulary{256}, &renderings, &tokens}, templates: templates{all: []namedTemplate{{"default", template, parsed, nil}}}}, &renderings, &tokens
}

// randomTurns returns instructions and turns, each turn a list of messages.
func randomTurns(random *rand.Rand) (instructions []Message, turns [][]Message) {
	id := 0
	text := func() string { return strings.Repeat("x", random.IntN(12)) }
	if random.IntN(2) == 0 {
		instructions = append(instructions, Message{Role: RoleSystem, Content: text()})
	}
	for range random.IntN(7) + 1 {
		turn := []Message{{Role: RoleUser, Content: text()}}
		if random.IntN(4) == 0 {
			turn = append(turn, Message{Role: RoleUser, Content: text()})
		}
		for range random.IntN(3) {
			ask, answers := Message{Role: RoleAssistant, Content: text()}, []Message(nil)
			for range 1 + random.IntN(2) {
				id++
				call := ToolCall{ID: fmt.Sprint(id), Name: "f", Arguments: json.RawMessage(`{}`)}
				ask.ToolCalls = append(ask.ToolCalls, call)
				answers = append(answers, Message{Role: RoleTool, Content: text(), ToolCallID: call.ID})
			}
			random.Shuffle(len(answers), func(i, j int) { answers[i], answers[j] = answers[j], answers[i] })
			turn = append(append(turn, ask), answers...)
			if random.IntN(8) == 0 { // the user speaks before the last result is there
				last := len(turn) - 1
				turn = slices.Insert(turn, last, Message{Role: RoleUser, Content: text()})
			}
		}
		if random.IntN(8) == 0 {
			turn = append(turn, Message{Role: []string{RoleSystem, "developer"}[random.IntN(2)], Content: text()})
		}
		turns = append(turns, append(turn, Message{Role: RoleAssistant, Content: text()}))
	}
	last := &turns[len(turns)-1]
	*last = (*last)[:len(*last)-1]
	return instructions, turns
}

// dropped returns a conversation without its first n turns.
func dropped(instructions []Message, turns [][]Message, n int) []Message {
	kept := slices.Clone(instructions)
	for _, m := range slices.Concat(turns[:n]...) {
		if m.Role == RoleSystem || m.Role == "developer" {
			kept = append(kept, m)
		}
	}
	return append(kept, slices.Concat(turns[n:]...)...)
}

// TestDropTurns compares DropTurns with dropping one turn after the other, for random conversations and limits.
func TestDropTurns(t *testing.T) {
	effort.Turn(t, 8)
	tokenizer, renderings, _ := countedTokenizer(t, strict)
	random := rand.New(rand.NewPCG(1, 2))
	o := TemplateOptions{Tools: []json.RawMessage{json.RawMessage(`{"type":"function","function":{"name":"f"}}`)}}
	whole, some, none := 0, 0, 0
	for range 500 {
		instructions, turns := randomTurns(random)
		history := dropped(instructions, turns, 0)
		all, err := tokenizer.Template(history, o)
		if err != nil {
			t.Fatal(err)
		}
		limit := random.IntN(len(all) * 5 / 4)
		var want []Message
		var last int
		for n := range turns {
			rest := dropped(instructions, turns, n)
			tokens, err := tokenizer.Template(rest, o)
			if err != nil {
				t.Fatal(err)
			}
			if last = len(tokens); last <= limit {
				want = rest
				break
			}
		}
		before := slices.Clone(history)
		*renderings = 0
		got, err := tokenizer.DropTurns(history, o, limit)
		if !reflect.DeepEqual(history, before) {
			t.Fatalf("the history %v became %v", before, history)
		}
		if most := 2 + bits.Len(uint(len(turns))); *renderings > most {
			t.Fatalf("%d turns took %d renderings, more than %d", len(turns), *renderings, most)
		}
		switch {
		case want == nil:
			none++
			var full *ContextFullError
			if !errors.As(err, &full) || *full != (ContextFullError{Want: last, Room: limit}) || got != nil {
				t.Fatalf("%v with a limit of %d: %v, %v; want an error with %d tokens", history, limit, got, err, last)
			}
		case err != nil || !reflect.DeepEqual(got, want):
			t.Fatalf("%v with a limit of %d: %v, %v; want %v", history, limit, got, err, want)
		case len(want) == len(history):
			whole++
			if &got[0] != &history[0] {
				t.Fatal("a history that fits was copied")
			}
		default:
			some++
		}
	}
	if whole < 50 || some < 50 || none < 50 {
		t.Errorf("of the conversations %d were kept whole, %d in part, %d not", whole, some, none)
	}
}

func TestDropTurnsOfUnusualHistories(t *testing.T) {
	m := func(role, text string) Message { return Message{Role: role, Content: text} }
	call := Message{Role: RoleAssistant, ToolCalls: []ToolCall{{Name: "f", Arguments: json.RawMessage(`{}`)}}} // without an ID
	for _, c := range []struct {
		name    string
		history []Message
		begins  []int
	}{
		{"nothing", nil, []int{0}},
		{"instructions alone", []Message{m("system", "a"), m("developer", "b")}, []int{0}},
		{"a greeting comes first", []Message{m("system", "a"), m("assistant", "hello"), m("user", "b"), m("assistant", "c")}, []int{0, 2}},
		{"an answer alone", []Message{m("assistant", "a")}, []int{0}},
		{"two questions at once are one turn", []Message{m("user", "a"), m("assistant", "b"), m("user", "c"), m("system", "d"), m("user", "e")}, []int{0, 2}},
		{"a result without an ID", []Message{m("user", "a"), call, m("user", "b"), m("tool", "c"), m("assistant", "d"), m("user", "e")}, []int{0, 5}},
		{"a result without any call", []Message{m("user", "a"), m("tool", "b"), m("assistant", "c"), m("user", "d")}, []int{0, 3}},
	} {
		if got := turnBegins(c.history); !slices.Equal(got, c.begins) {
			t.Errorf("%s: a history can begin at %v, want %v", c.name, got, c.begins)
		}
	}
}

// TestDropTurnsRendersLittle drops nearly all of many turns: the rendered tokens must not grow with the square of their number.
func TestDropTurnsRendersLittle(t *testing.T) {
	tokenizer, renderings, tokens := countedTokenizer(t, "{% for m in messages %}{{ m.role }}:{{ m.content }};{% endfor %}")
	var history []Message
	for range 2000 {
		history = append(history, Message{Role: RoleUser, Content: "question"}, Message{Role: RoleAssistant, Content: "answer"})
	}
	all, err := tokenizer.Template(history, TemplateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, limit := range []int{100, len(all) / 2, len(all) - 1} {
		*renderings, *tokens = 0, 0
		kept, err := tokenizer.DropTurns(history, TemplateOptions{}, limit)
		if err != nil || len(kept) == 0 || len(kept) == len(history) {
			t.Fatalf("limit %d: %d messages, %v", limit, len(kept), err)
		}
		if *renderings > 13 || *tokens > 12*len(all) {
			t.Errorf("limit %d: %d renderings of %d tokens, for a history of %d", limit, *renderings, *tokens, len(all))
		}
	}
}

// TestDropTurnsBeyondTheTemplatesBudget drops turns of a history that is too long for its template to render.
func TestDropTurnsBeyondTheTemplatesBudget(t *testing.T) {
	tokenizer, _, _ := countedTokenizer(t, "{% for m in messages %}{{ m.content }}{% if messages | length > 9 %}{{ 'x' * 100000000 }}{% endif %}{% endfor %}")
	history := slices.Repeat([]Message{{Role: RoleUser, Content: "ab"}, {Role: RoleAssistant, Content: "c"}}, 10)
	if _, err := tokenizer.Template(history, TemplateOptions{}); err == nil {
		t.Fatal("the template renders the whole history")
	}
	if kept, err := tokenizer.DropTurns(history, TemplateOptions{}, 1000); err != nil || len(kept) != 8 {
		t.Errorf("%d messages are left, %v", len(kept), err)
	}
	if _, err := tokenizer.DropTurns(history[:2], TemplateOptions{}, 2); !errors.Is(err, ErrContextFull) {
		t.Errorf("one turn that is too long: %v", err)
	}
	if _, err := tokenizer.DropTurns([]Message{{Role: "nobody"}}, TemplateOptions{}, 2); !errors.As(err, new(*ParamError)) {
		t.Errorf("an unknown role: %v", err)
	}
}
