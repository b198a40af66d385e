package calls

import (
	"encoding/json"
	"strings"
)

// gemma reads a call as Gemma 4 writes it, and writes its arguments as JSON while they come. Keys stand bare, and strings between marks, as they are:
//
//	call:weather{city:<|"|>Bonn<|"|>,days:[1,2],units:{metric:true}}  →  {"city": "Bonn", "days": [1, 2], "units": {"metric": true}}
//
// The marks are tokens if the vocabulary has them as control tokens, else text. A key may stand between marks, too. JSON's words may be spelled
// as in Python: the first templates of the family wrote None.
//
// Invariant between bytes: open holds the brackets that are open, the arguments' first.
type gemma struct {
	state gemmaState
	open  []byte
	text  []byte // what has come of the prefix, of a name, a key or a word, or of a mark that is text
	key   bool   // the string is a key
}

// gemmaState is what gemma expects or is within.
type gemmaState uint8

const (
	gemmaPrefix gemmaState = iota
	gemmaName
	gemmaFirst // the first item of the open value, or its end
	gemmaNext  // an item after a comma
	gemmaKey   // within a bare key
	gemmaColon // the : after a key that is a string
	gemmaValue
	gemmaOpening // within a mark that is text and begins a string
	gemmaString
	gemmaClosing // within what may be the mark that ends the string
	gemmaWord
	gemmaAfter // a comma, or the end of the open value
)

const (
	gemmaCall  = "call:"
	quoteMark  = `<|"|>` // before and after a string
	gemmaOpen  = "<|tool_call>"
	gemmaClose = "<tool_call|>"
)

func (g *gemma) start() { g.state, g.open, g.text = gemmaPrefix, g.open[:0], g.text[:0] }

// step reads a byte. isControl says which marks are control tokens, and are not looked for in the text.
func (g *gemma) step(c byte, to *call, names functionNames, isControl func(mark string) bool) verdict {
	switch g.state {
	case gemmaPrefix:
		g.text = append(g.text, c)
		if string(g.text) == gemmaCall {
			g.state, g.text = gemmaName, g.text[:0]
		}
		return verdictOf(strings.HasPrefix(gemmaCall, string(g.text)))
	case gemmaName:
		if c != '{' {
			g.text = append(g.text, c)
			return verdictOf(isNameByte(c) && names.begins(g.text))
		}
		to.name, to.named = string(g.text), names.has(string(g.text))
		to.begun = to.named
		g.push(c, to)
		return verdictOf(to.named)
	case gemmaString, gemmaClosing:
		g.inString(c, to, isControl(quoteMark))
		return goOn
	case gemmaOpening:
		g.text = append(g.text, c)
		if string(g.text) == quoteMark {
			g.begin(to)
		}
		return verdictOf(strings.HasPrefix(quoteMark, string(g.text)) || g.state == gemmaString)
	case gemmaKey:
		if c == ':' {
			g.state = gemmaValue
			to.writeString(g.text)
			to.arguments = append(to.arguments, ": "...)
			return goOn
		}
		g.text = append(g.text, c)
		return verdictOf(c >= ' ' && !strings.ContainsRune("{}[],<\"", rune(c)))
	case gemmaWord:
		if isNameByte(c) || c == '+' {
			g.text = append(g.text, c)
			return goOn
		}
		word, ok := pythonWords[string(g.text)]
		if !ok && !json.Valid(g.text) {
			return wrong
		}
		if !ok {
			word = string(g.text)
		}
		to.arguments = append(to.arguments, word...)
		g.state = gemmaAfter
	}
	if isSpace(c) {
		return goOn
	}
	return g.between(c, to, isControl(quoteMark))
}

// between reads a byte that stands in no name, key, string or word.
func (g *gemma) between(c byte, to *call, control bool) verdict {
	in := g.open[len(g.open)-1]
	ends := c == in+2 // of { and [ in ASCII
	switch {
	case g.state == gemmaColon:
		g.state = gemmaValue
		to.arguments = append(to.arguments, ": "...)
		return verdictOf(c == ':')
	case ends && (g.state == gemmaFirst || g.state == gemmaAfter):
		to.arguments = append(to.arguments, c)
		if g.open = g.open[:len(g.open)-1]; len(g.open) == 0 {
			return last
		}
		g.state = gemmaAfter
		return goOn
	case g.state == gemmaAfter:
		g.state = gemmaNext
		to.arguments = append(to.arguments, ", "...)
		return verdictOf(c == ',')
	}
	g.key = in == '{' && g.state != gemmaValue
	g.text = append(g.text[:0], c)
	switch {
	case c == quoteMark[0] && !control:
		g.state = gemmaOpening
	case g.key:
		g.state = gemmaKey
		return verdictOf(!strings.ContainsRune("{}[],:<\"", rune(c)))
	case (c == '{' || c == '[') && len(g.open) < maxOpen:
		g.push(c, to)
	case isNameByte(c):
		g.state = gemmaWord
	default:
		return wrong
	}
	return goOn
}

// maxOpen bounds how deep values are nested.
const maxOpen = 64

// push opens an object or a list.
func (g *gemma) push(c byte, to *call) {
	g.open, g.state, g.text = append(g.open, c), gemmaFirst, g.text[:0]
	to.arguments = append(to.arguments, c)
}

// begin begins a string.
func (g *gemma) begin(to *call) {
	g.state, g.text = gemmaString, g.text[:0]
	to.arguments = append(to.arguments, '"')
}

// end ends a string.
func (g *gemma) end(to *call) {
	to.arguments = append(to.arguments, '"')
	g.text = g.text[:0]
	if g.state = gemmaAfter; g.key {
		g.state = gemmaColon
	}
}

// inString reads a byte of a string, or of the mark that ends it.
func (g *gemma) inString(c byte, to *call, control bool) {
	if control {
		to.writeByte(c)
		return
	}
	g.text = append(g.text, c)
	for len(g.text) > 0 && !strings.HasPrefix(quoteMark, string(g.text)) {
		to.writeByte(g.text[0])
		g.text = g.text[:copy(g.text, g.text[1:])]
	}
	g.state = gemmaString
	switch {
	case string(g.text) == quoteMark:
		g.end(to)
	case len(g.text) > 0:
		g.state = gemmaClosing
	}
}

// mark reads a mark that is a control token.
func (g *gemma) mark(text string, to *call) verdict {
	if text != quoteMark {
		return wrong
	}
	switch g.state {
	case gemmaString:
		g.end(to)
		return goOn
	case gemmaFirst, gemmaNext, gemmaValue:
		g.key = g.open[len(g.open)-1] == '{' && g.state != gemmaValue
		g.begin(to)
		return goOn
	}
	return wrong
}
