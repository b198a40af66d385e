package llama

import (
	"encoding/json"
	"slices"

	"github.com/antigravity-go/antigravity/internal/calls"
	"github.com/antigravity-go/antigravity/internal/thoughts"
	"github.com/antigravity-go/antigravity/llama/internal/sampling"
)

// answer makes pieces of the tokens of an answer: it takes the thought out of it, cuts the rest at stop strings, and takes the calls out
// of that where calls are looked for. Its memory is the session's and is used again by the next answer.
//
// Invariants between tokens: content is the text of the pieces that were filled in so far, and thought their Thought. undecided is how many
// tokens have come since the answer began, while nothing but white space and the beginning of a mark has.
//
// The bytes of a token pass through the splitter (thought or not), the filter (stop strings, whole characters) and the parser (calls or
// text). For example, a model puts thoughts between <think> and </think>, and the answer stops at "END":
//
//	token      piece
//	<think>    nothing
//	Hm         Thought "Hm"
//	</think>   nothing
//	4 E        Text "4 ": the E may begin the stop string
//	ND         nothing, and add reports that the answer has stopped
type answer struct {
	tokenizer *Tokenizer
	filter    sampling.TextFilter
	bytes     []byte // of one token

	thinks        bool // a thought may come
	splitter      thoughts.Splitter
	characters    sampling.TextFilter // makes whole characters of the thought
	thought       []byte
	thoughtTokens int
	undecided     int

	looks   bool // calls are looked for, by parser
	parser  calls.Parser
	ids     callIDs
	content []byte
	begun   Message // the beginning of the answer, see opening
}

// start prepares for an answer to prompt, which may end by opening a thought. fresh says that the answer is a text of its own, as a message
// is, and not the continuation of the prompt's text. If looks is true, the answer looks for calls of the functions in names, or of any
// function if names is nil.
func (a *answer) start(t *Tokenizer, stop []string, fresh, looks bool, names []string, prompt []Token) {
	a.tokenizer, a.content = t, a.content[:0]
	a.thought, a.thoughtTokens, a.undecided = a.thought[:0], 0, 0
	if a.thinks = fresh && t.thinker.format != nil; a.thinks {
		open, begun := t.thinker.opens(t, prompt)
		if a.splitter.Start(t.thinker.format, t.thinker.texts, open); begun {
			a.splitter.GoOn()
		}
		a.characters.Start(nil, false)
	}
	a.filter.Start(stop, fresh && t.vocabulary.LeadingSpace())
	a.looks = looks && t.calls != calls.None
	if a.looks {
		a.parser.Start(t.calls, names, t.control)
		a.ids = newCallIDs(prompt)
	}
}

// control reports whether the vocabulary has a control token of this text.
func (t *Tokenizer) control(text string) bool {
	token, ok := t.ID(text)
	return ok && t.Special(token)
}

// add fills in the thought, the text and the calls that can be delivered when a token has come. It reports whether a stop string has come
// up: then no token may follow. Stop strings and calls are not looked for in thoughts.
func (a *answer) add(token Token, piece *Piece) (stopped bool) {
	if a.thinks && a.think(token) {
		stopped = a.say(a.giveThought(piece), piece)
		if to, opened := a.splitter.Opened(); opened {
			stopped = a.address(to, piece) || stopped
		}
		return stopped
	}
	if a.knows(token) {
		a.parser.Write(a.filter.Flush())
		a.parser.Control(a.tokenizer.Text(token))
	}
	a.bytes = a.tokenizer.AppendBytes(a.bytes[:0], token)
	if !a.thinks {
		return a.say(a.bytes, piece)
	}
	a.splitter.Write(a.bytes)
	return a.say(a.giveThought(piece), piece)
}

// address notes that a message of the answer begins, to a function or, if to is empty, to the user.
func (a *answer) address(to string, piece *Piece) (stopped bool) {
	if a.looks {
		a.parser.Write(a.filter.Flush())
		a.parser.Address(to)
		a.give("", piece)
	} else if to != "" {
		return a.say([]byte("to="+to+" "), piece)
	}
	return false
}

// knows reports whether a token is a mark of calls, which are looked for.
func (a *answer) knows(token Token) bool {
	return a.looks && a.tokenizer.Special(token) && a.parser.Knows(a.tokenizer.Text(token))
}

// think gives a token to the splitter, and reports false if the token is the answer's.
func (a *answer) think(token Token) bool {
	thinking, mark := a.splitter.Thinking(), a.tokenizer.thinker.mark(token)
	switch {
	case mark != "" && a.splitter.Mark(mark):
	case a.splitter.Waiting() && a.knows(token):
		a.splitter.Answer()
		return false
	case a.splitter.Answering():
		return false
	default:
		a.bytes = a.tokenizer.AppendBytes(a.bytes[:0], token)
		a.splitter.Write(a.bytes)
	}
	a.count(thinking)
	return true
}

// count counts a token that has come, before which the answer was within a thought, or was not.
func (a *answer) count(thinking bool) {
	switch {
	case a.splitter.Waiting():
		a.undecided++
	case thinking, a.splitter.Thinking():
		a.thoughtTokens += 1 + a.undecided
		a.undecided = 0
	}
}

// giveThought adds the new part of the thought to the piece, and returns the new part of the answer.
func (a *answer) giveThought(piece *Piece) (rest []byte) {
	thought, rest := a.splitter.Take()
	text, _ := a.characters.Push(thought)
	if !a.splitter.Thinking() {
		text += a.characters.Flush()
	}
	piece.Thought += text
	a.thought = append(a.thought, text...)
	return rest
}

// say adds the next bytes of the answer's text.
func (a *answer) say(b []byte, piece *Piece) (stopped bool) {
	text, stopped := a.filter.Push(b)
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
	if a.thinks {
		a.splitter.Finish()
		if rest := a.giveThought(piece); a.filter.Stopped == "" && a.say(rest, piece) && piece.Stop != 0 {
			piece.Stop, piece.StopString = StopString, a.filter.Stopped
		}
	}
	rest := a.filter.Flush()
	if a.looks {
		a.parser.Write(rest)
		a.parser.Finish()
		rest = ""
	}
	a.give(rest, piece)
	piece.Message = Message{Role: RoleAssistant, Content: a.begun.Content + string(a.content), Thinking: a.begun.Thinking + string(a.thought), Name: a.begun.Name}
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

// ParseAnswer turns the tokens of an answer into a message: its thought, its text and its calls, in the model's own format (see
// CallFormat). A thought that the prompt has opened counts if the answer closes it. The answer is tokens up to the token end, or all of
// tokens if end is not among them; a negative end never is.
//
// Calls are recognised as in Piece, but ParseAnswer does not know which functions were on offer: it accepts a call of any function with a
// name of at most 64 letters, digits, '_', '-' and '.'. It does not know the conversation either: the calls' IDs are computed from the
// answer's tokens, so that the same answer has the same IDs again.
func (t *Tokenizer) ParseAnswer(tokens []Token, end Token) Message {
	if i := slices.Index(tokens, end); i >= 0 {
		tokens = tokens[:i]
	}
	var a answer
	var all Piece
	a.start(t, nil, true, true, nil, tokens)
	if a.thinks {
		a.splitter.Start(t.thinker.format, t.thinker.texts, t.thinker.closes(t, tokens))
	}
	for _, token := range tokens {
		a.add(token, &all)
	}
	a.finish(&all)
	return all.Message
}
