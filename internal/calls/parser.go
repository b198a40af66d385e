package calls

import (
	"bytes"
	"slices"
	"strings"
)

// A Parser goes byte by byte from place to place: content, a possible mark, a call, the bytes after a call. Bytes that may become a call
// are held, and a byte that does not fit makes them content. For example, with the format Hermes and both marks as plain text,
//
//	bytes                                   place after them   output
//	Hi                                      inText             content "Hi"
//	 <tool_call>                            opened             the space and the mark are held
//	{"name": "f", "arguments": {            inCall             Delta{Name: "f", Arguments: "{"}, if a Write ends here
//	"a": 1}}                                afterCall          Delta{Arguments: `"a": 1}`}, Call{0, "f", `{"a": 1}`}
//	</tool_call>                            afterCall          nothing: the mark belongs to the call
//
// If "a": 2x came instead, a Delta would say that the call is broken, and all that was held would be content.

// Delta is a piece of a call.
type Delta struct {
	Index     int    // counts the calls that have begun to come, from 0
	Name      string // on a call's first piece
	Arguments string // the next bytes of the arguments, which are JSON
	// Broken, on a call's last piece, says that there is no such call: its text comes as content.
	Broken bool
}

// Call is a call that is complete.
type Call struct {
	Index     int
	Name      string
	Arguments string // a JSON object, as the model wrote it or, for a family that writes Python, as it was translated
}

// Parser reads an answer while it comes: its text and its control tokens are written to it in order, and content and calls are taken from
// it as far as they are known. It is for one goroutine at a time. Start makes it ready, and ready again with the same memory.
//
// Invariants between bytes: content and deltas are output that the caller has not taken. held is text that is not classified yet: white
// space at the end of the text in place inText, elsewhere everything since that white space, or since the latest call.
type Parser struct {
	family *Family
	names  functionNames
	marks  []string // those of the family that are control tokens

	place     place
	held      []byte
	line      bool // the text so far ends with a line in which there is only white space
	after     bool // nothing but white space, separators and marks has come since a call
	marked    int  // inMark: bytes of the mark so far
	inList    bool // the brackets around calls are open
	separated bool // afterCall: a separator has come
	closed    bool // afterCall: the closing mark has come

	call      call
	started   bool // what has come of the call says that it is one
	announced bool // a delta with the call's name was given
	sent      int  // bytes of the call's arguments in the deltas that were given
	reader    reader
	object    object
	python    python
	withArgs  withArgs
	tagged    tagged
	keyed     keyed
	schemas   Schemas // see the method
	gemma     gemma

	begun    int    // calls that were started
	complete []Call // those of them that are complete
	content  []byte
	any      bool // there was content
	deltas   []Delta
}

// place is what the parser is within.
type place int

const (
	inText    place = iota // content
	inMark                 // what may become a mark
	opened                 // after what opens calls: white space, and what a call begins with
	inCall                 // a call
	afterCall              // after a call: white space, a separator, a mark, the end of the list, another call
)

// reader says which of the parser's readers reads a call.
type reader int

const (
	readsObject reader = iota
	readsPython
	readsWithArgs
	readsTagged
	readsKeyed
	readsGemma
)

// Schemas gives the parser what the functions' schemas say. It counts for formats that write texts without quotes, until the next Start.
func (p *Parser) Schemas(schemas Schemas) { p.schemas = schemas }

// Start makes the parser ready for an answer of a model that writes calls in a format. names are the functions on offer: no others are
// called. With nil names any function can be called if its name is letters, digits, '_', '-' and '.' and has at most 64 bytes. control
// reports whether the vocabulary has a control token of a text: such a mark is written with [Parser.Control], and the same characters in
// the text are no mark.
func (p *Parser) Start(f Format, names []string, control func(token string) bool) {
	p.family, p.schemas = f.Family(), nil
	p.names = functionNames{names, names == nil}
	p.marks = p.marks[:0]
	for _, mark := range [...]string{p.family.open, p.family.close, argsMark, idMark, quoteMark, keyOpen, keyClose, valueOpen, valueClose} {
		if mark != "" && control(mark) {
			p.marks = append(p.marks, mark)
		}
	}
	p.place, p.held, p.line, p.after, p.inList = inText, p.held[:0], true, false, false
	p.started, p.begun, p.complete = false, 0, p.complete[:0]
	p.content, p.any, p.deltas = p.content[:0], false, p.deltas[:0]
}

// Write reads the next part of the answer's text.
func (p *Parser) Write(text string) {
	for i := range len(text) {
		p.step(text[i])
	}
	p.flush()
}

// Control reads a control token of the answer, by the text that the vocabulary has for it. Those that are no marks of the family are
// passed over. The text of a mark that turns out to belong to no call is content, as it is if the mark is written as text.
func (p *Parser) Control(token string) {
	if !p.Knows(token) {
		return
	}
	switch {
	case p.place == inCall && p.reader == readsKeyed && p.keyed.isTag(token):
		for i := 0; i < len(token) && p.place == inCall; i++ {
			p.step(token[i])
		}
	case token == p.family.open:
		if p.place != inText && p.place != afterCall {
			p.fail(0)
		}
		p.held = append(p.held, token...)
		p.open()
	case token == p.family.close && p.place == afterCall && !p.closed:
		p.close()
	case p.place == inCall && p.reader == readsWithArgs && p.withArgs.mark(token, &p.call, p.names) == goOn,
		p.place == inCall && p.reader == readsGemma && p.gemma.mark(token, &p.call) == goOn:
		p.held = append(p.held, token...)
	default:
		if p.place != inText {
			p.fail(0)
		}
		p.write(append(p.held, token...))
		p.held, p.line = p.held[:0], false
	}
	p.flush()
}

// Knows reports whether a control token is a mark of the family.
func (p *Parser) Knows(token string) bool { return slices.Contains(p.marks, token) }

// Finish notes that the answer is over, and classifies the rest. White space, a separator or a part of the closing mark after a call is not
// content.
func (p *Parser) Finish() {
	switch {
	case p.place == afterCall, p.place == inMark && p.mayClose():
		p.held = p.held[:0]
	case p.place != inText:
		p.fail(0)
	}
	p.write(p.held)
	p.held, p.place = p.held[:0], inText
}

// Take returns the content and the pieces of calls that have come since the last Take. The pieces are valid until the next call of a
// method.
func (p *Parser) Take() (content string, pieces []Delta) {
	content, pieces = string(p.content), p.deltas
	p.content, p.deltas = p.content[:0], p.deltas[:0]
	return content, pieces
}

// Calls returns the calls that are complete, in the order in which they came. They are valid until the next Start.
func (p *Parser) Calls() []Call { return p.complete }

// step reads a byte.
func (p *Parser) step(c byte) {
	p.held = append(p.held, c)
	switch p.place {
	case inText:
		p.inText(c)
	case inMark:
		p.marked++
		p.inMark()
	case opened:
		p.opened(c)
	case inCall:
		p.inCall(c)
	case afterCall:
		p.afterCall(c)
	}
}

// inText reads a byte of content. It is the last of held, as it is for the other methods that read a byte.
func (p *Parser) inText(c byte) {
	switch {
	case isSpace(c):
		p.line = p.line || c == '\n'
	case p.line && p.bare(c):
		p.open()
		p.opened(c)
	case p.mayMark(1):
		p.place, p.marked = inMark, 1
	default:
		p.write(p.held)
		p.held, p.line = p.held[:0], false
	}
}

// bare reports whether calls may begin with c without a mark.
func (p *Parser) bare(c byte) bool { return c != 0 && c == p.family.bare }

// inMark reads a byte of a possible mark.
func (p *Parser) inMark() {
	switch {
	case !p.mayMark(p.marked):
		p.fail(1)
	case p.marked == len(p.family.open) && p.mayOpen():
		p.open()
	case p.marked == len(p.family.close) && p.mayClose():
		p.close()
	}
}

// mayMark reports whether the last n bytes of held begin a mark that may stand here; mayOpen and mayClose, whether the last marked bytes
// begin the opening or the closing one.
func (p *Parser) mayMark(n int) bool {
	p.marked = n
	return p.mayOpen() || p.mayClose()
}

func (p *Parser) mayOpen() bool { return p.begins(p.family.open) }

func (p *Parser) mayClose() bool { return p.after && !p.closed && p.begins(p.family.close) }

func (p *Parser) begins(mark string) bool {
	return !p.Knows(mark) && len(mark) >= p.marked && mark[:p.marked] == string(p.held[len(p.held)-p.marked:])
}

// open notes that calls are opened: the next bytes are a call.
func (p *Parser) open() { p.place, p.inList = opened, false }

// close notes that the closing mark has come.
func (p *Parser) close() { p.place, p.closed, p.held = afterCall, true, p.held[:0] }

// opened reads a byte between what opens calls, or a separator, and a call.
func (p *Parser) opened(c byte) {
	f := p.family
	switch {
	case isSpace(c):
	case (f.list || f.mayList) && !p.inList && c == '[':
		p.inList = true
	case f.body == pythonBody && p.inList == f.list && isNameByte(c):
		p.python.start(!f.list, f.lines)
		p.begin(readsPython, c)
	case f.body == objectBody && (p.inList == f.list || f.mayList) && c == '{':
		p.object.start()
		p.begin(readsObject, c)
	case f.body == taggedBody && c == '<':
		p.tagged.start()
		p.begin(readsTagged, c)
	case f.body == keyedBody && isNameByte(c):
		p.keyed.start()
		p.begin(readsKeyed, c)
	case f.body == gemmaBody && c == gemmaCall[0]:
		p.gemma.start()
		p.begin(readsGemma, c)
	case f.withArgs && !p.inList && isNameByte(c):
		p.withArgs.start()
		p.begin(readsWithArgs, c)
	default:
		p.fail(1)
	}
}

// begin begins a call with its first byte.
func (p *Parser) begin(r reader, c byte) {
	p.call.begin()
	p.place, p.reader, p.started, p.announced, p.sent = inCall, r, false, false, 0
	p.inCall(c)
}

// inCall reads a byte of a call.
func (p *Parser) inCall(c byte) {
	var v verdict
	switch p.reader {
	case readsObject:
		v = p.object.step(c, &p.call, p.names)
	case readsPython:
		v = p.python.step(c, &p.call, p.names)
	case readsWithArgs:
		v = p.withArgs.step(c, &p.call, p.names, p.Knows)
	case readsTagged:
		v = p.tagged.step(c, &p.call, p.names, p.schemas)
	case readsKeyed:
		v = p.keyed.step(c, &p.call, p.names, p.schemas)
	case readsGemma:
		v = p.gemma.step(c, &p.call, p.names, p.Knows)
	}
	if !p.started && v != wrong && p.call.named && p.call.begun {
		p.started = true
		p.begun++
	}
	switch v {
	case wrong:
		p.fail(1)
	case last:
		p.end()
	case before:
		p.end()
		p.step(c)
	}
}

// end notes that the call is complete.
func (p *Parser) end() {
	p.flush()
	p.complete = append(p.complete, Call{p.begun - 1, p.call.name, string(p.call.arguments)})
	p.started, p.held, p.line = false, p.held[:0], false
	p.place, p.after, p.separated, p.closed = afterCall, true, false, p.reader == readsKeyed
}

// afterCall reads a byte after a call.
func (p *Parser) afterCall(c byte) {
	f := p.family
	among := p.inList || !f.list // another call may follow
	switch {
	case isSpace(c):
		p.line = p.line || c == '\n'
	case p.mayMark(1):
		p.place = inMark
	case among && !p.separated && strings.IndexByte(f.separator, c) >= 0:
		p.separated = true
	case p.inList && c == ']':
		p.inList, p.held = false, p.held[:0]
	case p.inList && p.separated, !f.list && p.bare(c), !f.list && f.body == pythonBody && !p.closed && isNameByte(c):
		p.place = opened
		p.opened(c)
	default:
		p.fail(1)
	}
}

// fail notes that held is content after all. The last again bytes of it, 0 or 1, are read anew.
func (p *Parser) fail(again int) {
	if p.started {
		p.flush()
		p.deltas = append(p.deltas, Delta{Index: p.begun - 1, Broken: true})
		p.started = false
	}
	rest := string(p.held[len(p.held)-again:])
	p.held = p.held[:len(p.held)-again]
	text := bytes.TrimRight(p.held, space)
	white := p.held[len(text):]
	p.line = len(text) == 0 && p.line || bytes.IndexByte(white, '\n') >= 0
	p.write(text)
	p.held = append(p.held[:0], white...)
	p.place, p.after = inText, false
	for i := range len(rest) {
		p.step(rest[i])
	}
}

// write makes text content. White space between a call and the first content is dropped.
func (p *Parser) write(text []byte) {
	if !p.any && len(p.complete) > 0 {
		text = bytes.TrimLeft(text, space)
	}
	p.content = append(p.content, text...)
	p.any = p.any || len(text) > 0
}

// flush makes a delta of the part of the call since the last one.
func (p *Parser) flush() {
	if !p.started || p.announced && p.sent == len(p.call.arguments) {
		return
	}
	d := Delta{Index: p.begun - 1, Arguments: string(p.call.arguments[p.sent:])}
	if !p.announced {
		d.Name = p.call.name
	}
	p.deltas = append(p.deltas, d)
	p.announced, p.sent = true, len(p.call.arguments)
}

const space = " \t\r\n"
