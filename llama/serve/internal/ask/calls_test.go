package ask

import (
	"slices"
	"testing"

	"github.com/antigravity-go/antigravity/llama"
)

func TestCalls(t *testing.T) {
	begin := func(i int, arguments string) llama.CallPiece {
		return llama.CallPiece{Index: i, ID: "id", Name: "f", Arguments: arguments}
	}
	more := func(i int, arguments string) llama.CallPiece { return llama.CallPiece{Index: i, Arguments: arguments} }
	broken := func(i int) llama.CallPiece { return llama.CallPiece{Index: i, Broken: true} }
	for _, c := range []struct {
		name   string
		sure   bool
		pieces []llama.Piece
		text   string
		parts  []llama.CallPiece
	}{
		{"a text", false, []llama.Piece{{Text: "a"}, {Text: "b", Stop: llama.EndOfTurn}}, "ab", nil},
		{"a call that is sure comes in parts", true,
			[]llama.Piece{{Calls: []llama.CallPiece{begin(0, "{")}}, {Calls: []llama.CallPiece{more(0, "}")}}, {Stop: llama.ToolCalled}},
			"", []llama.CallPiece{begin(0, "{"), more(0, "}")}},
		{"others come as a whole", false,
			[]llama.Piece{{Text: "x", Calls: []llama.CallPiece{begin(0, "{")}}, {Calls: []llama.CallPiece{more(0, "}"), begin(1, "{")}},
				{Calls: []llama.CallPiece{more(1, "}")}}, {Stop: llama.ToolCalled}},
			"x", []llama.CallPiece{begin(0, "{}"), begin(1, "{}")}},
		{"a call that is broken off stays, where it was told", true,
			[]llama.Piece{{Calls: []llama.CallPiece{begin(0, `{"a`)}}, {Text: `f{"ab`, Calls: []llama.CallPiece{more(0, "b"), broken(0)}, Stop: llama.MaxTokens}},
			"", []llama.CallPiece{begin(0, `{"a`), more(0, "b")}},
		{"and is text where it was not", false,
			[]llama.Piece{{Calls: []llama.CallPiece{begin(0, `{"a`)}}, {Text: `f{"ab`, Calls: []llama.CallPiece{more(0, "b"), broken(0)}, Stop: llama.MaxTokens}},
			`f{"ab`, nil},
		{"a mistake is text, and a call behind it a call", false,
			[]llama.Piece{{Calls: []llama.CallPiece{begin(0, "{")}}, {Calls: []llama.CallPiece{broken(0)}, Text: "f{x"}, {Text: " "},
				{Calls: []llama.CallPiece{begin(1, "{}")}, Stop: llama.ToolCalled}},
			"f{x ", []llama.CallPiece{begin(0, "{}")}},
	} {
		t.Run(c.name, func(t *testing.T) {
			calls := Calls{Sure: c.sure}
			text := ""
			var parts []llama.CallPiece
			for _, p := range c.pieces {
				s, more := calls.Take(p)
				text += s
				parts = append(parts, more...)
			}
			if text != c.text || !slices.Equal(parts, c.parts) {
				t.Errorf("got %q and %+v, want %q and %+v", text, parts, c.text, c.parts)
			}
		})
	}
}
