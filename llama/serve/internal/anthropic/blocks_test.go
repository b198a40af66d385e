package anthropic

import (
	"fmt"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/serve/internal/ask"
)

// written is a blockWriter that writes down its calls.
type written string

func (w *written) begin(b block) error {
	*w += written(fmt.Sprintf("[%s%s ", b.Type, b.Name))
	return nil
}
func (w *written) extend(part string) error { *w += written(part) + "|"; return nil }
func (w *written) end() error               { *w += "]"; return nil }

// Blocks follow each other as the pieces do. They hold no call that turns out to be text, unless calls are sure: then a call that the end
// breaks off stays a call, with the arguments so far, also if these come whole.
func TestCutter(t *testing.T) {
	start := func(i int, name, arguments string) llama.CallPiece {
		return llama.CallPiece{Index: i, ID: fmt.Sprint(i), Name: name, Arguments: arguments}
	}
	more := func(i int, arguments string) llama.CallPiece { return llama.CallPiece{Index: i, Arguments: arguments} }
	broken := func(i int) llama.CallPiece { return llama.CallPiece{Index: i, Broken: true} }
	calls := func(text string, c ...llama.CallPiece) llama.Piece { return llama.Piece{Text: text, Calls: c} }
	text := func(text string) llama.Piece { return llama.Piece{Text: text} }
	end := llama.Piece{Stop: llama.EndOfTurn}
	for _, c := range []struct {
		name        string
		pieces      []llama.Piece
		want, eager string
	}{
		{"nothing", []llama.Piece{end}, "", ""},
		{"text", []llama.Piece{text("a"), text(""), text("b"), end}, "[text a|b|]", "[text a|b|]"},
		{"text with the end", []llama.Piece{{Text: "a", Stop: llama.MaxTokens}}, "[text a|]", "[text a|]"},
		{"a call", []llama.Piece{calls("", start(0, "f", "{")), calls("", more(0, "}")), end}, "[tool_usef {}|]", "[tool_usef {|}|]"},
		{"text and a call", []llama.Piece{text("a"), calls("b", start(0, "f", "{")), calls("", more(0, "}")), end},
			"[text a|b|][tool_usef {}|]", "[text a|b|][tool_usef {|}|]"},
		{"two calls", []llama.Piece{calls("", start(0, "f", "{}")), calls("", start(1, "g", "{}")), end},
			"[tool_usef {}|][tool_useg {}|]", "[tool_usef {}|][tool_useg {}|]"},
		{"two calls in a piece", []llama.Piece{calls("", start(0, "f", "{}"), start(1, "g", "{}")), end},
			"[tool_usef {}|][tool_useg {}|]", "[tool_usef {}|][tool_useg {}|]"},
		{"a call breaks off", []llama.Piece{text("a"), calls("", start(0, "f", "{")), {Text: "call f {", Calls: []llama.CallPiece{broken(0)}, Stop: llama.MaxTokens}},
			"[text a|call f {|]", "[text a|][tool_usef {|]"},
		{"a call is followed by one that breaks off", []llama.Piece{calls("", start(0, "f", "{}")), calls("", start(1, "g", "{")), {Text: "g", Calls: []llama.CallPiece{broken(1)}, Stop: llama.StopString}},
			"[tool_usef {}|][text g|]", "[tool_usef {}|][tool_useg {|]"},
	} {
		joined := strings.ReplaceAll(c.eager, "{|}", "{}")
		for calls, want := range map[*ask.Calls]string{{}: c.want, {Sure: true}: c.eager, {Sure: true, Whole: true}: joined} {
			var got written
			cut := blockSplitter{to: &got, calls: *calls}
			for _, p := range c.pieces {
				if err := cut.add(p); err != nil {
					t.Fatal(err)
				}
			}
			if string(got) != want {
				t.Errorf("%s, sure %v, whole %v: %s, want %s", c.name, calls.Sure, calls.Whole, got, want)
			}
		}
	}
}
