package anthropic

import (
	"encoding/json"
	"strings"

	"github.com/antigravity-go/antigravity/llama"
)

// block is a part of an answer: a text or a call.
type block struct {
	Type  string          `json:"type"` // textType or callType
	Text  *string         `json:"text,omitempty"`
	ID    string          `json:"id,omitempty"`
	Name  string          `json:"name,omitempty"`
	Input json.RawMessage `json:"input,omitempty"`
}

// The types of blocks.
const (
	textType = "text"
	callType = "tool_use"
)

// sink takes an answer's blocks, one after the other.
type sink interface {
	begin(b block) error    // a block begins: with an empty text, or as a call without arguments
	goOn(part string) error // its text, or the JSON of its arguments, goes on
	end() error             // it is complete
}

// cutter makes blocks of an answer's pieces.
//
// A call is handed over when it is complete, so that the blocks never have one that turns out to be none after all: until then llama takes
// back what does not become a call, and a block cannot be taken back. The calls of functions that are eager are handed over while they come
// nevertheless; one that breaks off is then a block whose JSON ends early, and its text follows.
//
// Invariants: open is the type of the block that has begun and has not ended, "" if there is none; held is the call that is not complete yet
// and of which nothing was handed over, nil if there is none. A text may be open beside it, and goes on if there is no such call after all.
type cutter struct {
	to    sink
	eager map[string]bool // by the function's name
	open  string
	held  *call
}

// call is a call that comes.
type call struct {
	id, name  string
	arguments strings.Builder
}

// add hands over what a piece brings. Text of a piece that goes on with a call comes after that part of the call, and before it where the
// call begins in the piece.
func (c *cutter) add(p llama.Piece) error {
	late := len(p.Calls) > 0 && p.Calls[0].Name == ""
	if !late {
		if err := c.text(p.Text); err != nil {
			return err
		}
	}
	for _, part := range p.Calls {
		if err := c.call(part); err != nil {
			return err
		}
	}
	if late {
		if err := c.text(p.Text); err != nil {
			return err
		}
	}
	if p.Stop == 0 {
		return nil
	}
	return c.close()
}

// text hands text over.
func (c *cutter) text(text string) error {
	if text == "" {
		return nil
	}
	if c.open != textType || c.held != nil {
		if err := c.close(); err != nil {
			return err
		}
		c.open = textType
		if err := c.to.begin(block{Type: textType, Text: new(string)}); err != nil {
			return err
		}
	}
	return c.to.goOn(text)
}

// call takes a part of a call.
func (c *cutter) call(p llama.CallPiece) error {
	if p.Name != "" {
		eager := c.eager[p.Name]
		if eager || c.held != nil {
			if err := c.close(); err != nil {
				return err
			}
		}
		if eager {
			c.open = callType
			if err := c.to.begin(block{Type: callType, ID: p.ID, Name: p.Name, Input: noArguments}); err != nil {
				return err
			}
		} else {
			c.held = &call{id: p.ID, name: p.Name}
		}
	}
	switch {
	case c.held != nil && p.Broken:
		c.held = nil
	case c.held != nil:
		c.held.arguments.WriteString(p.Arguments)
	case c.open == callType && p.Arguments != "":
		if err := c.to.goOn(p.Arguments); err != nil {
			return err
		}
	}
	if c.open == callType && p.Broken {
		return c.close()
	}
	return nil
}

// noArguments is the input of a call that begins.
var noArguments = json.RawMessage("{}")

// close hands the call over that was held, which something else has followed, and ends the block that is open.
func (c *cutter) close() error {
	if held := c.held; held != nil {
		c.held = nil
		if err := c.close(); err != nil {
			return err
		}
		c.open = callType
		if err := c.to.begin(block{Type: callType, ID: held.id, Name: held.name, Input: noArguments}); err != nil {
			return err
		}
		if err := c.to.goOn(held.arguments.String()); err != nil {
			return err
		}
	}
	if c.open == "" {
		return nil
	}
	c.open = ""
	return c.to.end()
}
