package llama

import (
	"encoding/json"
	"slices"

	"github.com/antigravity-go/antigravity/internal/calls"
	"github.com/antigravity-go/antigravity/llama/internal/sampling"
)

// answer makes pieces of the tokens of an answer: it cuts the text at stop strings, and takes the calls out of it where calls are
// looked for. Its memory is the session's and is used again by the next answer.
//
// Invariant between tokens: content is the text of the pieces that were filled in so far.
type answer struct {
	tokenizer *Tokenizer
	filter    sampling.TextFilter
	bytes     []byte // of one token
	looks     bool   // calls are looked for, by parser
	parser    calls.Parser
	ids       callIDs
	content   []byte
}

// start prepares for an answer to prompt. fresh tells that the answer is a text of its own, as a message is, and not the continuation
// of the prompt's text. With looks calls of the functions that names has are looked for, or of any where names is nil.
func (a *answer) start(t *Tokenizer, stop []string, fresh, looks bool, names []string, prompt []Token) {
	a.tokenizer, a.content = t, a.content[:0]
	a.filter.Start(stop, fresh && t.leadingSpace())
	a.looks = looks && t.calls != calls.None
	if a.looks {
		a.parser.Start(t.calls, names, t.control)
		a.ids = newCallIDs(prompt)
	}
}

// control tells whether the vocabulary has a control token of this text.
func (t *Tokenizer) control(text string) bool {
	token, ok := t.ID(text)
	return ok && t.Special(token)
}

// add fills in the text and the calls that can be told of when a token has come. It tells whether a stop string has come up: then no
// token may follow.
func (a *answer) add(token Token, piece *Piece) (stopped bool) {
	if a.looks && a.tokenizer.Special(token) {
		if text := a.tokenizer.Text(token); a.parser.Knows(text) {
			a.parser.Write(a.filter.Flush())
			a.parser.Control(text)
		}
	}
	a.bytes = a.tokenizer.AppendBytes(a.bytes[:0], token)
	text, stopped := a.filter.Push(a.bytes)
	a.give(text, piece)
	return stopped
}

// give adds text to the piece, or what the parser makes of it.
func (a *answer) give(text string, piece *Piece) {
	if a.looks {
		var pieces []calls.Delta
		a.parser.Write(text)
		text, pieces = a.parser.Take()
		for _, p := range pieces {
			c := CallPiece{Index: p.Index, Name: p.Name, Arguments: p.Arguments, Broken: p.Broken}
			if c.Name != "" {
				c.ID = a.ids.of(p.Index)
			}
			piece.Calls = append(piece.Calls, c)
		}
	}
	piece.Text += text
	a.content = append(a.content, text...)
}

// finish fills in the text that was held back, now that the answer is over, and the whole answer as a message.
func (a *answer) finish(piece *Piece) {
	rest := a.filter.Flush()
	if a.looks {
		a.parser.Write(rest)
		a.parser.Finish()
		rest = ""
	}
	a.give(rest, piece)
	piece.Message = Message{Role: RoleAssistant, Content: string(a.content)}
	if !a.looks {
		return
	}
	for _, c := range a.parser.Calls() {
		piece.Message.ToolCalls = append(piece.Message.ToolCalls, ToolCall{a.ids.of(c.Index), c.Name, json.RawMessage(c.Arguments)})
	}
	if piece.Stop == EndOfTurn && len(piece.Message.ToolCalls) > 0 {
		piece.Stop = ToolCalled
	}
}

// ParseAnswer returns the message that the tokens of an answer are: its text and the calls that it makes, as the model writes calls
// (see CallFormat). The answer is tokens up to the token end, or all of tokens if end is not among them; a negative end never is.
//
// The rule of what is a call is Piece's, but ParseAnswer does not know which functions were on offer: it takes a call of any function
// whose name is letters, digits, '_', '-' and '.' and has at most 64 bytes. It does not know the conversation either: the calls' IDs
// are made of the answer's tokens, so that the same answer has the same IDs again.
func (t *Tokenizer) ParseAnswer(tokens []Token, end Token) Message {
	if i := slices.Index(tokens, end); i >= 0 {
		tokens = tokens[:i]
	}
	var a answer
	var all Piece
	a.start(t, nil, true, true, nil, tokens)
	for _, token := range tokens {
		a.add(token, &all)
	}
	a.finish(&all)
	return all.Message
}
