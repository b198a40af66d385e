package flint_test

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/asm"
	"github.com/antigravity-go/antigravity/internal/effort"
	"github.com/antigravity-go/antigravity/llama"
)

// offered takes the tools out of a conversation's system turn, as the template writes them there, and the calls out of its assistant's
// turns. calls[i] are those of message i.
func (c conversation) offered(t testing.TB) (history []llama.Message, tools []json.RawMessage, calls [][]llama.ToolCall) {
	t.Helper()
	for i, m := range messages(c.Messages) {
		var list []llama.ToolCall
		switch {
		case i == 0:
			system, functions, found := strings.Cut(m.Content, "Tools:\n")
			if !found {
				t.Fatalf("the system turn has no tools: %q", m.Content)
			}
			for _, function := range strings.Split(functions, "\n") {
				tools = append(tools, json.RawMessage(`{"type": "function", "function": `+function+`}`))
			}
			if m.Content = strings.TrimSpace(system); m.Content == "" {
				continue
			}
		case m.Role == llama.RoleAssistant && m.Content[0] == '{':
			for rest := m.Content; rest != ""; {
				var call struct {
					Name       string
					Parameters json.RawMessage
				}
				d := json.NewDecoder(strings.NewReader(rest))
				if err := d.Decode(&call); err != nil {
					t.Fatalf("%q is no call: %v", m.Content, err)
				}
				list = append(list, llama.ToolCall{Name: call.Name, Arguments: call.Parameters})
				rest = strings.TrimPrefix(rest[d.InputOffset():], "; ")
			}
			m.Content, m.ToolCalls = "", list
		}
		history, calls = append(history, m), append(calls, list)
	}
	return history, tools, calls
}

// withoutIDs returns the calls as they are before anyone gives them IDs.
func withoutIDs(calls []llama.ToolCall) (plain []llama.ToolCall) {
	for _, c := range calls {
		c.ID = ""
		plain = append(plain, c)
	}
	return plain
}

// toolConversations are every n-th of the held-out conversations with tools.
func toolConversations(t testing.TB, n int) (list []conversation) {
	t.Helper()
	i := 0
	for _, c := range readConversations(t, 1) {
		if c.Skill == "tool" {
			if i%n == 0 {
				list = append(list, c)
			}
			i++
		}
	}
	if len(list) == 0 {
		t.Fatal("no held-out conversation has tools")
	}
	return list
}

// TestCallsAndResultsAreRenderedAsTrained renders conversations with ToolCalls and with tools, and compares with the same conversations
// as the model was trained on, in which all of that is text.
func TestCallsAndResultsAreRenderedAsTrained(t *testing.T) {
	tokenizer := model(t).Tokenizer()
	for _, c := range toolConversations(t, 1) {
		want, err := tokenizer.Template(messages(c.Messages), llama.TemplateOptions{NoOpening: true})
		if err != nil {
			t.Fatal(err)
		}
		history, tools, _ := c.offered(t)
		got, err := tokenizer.Template(history, llama.TemplateOptions{NoOpening: true, Tools: tools})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q, want %q", tokenizer.Decode(got...), tokenizer.Decode(want...))
		}
	}
}

// TestParseAnswerReadsTrainedCalls reads all answers of the held-out conversations with tools: calls as calls, and texts as texts.
func TestParseAnswerReadsTrainedCalls(t *testing.T) {
	tokenizer := model(t).Tokenizer()
	end, _ := tokenizer.ID("<|eot_id|>")
	if got := tokenizer.CallFormat(); got != llama.LlamaJSONCalls {
		t.Fatalf("the format is %v", got)
	}
	read, several := 0, 0
	for _, c := range toolConversations(t, 1) {
		history, _, calls := c.offered(t)
		first := len(c.Messages) - len(history) // 1 if the system turn had only tools
		for i, m := range history {
			if m.Role != llama.RoleAssistant {
				continue
			}
			answer := append(tokenizer.Encode(c.Messages[first+i][1]), end, 7)
			got := tokenizer.ParseAnswer(answer, end)
			ids := map[string]bool{}
			for _, call := range got.ToolCalls {
				ids[call.ID] = true
			}
			if got.Role != llama.RoleAssistant || got.Content != m.Content || !reflect.DeepEqual(withoutIDs(got.ToolCalls), calls[i]) || len(ids) != len(calls[i]) {
				t.Fatalf("%q: %+v", c.Messages[first+i][1], got)
			}
			read += len(calls[i])
			if len(calls[i]) > 1 {
				several++
			}
		}
	}
	if read < 100 || several < 10 {
		t.Errorf("%d calls were read, several at once %d times: the test tests too little", read, several)
	}
}

// together puts an answer's pieces together, as a program does that shows them while they come.
func together(t testing.TB, m *llama.Message, pieces []llama.Piece) {
	t.Helper()
	*m = llama.Message{Role: llama.RoleAssistant}
	calls := map[int]*llama.ToolCall{}
	var order []int
	for _, p := range pieces {
		m.Content += p.Text
		for _, c := range p.Calls {
			switch {
			case c.Broken:
				delete(calls, c.Index)
			case c.Name != "":
				order = append(order, c.Index)
				calls[c.Index] = &llama.ToolCall{ID: c.ID, Name: c.Name, Arguments: json.RawMessage(c.Arguments)}
			default:
				calls[c.Index].Arguments = append(calls[c.Index].Arguments, c.Arguments...)
			}
		}
	}
	for _, i := range order {
		if c := calls[i]; c != nil {
			m.ToolCalls = append(m.ToolCalls, *c)
		}
	}
}

// TestCalls answers each turn of conversations with tools, of all of them where ANTIGRAVITY_EVAL is "all": the calls are those that are
// expected, and so are the texts.
func TestCalls(t *testing.T) {
	every, turns := 12, 0
	switch {
	case effort.All():
		every = 1
	case asm.Tier() == "generic":
		every = 60
	}
	s := session(t, nil)
	for _, c := range toolConversations(t, every) {
		history, tools, calls := c.offered(t)
		ids := map[string]bool{}
		for i, want := range history {
			if want.Role != llama.RoleAssistant {
				continue
			}
			var pieces []llama.Piece
			for p, err := range s.Chat(context.Background(), history[:i], llama.Params{MaxTokens: 300, Template: llama.TemplateOptions{Tools: tools}}) {
				if err != nil {
					t.Fatal(err)
				}
				pieces = append(pieces, p)
			}
			last := pieces[len(pieces)-1]
			got := last.Message
			if got.Content != want.Content || !reflect.DeepEqual(withoutIDs(got.ToolCalls), calls[i]) {
				t.Errorf("%q: the answer is %+v", c.Messages, got)
			}
			if (last.Stop == llama.ToolCalled) != (len(calls[i]) > 0) {
				t.Errorf("an answer with %d calls ended with %q", len(calls[i]), last.Stop)
			}
			var put llama.Message
			if together(t, &put, pieces); !reflect.DeepEqual(put, got) {
				t.Errorf("the pieces are %+v, put together, and the message %+v", put, got)
			}
			for _, call := range got.ToolCalls {
				if ids[call.ID] || len(call.ID) != 9 {
					t.Errorf("a call has the ID %q, and %d came before it", call.ID, len(ids))
				}
				ids[call.ID] = true
			}
			history[i] = got
			turns++
		}
	}
	t.Logf("%d turns", turns)
	if turns == 0 {
		t.Error("no turn was answered")
	}
}

// two returns a question that Flint answers with two calls at once.
func two(t testing.TB) (history []llama.Message, tools []json.RawMessage, calls []llama.ToolCall) {
	t.Helper()
	for _, c := range toolConversations(t, 1) {
		history, tools, calls := c.offered(t)
		for i := range history {
			if len(calls[i]) == 2 {
				return history[:i], tools, calls[i]
			}
		}
	}
	t.Fatal("no held-out conversation has two calls at once")
	return nil, nil, nil
}

// TestCallsCutOff cuts an answer of two calls off after each of its tokens: a call that is not complete is text, and was taken back if it
// had begun to come.
func TestCallsCutOff(t *testing.T) {
	effort.Turn(t, 8)
	history, tools, calls := two(t)
	s := session(t, nil)
	ask := func(p llama.Params) (pieces []llama.Piece) {
		for piece, err := range s.Chat(context.Background(), history, p) {
			if err != nil {
				t.Fatal(err)
			}
			pieces = append(pieces, piece)
		}
		return pieces
	}
	offering := llama.Params{Template: llama.TemplateOptions{Tools: tools}}
	// Without tools in Params the same answer is text.
	prompt, err := model(t).Tokenizer().Template(history, offering.Template)
	if err != nil {
		t.Fatal(err)
	}
	text := answer(t, s, prompt, llama.Params{})
	if !strings.HasPrefix(text.Text, `{"name": "`) || text.Message.Content != text.Text || len(text.Calls)+len(text.Message.ToolCalls) > 0 || text.Stop != llama.EndOfTurn {
		t.Fatalf("without tools the answer is %+v", text)
	}
	all := ask(offering)
	n := len(all) - 1 // the last piece has no token
	broken, kept := 0, map[int]bool{}
	for cut := 1; cut <= n; cut += effort.Of(2, 1, 1) {
		p := offering
		p.MaxTokens = cut
		pieces := ask(p)
		last := pieces[len(pieces)-1]
		var put llama.Message
		if together(t, &put, pieces); !reflect.DeepEqual(put, last.Message) {
			t.Errorf("after %d tokens: the pieces are %+v, put together, and the message %+v", cut, put, last.Message)
		}
		if got := len(last.Message.ToolCalls); !reflect.DeepEqual(withoutIDs(last.Message.ToolCalls), calls[:got:got]) && got > 0 {
			t.Errorf("after %d tokens the calls are %v", cut, last.Message.ToolCalls)
		}
		if last.Stop != llama.MaxTokens {
			t.Errorf("after %d tokens the answer ended with %q", cut, last.Stop)
		}
		kept[len(last.Message.ToolCalls)] = true
		for _, c := range last.Calls {
			if c.Broken {
				broken++
				if !strings.HasPrefix(strings.TrimLeft(last.Message.Content, "; "), `{"name": `) {
					t.Errorf("after %d tokens a call was taken back, and the text is %q", cut, last.Message.Content)
				}
			}
		}
		if cut%3 != 0 {
			continue
		}
		collected, err := llama.Collect(s.Chat(context.Background(), history, p))
		if err != nil {
			t.Fatal(err)
		}
		if collected.Text != put.Content || len(collected.Calls) != len(put.ToolCalls) || !reflect.DeepEqual(collected.Message, put) {
			t.Errorf("after %d tokens %+v was collected, want %+v", cut, collected, put)
		}
		for i, c := range collected.Calls {
			if c.Broken || c.ID != put.ToolCalls[i].ID || c.Name != put.ToolCalls[i].Name || c.Arguments != string(put.ToolCalls[i].Arguments) {
				t.Errorf("after %d tokens the call %+v was collected, want %+v", cut, c, put.ToolCalls[i])
			}
		}
	}
	if broken == 0 || len(kept) != 3 {
		t.Errorf("%d calls were broken, and there were %v calls: want some, and 0 to 2", broken, kept)
	}
}

// TestCallsAndStopStrings looks for stop strings in the text of calls too.
func TestCallsAndStopStrings(t *testing.T) {
	history, tools, calls := two(t)
	s := session(t, nil)
	got, err := llama.Collect(s.Chat(context.Background(), history, llama.Params{Stop: []string{"}}; {"}, Template: llama.TemplateOptions{Tools: tools}}))
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"name": "` + calls[0].Name; got.Stop != llama.StopString || len(got.Calls) != 0 || !strings.HasPrefix(got.Text, want) || got.Text != got.Message.Content {
		t.Errorf("the answer is %+v, want it to be text from %q", got, want)
	}
}

func TestToolsWithoutNames(t *testing.T) {
	s := session(t, nil)
	for _, tool := range []string{`{"type": "function", "function": {}}`, `[]`, `{"name": `, ``} {
		p := llama.Params{Template: llama.TemplateOptions{Tools: []json.RawMessage{json.RawMessage(tool)}}}
		_, err := llama.Collect(s.Generate(context.Background(), []llama.Token{1}, p))
		if param := new(llama.ParamError); !errors.As(err, &param) || param.Field != "Params.Template.Tools[0]" {
			t.Errorf("the tool %q: the error is %v", tool, err)
		}
	}
}
