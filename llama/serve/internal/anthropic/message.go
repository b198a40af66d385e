package anthropic

import (
	"crypto/rand"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/serve/internal/ask"
	"github.com/antigravity-go/antigravity/llama/serve/internal/wire"
)

// message is an answer.
type message struct {
	ID      string  `json:"id"`
	Type    string  `json:"type"`
	Role    string  `json:"role"`
	Model   string  `json:"model"`
	Content []block `json:"content"`
	stopInfo
	Usage       usage  `json:"usage"`
	Fingerprint string `json:"system_fingerprint"` // ours: which weights the answer is of
}

// newMessage returns the message of an answer that has not begun.
func newMessage(m *ask.Model) message {
	return message{ID: "msg_" + rand.Text(), Type: "message", Role: llama.RoleAssistant, Model: m.Name, Content: []block{},
		Fingerprint: m.SystemFingerprint()}
}

// wholeMessage is the blockWriter of a whole answer.
type wholeMessage struct {
	blocks []block
	text   strings.Builder // of the last block
}

func (g *wholeMessage) begin(b block) error {
	g.text.Reset()
	g.blocks = append(g.blocks, b)
	return nil
}

func (g *wholeMessage) extend(part string) error {
	g.text.WriteString(part)
	return nil
}

func (g *wholeMessage) end() error {
	last, text := &g.blocks[len(g.blocks)-1], g.text.String()
	switch last.Type {
	case textType:
		last.Text = &text
	case thoughtType:
		last.Thought, last.Signature = &text, signature(text)
	default:
		last.Input = input(text)
	}
	return nil
}

// input returns the arguments of a call. text is their JSON. Those of a call that the answer's end cut off are the members that are
// there, as Anthropic's clients make them of a stream.
func input(text string) json.RawMessage {
	if json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	if object := ask.CloseObject(text); object != nil {
		return object
	}
	return noArguments
}

// writeMessage answers without a stream.
func writeMessage(w http.ResponseWriter, answers *ask.Answers, out message, calls ask.Calls) error {
	var all wholeMessage
	c := blockSplitter{to: &all, calls: calls}
	err := answers.Collect(func(e ask.Event) error {
		if e.Piece.Stop != 0 {
			out.stopInfo, out.Usage = stopInfoOf(e.Piece), usageOf(e.Piece.Stats)
		}
		return c.add(e.Piece)
	})
	if err != nil {
		return err
	}
	out.Content = append(out.Content, all.blocks...)
	return wire.Write(w, http.StatusOK, out)
}
