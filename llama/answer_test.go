package llama

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/antigravity-go/antigravity/internal/calls"
)

// bytesAndMarks is a vocabulary of the 256 bytes, which follow the control tokens that marks has.
type bytesAndMarks struct {
	noVocabulary
	marks []string
}

func (v bytesAndMarks) AppendBytes(dst []byte, id int32) []byte {
	if v.IsSpecial(id) {
		return dst
	}
	return append(dst, byte(id-int32(len(v.marks))))
}

func (v bytesAndMarks) IsSpecial(id int32) bool { return int(id) < len(v.marks) }

func (v bytesAndMarks) ID(text string) (int32, bool) {
	i := slices.Index(v.marks, text)
	return int32(i), i >= 0
}

func (v bytesAndMarks) Text(id int32) string {
	if v.IsSpecial(id) {
		return v.marks[id]
	}
	return ""
}

// tokens returns the tokens of a text in which marks stand between « and ».
func (v bytesAndMarks) tokens(text string) (list []Token) {
	for text != "" {
		plain, rest, _ := strings.Cut(text, "«")
		mark, rest, found := strings.Cut(rest, "»")
		for _, c := range []byte(plain) {
			list = append(list, Token(int(c)+len(v.marks)))
		}
		if found {
			list = append(list, Token(slices.Index(v.marks, mark)))
		}
		text = rest
	}
	return list
}

// mistral has a vocabulary of bytes in which Mistral's marks are control tokens.
func mistral() (*Tokenizer, bytesAndMarks) {
	v := bytesAndMarks{marks: []string{"</s>", "[TOOL_CALLS]", "[ARGS]", "[INST]"}}
	return &Tokenizer{vocabulary: v, calls: calls.Mistral}, v
}

func TestAnswer(t *testing.T) {
	tokenizer, v := mistral()
	for _, c := range []struct {
		name, answer string
		stop         []string
		content      string
		calls        string // name and arguments of each
		stopped      bool
	}{
		{"a call", `Ü: «[TOOL_CALLS]»[{"name": "f", "arguments": {"ä": "한"}}]`, nil, "Ü:", `f{"ä": "한"}`, false},
		{"arguments after a mark", `«[TOOL_CALLS]»f«[ARGS]»{"a": 1}«[TOOL_CALLS]»g«[ARGS]»{}`, nil, "", `f{"a": 1} g{}`, false},
		{"other control tokens", `a«[INST]»b«[TOOL_CALLS]»«[INST]»f«[INST]»«[ARGS]»{"a«[INST]»": 1}`, nil, "ab", `f{"a": 1}`, false},
		{"a stop string that a mark breaks off", `aST«[TOOL_CALLS]»OP`, []string{"STOP"}, "aST[TOOL_CALLS]OP", "", false},
		{"a stop string that another token does not break off", `aST«[INST]»OP`, []string{"STOP"}, "a", "", true},
		{"a stop string in a call", `«[TOOL_CALLS]»[{"name": "f", "arguments": {"a": "STOP`, []string{"STOP"}, `[TOOL_CALLS][{"name": "f", "arguments": {"a": "`, "", true},
		{"a stop string after a call", `«[TOOL_CALLS]»f«[ARGS]»{} STOP`, []string{"STOP"}, "", "f{}", true},
		{"a character that a mark breaks off", "\xe2\x82«[TOOL_CALLS]»f«[ARGS]»{\"a\": \"\xe2\"}", nil, "\uFFFD", "f{\"a\": \"\uFFFD\"}", false},
		{"a mark as text", `[TOOL_CALLS]f«[ARGS]»{}`, nil, "[TOOL_CALLS]f[ARGS]{}", "", false},
	} {
		var a answer
		a.start(tokenizer, c.stop, true, true, []string{"f", "g"}, []Token{1, 2})
		a.start(tokenizer, c.stop, true, true, []string{"f", "g"}, []Token{1, 2}) // its memory is used again
		content, calls, stopped := "", map[int]string{}, false
		give := func(p Piece) {
			content += p.Text
			for _, call := range p.Calls {
				if call.Broken {
					delete(calls, call.Index)
					continue
				}
				calls[call.Index] += call.Name + call.Arguments
				if !utf8.ValidString(call.Arguments) {
					t.Errorf("%s: a piece of arguments is %q", c.name, call.Arguments)
				}
			}
		}
		for _, token := range v.tokens(c.answer) {
			var p Piece
			stopped = a.add(token, &p)
			give(p)
			if stopped {
				break
			}
		}
		last := Piece{Stop: EndOfTurn}
		a.finish(&last)
		give(last)
		var list, message []string
		for _, call := range last.Message.ToolCalls {
			message = append(message, call.Name+string(call.Arguments))
		}
		for i := range 3 {
			if call, ok := calls[i]; ok {
				list = append(list, call)
			}
		}
		if content != c.content || strings.Join(list, " ") != c.calls || stopped != c.stopped {
			t.Errorf("%s: text %q, calls %q, stopped %v; want %q, %q, %v", c.name, content, list, stopped, c.content, c.calls, c.stopped)
		}
		if last.Message.Content != content || !slices.Equal(message, list) || (last.Stop == ToolCalled) != (c.calls != "") {
			t.Errorf("%s: the message is %+v and the answer ended with %q", c.name, last.Message, last.Stop)
		}
	}
}

func TestParseAnswer(t *testing.T) {
	tokenizer, v := mistral()
	tokens := v.tokens(`Look. «[TOOL_CALLS]»any«[ARGS]»{"a": 1}«[TOOL_CALLS]»any«[ARGS]»{}«</s>»more`)
	got := tokenizer.ParseAnswer(tokens, 0)
	want := Message{Role: RoleAssistant, Content: "Look.", ToolCalls: []ToolCall{{Name: "any", Arguments: json.RawMessage(`{"a": 1}`)}, {Name: "any", Arguments: json.RawMessage(`{}`)}}}
	for i := range want.ToolCalls {
		want.ToolCalls[i].ID = got.ToolCalls[i].ID
	}
	if !reflect.DeepEqual(got, want) || got.ToolCalls[0].ID == got.ToolCalls[1].ID {
		t.Errorf("%+v, want %+v", got, want)
	}
	if again := tokenizer.ParseAnswer(tokens[:len(tokens)-len("more")], 0); !reflect.DeepEqual(again, got) {
		t.Errorf("without what follows the end: %+v, want %+v", again, got)
	}
	if all := tokenizer.ParseAnswer(tokens, -1); all.Content != "Look.more" || len(all.ToolCalls) != 2 {
		t.Errorf("without an end: %+v", all)
	}
	if none := tokenizer.ParseAnswer(nil, 0); !reflect.DeepEqual(none, Message{Role: RoleAssistant}) {
		t.Errorf("of nothing: %+v", none)
	}
	tokenizer.calls = calls.None
	if text := tokenizer.ParseAnswer(tokens, 0); text.Content != `Look. any{"a": 1}any{}` || text.ToolCalls != nil {
		t.Errorf("of a model whose calls nobody knows: %+v", text)
	}
}

// TestCallIDs draws the IDs of many conversations, each a continuation of the one before it: they are different, and have nine letters and
// digits.
func TestCallIDs(t *testing.T) {
	seen := map[string]bool{}
	var prompt []Token
	for i := range 2000 {
		prompt = append(prompt, Token(i%3))
		for index := range 5 {
			id := newCallIDs(prompt).of(index)
			if seen[id] || len(id) != 9 || strings.Trim(id, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" {
				t.Fatalf("call %d after %d tokens has the ID %q", index, len(prompt), id)
			}
			seen[id] = true
		}
	}
	if got, again := newCallIDs(prompt).of(3), newCallIDs(slices.Clone(prompt)).of(3); got != again {
		t.Errorf("the same conversation gives %s and %s", got, again)
	}
}

// TestCallFormats checks that the formats' names are theirs.
func TestCallFormats(t *testing.T) {
	for f := NoCalls; f <= HarmonyCalls; f++ {
		if family := calls.Format(f).Family(); f != NoCalls && family.Opening == "" && family.Channels == nil || strings.HasPrefix(f.String(), "Format(") {
			t.Errorf("format %d is %v", int(f), f)
		}
	}
	if got := fmt.Sprint(HermesCalls, NoCalls); got != "Hermes' none" {
		t.Errorf("%q", got)
	}
}
