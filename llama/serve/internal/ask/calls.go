package ask

import "github.com/antigravity-go/antigravity/llama"

// Calls decides which parts of an answer's function calls are sent to the client while the pieces come. Parts that were sent are never
// taken back: all texts together and all calls together are the answer, streamed or not.
//
// A call that the end of the answer cuts off (because of MaxTokens, say) stays a call with the arguments so far, as at OpenAI: the stop
// reason shows that the answer is not complete. Anything else that turns out not to be a call is text.
type Calls struct {
	// Sure says that a call that has begun ends as one unless the answer ends before: a constraint keeps the answer's form. Then its
	// arguments are handed on while they come, otherwise when the call is complete.
	Sure bool
	// Whole says that arguments are handed on when the call is complete, or is cut off, in any case.
	Whole bool

	held []llama.CallPiece // of a call that is coming and is not sure; all of one Index
	told int               // calls that the client knows of
}

// Take returns the text and the parts of calls that the client gets for a piece of the answer. Index counts the calls that the client gets.
func (c *Calls) Take(p llama.Piece) (text string, parts []llama.CallPiece) {
	text, parts = c.take(p)
	for i := range parts {
		if parts[i].Name != "" {
			c.told++
		}
		parts[i].Index = c.told - 1
	}
	return text, parts
}

func (c *Calls) take(p llama.Piece) (text string, parts []llama.CallPiece) {
	text = p.Text
	for _, part := range p.Calls {
		if c.Sure && part.Broken && p.Stop != 0 {
			text = "" // the beginning of the call, which was handed on as a call already, or will be
			if part.Broken = false; part.Name == "" && part.Arguments == "" {
				continue
			}
		}
		switch {
		case c.Sure && !c.Whole:
			parts = append(parts, part)
		case part.Broken:
			c.held = c.held[:0]
		default:
			if len(c.held) > 0 && c.held[0].Index != part.Index {
				parts = append(parts, c.release())
			}
			c.held = append(c.held, part)
		}
	}
	if p.Stop != 0 && len(c.held) > 0 {
		parts = append(parts, c.release())
	}
	return text, parts
}

// release returns the call that is held as one part.
func (c *Calls) release() llama.CallPiece {
	whole := c.held[0]
	for _, part := range c.held[1:] {
		whole.Arguments += part.Arguments
	}
	c.held = c.held[:0]
	return whole
}
