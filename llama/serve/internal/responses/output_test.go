package responses

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/serve/internal/ask"
	"github.com/antigravity-go/antigravity/llama/serve/internal/openapi"
	"github.com/antigravity-go/antigravity/llama/serve/internal/wire"
)

// written are the items of an answer in a line: a message's text, a call's name and arguments, and "…" behind incomplete ones.
func written(items []any) (lines []string) {
	for _, item := range items {
		var line, status string
		switch i := item.(type) {
		case *message:
			line, status = i.Content[0].Text, i.Status
		case *call:
			line, status = i.Name+i.Arguments, i.Status
		}
		if status != completed {
			line += "…"
		}
		lines = append(lines, line)
	}
	return lines
}

func TestOutput(t *testing.T) {
	text := func(text string) llama.Piece { return llama.Piece{Text: text} }
	calls := func(pieces ...llama.CallPiece) llama.Piece { return llama.Piece{Calls: pieces} }
	begin := func(index int, name, arguments string) llama.CallPiece {
		return llama.CallPiece{Index: index, ID: fmt.Sprint("id", index), Name: name, Arguments: arguments}
	}
	more := func(index int, arguments string) llama.CallPiece {
		return llama.CallPiece{Index: index, Arguments: arguments}
	}
	broken := func(index int) llama.CallPiece { return llama.CallPiece{Index: index, Broken: true} }
	end := llama.Piece{Stop: llama.EndOfTurn}
	called := func(ids ...string) llama.Piece { // the end of an answer with these calls
		p := llama.Piece{Stop: llama.ToolCalled}
		for _, id := range ids {
			p.Message.ToolCalls = append(p.Message.ToolCalls, llama.ToolCall{ID: id})
		}
		return p
	}
	last := func(p llama.Piece, stop llama.StopReason, text string, calls ...llama.CallPiece) llama.Piece {
		p.Stop, p.Text, p.Calls = stop, text, calls
		return p
	}
	for _, c := range []struct {
		name   string
		unsure bool
		pieces []llama.Piece
		items  []string
		events string // the ends of the events' names, with the output_index
	}{
		{"a text", false, []llama.Piece{text("a"), {}, text("b"), end}, []string{"ab"},
			"item.added0 part.added0 text.delta0 text.delta0 text.done0 part.done0 item.done0"},
		{"nothing", false, []llama.Piece{end}, []string{""}, "item.added0 part.added0 text.done0 part.done0 item.done0"},
		{"the last piece has text", false, []llama.Piece{text("a"), {Text: "b", Stop: llama.StopString}}, []string{"ab"},
			"item.added0 part.added0 text.delta0 text.delta0 text.done0 part.done0 item.done0"},
		{"a text that is cut off", false, []llama.Piece{text("a"), {Text: "b", Stop: llama.MaxTokens}}, []string{"ab…"},
			"item.added0 part.added0 text.delta0 text.delta0 text.done0 part.done0 item.done0"},
		{"a call", false, []llama.Piece{calls(begin(0, "f", "")), calls(more(0, `{"a"`)), calls(more(0, ":1}")), called("id0")}, []string{`f{"a":1}`},
			"item.added0 arguments.delta0 arguments.delta0 arguments.done0 item.done0"},
		{"a call in one piece", false, []llama.Piece{last(called("id0"), llama.ToolCalled, "", begin(0, "f", "{}"))}, []string{"f{}"},
			"item.added0 arguments.delta0 arguments.done0 item.done0"},
		{"two calls", false, []llama.Piece{calls(begin(0, "f", "{")), calls(more(0, "}"), begin(1, "g", "{}")), called("id0", "id1")}, []string{"f{}", "g{}"},
			"item.added0 arguments.delta0 arguments.delta0 arguments.done0 item.done0 item.added1 arguments.delta1 arguments.done1 item.done1"},
		{"texts around a call", false, []llama.Piece{text("a"), calls(begin(0, "f", "{")), {Text: "b", Calls: []llama.CallPiece{more(0, "}")}}, called("id0")},
			[]string{"a", "f{}", "b"},
			"item.added0 part.added0 text.delta0 text.done0 part.done0 item.done0 item.added1 arguments.delta1 arguments.delta1 arguments.done1 " +
				"item.done1 item.added2 part.added2 text.delta2 text.done2 part.done2 item.done2"},
		{"a call that is cut off", false, []llama.Piece{calls(begin(0, "f", `{"a`)),
			last(called(), llama.MaxTokens, `{"name":"f","arguments":{"a"`, more(0, `"`), broken(0))}, []string{`f{"a"…`},
			"item.added0 arguments.delta0 arguments.delta0 arguments.done0 item.done0"},
		{"the second call is cut off", false, []llama.Piece{calls(begin(0, "f", `{}`)), calls(begin(1, "g", `{`)),
			last(called("id0"), llama.ContextFull, `{"name":"g"`, broken(1))}, []string{"f{}", "g{…"},
			"item.added0 arguments.delta0 arguments.done0 item.done0 item.added1 arguments.delta1 arguments.done1 item.done1"},
		{"a call that is just complete", false, []llama.Piece{calls(begin(0, "f", "{")), last(called("id0"), llama.MaxTokens, "", more(0, "}"))},
			[]string{"f{}"}, "item.added0 arguments.delta0 arguments.delta0 arguments.done0 item.done0"},
		{"a call at a stop string", false, []llama.Piece{calls(begin(0, "f", "{")), last(called(), llama.StopString, "f({", broken(0))},
			[]string{"f{…"}, "item.added0 arguments.delta0 arguments.done0 item.done0"},
		{"a call that is complete before it is told of", true, []llama.Piece{text("a"), calls(begin(0, "f", "{")), calls(more(0, "}")), called("id0")},
			[]string{"a", "f{}"}, "item.added0 part.added0 text.delta0 text.done0 part.done0 item.done0 item.added1 arguments.delta1 arguments.done1 item.done1"},
		{"a call with a mistake", true, []llama.Piece{text("a"), calls(begin(0, "f", "{")), {Text: "f({", Calls: []llama.CallPiece{broken(0)}}, text("b"), end},
			[]string{"af({b"}, "item.added0 part.added0 text.delta0 text.delta0 text.delta0 text.done0 part.done0 item.done0"},
		{"a mistake, and a call", true, []llama.Piece{{Text: "f({", Calls: []llama.CallPiece{begin(0, "f", "{"), broken(0), begin(1, "g", "{}")}}, called("id1")},
			[]string{"f({", "g{}"}, "item.added0 part.added0 text.delta0 text.done0 part.done0 item.done0 item.added1 arguments.delta1 arguments.done1 item.done1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var events []string
			var together items
			o := output{calls: ask.Calls{Sure: !c.unsure}, send: func(e event) error {
				e.number(len(events))
				text, err := wire.Encode(e)
				if err != nil {
					return err
				}
				openapi.Validate(t, "ResponseStreamEvent", text)
				events = append(events, together.add(t, text))
				return nil
			}}
			for i, p := range c.pieces {
				if err := o.add(p, nil); err != nil {
					t.Fatalf("piece %d: %v", i, err)
				}
			}
			if got := written(o.items); !reflect.DeepEqual(got, c.items) {
				t.Errorf("the items are %q, want %q", got, c.items)
			}
			if got := strings.Join(events, " "); got != c.events {
				t.Errorf("the events are\n%s, want\n%s", got, c.events)
			}
			final, err := wire.Encode(o.items)
			if err != nil {
				t.Fatal(err)
			}
			var want items
			if err := json.Unmarshal(final, &want); err != nil || !reflect.DeepEqual(together, want) {
				t.Errorf("the events say %v, the items are %s (%v)", together, final, err)
			}
		})
	}
}

// items are what a client puts together of the deltas of a stream: it takes nothing else from the events that end an item than its status.
type items []map[string]any

// add takes an event and returns its name in short, with the output_index.
func (i *items) add(t *testing.T, data []byte) string {
	t.Helper()
	var e struct {
		Type  string         `json:"type"`
		Index int            `json:"output_index"`
		Item  map[string]any `json:"item"`
		Part  map[string]any `json:"part"`
		Delta string         `json:"delta"`
		Text  *string        `json:"text"`
		Args  *string        `json:"arguments"`
		Logs  []any          `json:"logprobs"`
		ID    string         `json:"item_id"`
	}
	if err := json.Unmarshal(data, &e); err != nil {
		t.Fatal(err)
	}
	if e.Type != "response.output_item.added" {
		if e.Index != len(*i)-1 {
			t.Errorf("%s: it is about item %d of %d", data, e.Index, len(*i))
		} else if id := (*i)[e.Index]["id"]; e.ID != "" && e.ID != id {
			t.Errorf("%s: the item's id is %v", data, id)
		}
	}
	var item map[string]any
	if e.Index < len(*i) {
		item = (*i)[e.Index]
	}
	switch e.Type {
	case "response.output_item.added":
		*i = append((*i)[:e.Index], e.Item)
	case "response.content_part.added":
		item["content"] = []any{e.Part}
	case "response.output_text.delta":
		part := item["content"].([]any)[0].(map[string]any)
		part["text"] = part["text"].(string) + e.Delta
		part["logprobs"] = append(part["logprobs"].([]any), e.Logs...)
	case "response.output_text.done", "response.content_part.done":
		part := item["content"].([]any)[0].(map[string]any)
		if e.Part != nil && !reflect.DeepEqual(e.Part, part) || e.Text != nil && (*e.Text != part["text"] || !reflect.DeepEqual(e.Logs, part["logprobs"])) {
			t.Errorf("%s: the part is %v", data, part)
		}
	case "response.function_call_arguments.delta":
		item["arguments"] = item["arguments"].(string) + e.Delta
	case "response.function_call_arguments.done":
		if e.Args == nil || *e.Args != item["arguments"] {
			t.Errorf("%s: the arguments are %v", data, item["arguments"])
		}
	case "response.output_item.done":
		item["status"] = e.Item["status"]
		if !reflect.DeepEqual(item, e.Item) {
			t.Errorf("%s: the item is %v", data, item)
		}
	}
	short := strings.TrimPrefix(e.Type, "response.")
	short = strings.TrimPrefix(strings.TrimPrefix(short, "output_"), "content_")
	return strings.TrimPrefix(short, "function_call_") + string(rune('0'+e.Index))
}

func TestOutputLogprobs(t *testing.T) {
	logs := func(tokens ...string) (list []ask.TokenLogprob) {
		for _, one := range tokens {
			list = append(list, ask.TokenLogprob{TokenProb: ask.TokenProb{Token: one, Bytes: []int{}}, Top: []ask.TokenProb{}})
		}
		return list
	}
	o := output{calls: ask.Calls{Sure: true}, send: func(event) error { return nil }}
	for _, p := range []struct {
		piece llama.Piece
		logs  []ask.TokenLogprob
	}{
		{llama.Piece{}, logs("a")}, // held back
		{llama.Piece{Text: "ab"}, logs("b")},
		{llama.Piece{}, logs("{")}, // what becomes a call
		{llama.Piece{Calls: []llama.CallPiece{{Name: "f", Arguments: "{}"}}}, logs("f")},
		{llama.Piece{Text: "c"}, logs("c")},
		{llama.Piece{Stop: llama.StopString}, logs("stop")}, // no text of it is in the answer
	} {
		if err := o.add(p.piece, p.logs); err != nil {
			t.Fatal(err)
		}
	}
	for i, want := range map[int][]ask.TokenLogprob{0: logs("a", "b"), 2: logs("c")} {
		if m, ok := o.items[i].(*message); !ok || !reflect.DeepEqual(m.Content[0].Logprobs, want) {
			t.Errorf("item %d is %+v; its log-probabilities must be %v", i, o.items[i], want)
		}
	}
}

func TestOutputOfAnError(t *testing.T) {
	for _, c := range []struct {
		name  string
		piece llama.Piece
		items []string
	}{
		{"in a text", llama.Piece{Text: "ab"}, []string{"ab…"}},
		{"in a call", llama.Piece{Calls: []llama.CallPiece{{Name: "f", Arguments: "{"}}}, []string{"f{…"}},
		{"before all", llama.Piece{}, nil},
	} {
		o := output{calls: ask.Calls{Sure: true}, send: func(event) error { return nil }}
		if err := o.add(c.piece, nil); err != nil {
			t.Fatal(err)
		}
		if o.abort(); !reflect.DeepEqual(written(o.items), c.items) {
			t.Errorf("%s: the items are %q, want %q", c.name, written(o.items), c.items)
		}
	}
}

// TestGone shows that an answer ends with the error when its client is gone, wherever that comes.
func TestGone(t *testing.T) {
	gone := errors.New("gone")
	pieces := []llama.Piece{{Text: "a"}, {Calls: []llama.CallPiece{{Name: "f", Arguments: "{}"}}}, {Text: "b", Stop: llama.EndOfTurn}}
	for most := 0; ; most++ {
		sent := 0
		o := output{calls: ask.Calls{Sure: true}, send: func(event) error {
			if sent++; sent > most {
				return gone
			}
			return nil
		}}
		var err error
		for _, p := range pieces {
			if err = o.add(p, nil); err != nil {
				break
			}
		}
		if err == nil {
			if most < 10 {
				t.Fatalf("the answer has %d events", most)
			}
			return
		}
		if err != gone || sent != most+1 {
			t.Fatalf("after %d events: %v, and %d events", most, err, sent)
		}
	}
}
