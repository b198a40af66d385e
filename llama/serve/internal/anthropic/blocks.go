package anthropic

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/serve/internal/ask"
)

// block is a part of an answer: a thought, a text or a call.
type block struct {
	Type      string          `json:"type"` // thoughtType, textType or callType
	Text      *string         `json:"text,omitempty"`
	Thought   *string         `json:"thinking,omitempty"`
	Signature *string         `json:"signature,omitempty"` // of a thought, for programs that want one; nothing checks it
	ID        string          `json:"id,omitempty"`
	Name      string          `json:"name,omitempty"`
	Input     json.RawMessage `json:"input,omitempty"`
}

// The types of blocks.
const (
	textType    = "text"
	callType    = "tool_use"
	thoughtType = "thinking"
)

// blockWriter takes an answer's blocks, one after the other.
type blockWriter interface {
	begin(b block) error      // a block begins: with an empty text, or as a call without arguments
	extend(part string) error // its thought or text, or the JSON of its arguments, goes on
	end() error               // it is complete
}

// blockSplitter makes blocks of an answer's pieces. A call that calls has handed on is a block and is not taken back.
//
// Invariant: open is the type of the block that has begun and has not ended, or "".
type blockSplitter struct {
	to    blockWriter
	calls ask.Calls
	open  string
}

// add hands over what a piece brings.
func (c *blockSplitter) add(p llama.Piece) error {
	if p.Thought != "" {
		if c.open != thoughtType {
			if err := c.begin(block{Type: thoughtType, Thought: new(string), Signature: new(string)}); err != nil {
				return err
			}
		}
		if err := c.to.extend(p.Thought); err != nil {
			return err
		}
	}
	text, calls := c.calls.Take(p)
	if text != "" {
		if c.open != textType {
			if err := c.begin(block{Type: textType, Text: new(string)}); err != nil {
				return err
			}
		}
		if err := c.to.extend(text); err != nil {
			return err
		}
	}
	for _, part := range calls {
		if part.Name != "" {
			if err := c.begin(block{Type: callType, ID: part.ID, Name: part.Name, Input: noArguments}); err != nil {
				return err
			}
		}
		if part.Arguments != "" {
			if err := c.to.extend(part.Arguments); err != nil {
				return err
			}
		}
	}
	if p.Stop == 0 {
		return nil
	}
	return c.end()
}

// signature returns a thought's signature: its digest, so that the same thought has the same signature.
func signature(thought string) *string {
	digest := sha256.Sum256([]byte(thought))
	return new(base64.StdEncoding.EncodeToString(digest[:]))
}

// noArguments is the input of a call that begins.
var noArguments = json.RawMessage("{}")

// begin begins a block behind the one that is open.
func (c *blockSplitter) begin(b block) error {
	if err := c.end(); err != nil {
		return err
	}
	c.open = b.Type
	return c.to.begin(b)
}

// end ends the block that is open.
func (c *blockSplitter) end() error {
	if c.open == "" {
		return nil
	}
	c.open = ""
	return c.to.end()
}
