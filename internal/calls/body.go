package calls

import (
	"encoding/json"
	"slices"
	"strings"
)

// A reader takes a call byte by byte, and after each byte its verdict says whether the bytes may still be a call. The name must be on
// offer: the first byte that leads to no name on offer is wrong. For example, object reads
//
//	bytes so far                             call                         verdict
//	{"name": "f"                             name f                       goOn
//	{"name": "f", "arguments": {             name f, arguments {          goOn
//	{"name": "f", "arguments": {"a": 1}      name f, arguments {"a": 1}   goOn
//	{"name": "f", "arguments": {"a": 1}}     name f, arguments {"a": 1}   last
//
// and withArgs reads the same call as f[ARGS]{"a": 1}.

// call is the part of a call that has been read.
type call struct {
	name      string
	arguments []byte   // JSON
	keys      []string // of the parameters so far, if they are written between tags
	named     bool     // name is complete, and on offer
	begun     bool     // arguments has at least its first byte
}

// begin empties the call and keeps its memory.
func (c *call) begin() { *c = call{arguments: c.arguments[:0], keys: c.keys[:0]} }

// verdict is what a byte means to the reader of a call.
type verdict int

const (
	goOn   verdict = iota // the call goes on
	wrong                 // there is no call
	last                  // this byte completes the call
	before                // the call was complete before this byte, which does not belong to it
)

// functionNames knows which names calls may have.
type functionNames struct {
	names []string
	any   bool // every name that looks like one
}

// maxName bounds a name's length where any is taken, in bytes.
const maxName = 64

// has reports whether a call may have the name.
func (o functionNames) has(name string) bool {
	if !o.any {
		return slices.Contains(o.names, name)
	}
	return name != "" && len(name) <= maxName && IsName(name)
}

// begins reports whether a name may begin so.
func (o functionNames) begins(prefix []byte) bool {
	if o.any {
		return o.has(string(prefix))
	}
	return slices.ContainsFunc(o.names, func(name string) bool { return strings.HasPrefix(name, string(prefix)) })
}

// field is a key of the object that is a call, as a bit.
type field uint8

const (
	nameField field = 1 << iota
	argumentsField
	typeField
	idField
)

// fields are the keys that a call's object may have.
var fields = [...]struct {
	key   string
	field field
}{{"name", nameField}, {"arguments", argumentsField}, {"parameters", argumentsField}, {"type", typeField}, {"id", idField}}

// object reads a call that is a JSON object: {"name": "f", "parameters": {…}}, with the keys in any order, with "arguments" for
// "parameters", and perhaps with an id and the type "function".
type object struct {
	json  jsonScanner
	seen  field  // the keys that have come
	field field  // the latest of them
	text  []byte // a key or a string, as it is written
}

func (o *object) start() {
	o.json.start()
	o.seen = 0
}

func (o *object) step(c byte, to *call, names functionNames) verdict {
	j := &o.json
	depth, was, key := len(j.open), j.state, j.key
	if !j.step(c) {
		return wrong
	}
	ok := true
	switch {
	case depth == 0: // the object begins
	case depth > 1:
		to.arguments = append(to.arguments, c)
	case was == jsonKey, was == jsonFirstKey:
		o.text = o.text[:0]
	case was == jsonString && key:
		ok = o.inKey(c)
	case was == jsonValue && c == '{':
		ok = o.field == argumentsField
		to.arguments, to.begun = append(to.arguments, c), true
	case was == jsonValue && !isSpace(c):
		ok = c == '"' && o.field != argumentsField
		o.text = append(o.text[:0], c)
	case was == jsonString, was == jsonEscape, was == jsonHex:
		ok = o.inValue(c, to, names)
	}
	switch {
	case !ok:
		return wrong
	case !j.done():
		return goOn
	case to.named && to.begun:
		return last
	}
	return wrong
}

// inKey reads a byte of a key, or the quote after it.
func (o *object) inKey(c byte) bool {
	if c != '"' {
		o.text = append(o.text, c)
	}
	for _, f := range fields {
		switch {
		case o.seen&f.field != 0:
		case c != '"' && strings.HasPrefix(f.key, string(o.text)):
			return true
		case c == '"' && f.key == string(o.text):
			o.field = f.field
			o.seen |= f.field
			return true
		}
	}
	return false
}

// inValue reads a byte of a string that is the value of name, type or id, or the quote after it. text then has the quote before it.
func (o *object) inValue(c byte, to *call, names functionNames) bool {
	o.text = append(o.text, c)
	complete := o.json.state == jsonAfter
	switch {
	case o.field == typeField && complete:
		return string(o.text) == `"function"`
	case o.field != nameField:
		return true
	case complete:
		var name string
		if json.Unmarshal(o.text, &name) != nil || !names.has(name) {
			return false
		}
		to.name, to.named = name, true
		return true
	}
	plain := o.text[1:]
	return slices.Contains(plain, '\\') || names.begins(plain)
}

// withArgs reads a call that is a name, [ARGS] and an object, between which an id may stand: f[CALL_ID]x1[ARGS]{"a": 1}.
type withArgs struct {
	json  jsonScanner
	place argsPlace
	text  []byte // the name, or the beginning of a mark that is text
}

type argsPlace int

const (
	inName argsPlace = iota
	inArgsMark
	inID
	beforeObject
	inObject
)

func (w *withArgs) start() {
	w.place, w.text = inName, w.text[:0]
}

// step reads a byte. isControl says which marks are control tokens, and are not looked for in the text.
func (w *withArgs) step(c byte, to *call, names functionNames, isControl func(mark string) bool) verdict {
	switch w.place {
	case inName:
		if c != '[' {
			w.text = append(w.text, c)
			return verdictOf(isNameByte(c) && names.begins(w.text))
		}
		if !w.nameEnds(to, names) {
			return wrong
		}
		w.place, w.text = inArgsMark, w.text[:0]
	case inID:
		if isNameByte(c) {
			return goOn
		}
		w.place, w.text = inArgsMark, w.text[:0]
	case beforeObject:
		if isSpace(c) {
			return goOn
		}
		w.json.start()
		w.place = inObject
	}
	if w.place == inArgsMark {
		return w.inMark(c, to, names, isControl)
	}
	if !w.json.step(c) {
		return wrong
	}
	to.arguments, to.begun = append(to.arguments, c), true
	if w.json.done() {
		return last
	}
	return goOn
}

// inMark reads a byte of a mark that is text.
func (w *withArgs) inMark(c byte, to *call, names functionNames, isControl func(mark string) bool) verdict {
	w.text = append(w.text, c)
	for _, mark := range [...]string{argsMark, idMark} {
		switch {
		case isControl(mark) || !strings.HasPrefix(mark, string(w.text)):
		case len(w.text) < len(mark):
			return goOn
		default:
			w.place = inID // which is empty, as far as mark cares
			return w.mark(mark, to, names)
		}
	}
	return wrong
}

// mark reads a whole mark.
func (w *withArgs) mark(text string, to *call, names functionNames) verdict {
	switch {
	case w.place != inID && (w.place != inName || !w.nameEnds(to, names)):
		return wrong
	case text == argsMark:
		w.place = beforeObject
	case text == idMark:
		w.place = inID
	default:
		return wrong
	}
	return goOn
}

// nameEnds notes that the name is complete, and reports whether it is on offer.
func (w *withArgs) nameEnds(to *call, names functionNames) bool {
	to.name, to.named = string(w.text), names.has(string(w.text))
	return to.named
}

// verdictOf returns goOn or wrong.
func verdictOf(ok bool) verdict {
	if ok {
		return goOn
	}
	return wrong
}
