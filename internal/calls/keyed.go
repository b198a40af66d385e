package calls

import (
	"bytes"
	"strings"
)

// keyed reads a call as GLM 4.5 and later models write it, and writes its arguments as JSON, one parameter after the other as each is complete:
//
//	f
//	<arg_key>a</arg_key>
//	<arg_value>1</arg_value>
//	</tool_call>
//
// White space between the parts does not count. A value is the text between its tags, see call.parameter for what it means. The mark after
// the call ends it, since nothing else does.
type keyed struct {
	place keyedPlace
	text  []byte // a name, a tag, a key or a value so far
	key   string
}

type keyedPlace int

const (
	inKeyedName  keyedPlace = iota // the function's name
	beforeKey                      // white space, <arg_key> or </tool_call>
	inKey                          // a key, up to </arg_key>
	beforeValue                    // white space, <arg_value>
	inKeyedValue                   // a value, up to </arg_value>
)

// The tags.
const (
	keyOpen    = "<arg_key>"
	keyClose   = "</arg_key>"
	valueOpen  = "<arg_value>"
	valueClose = "</arg_value>"
	keyedClose = "</tool_call>"
)

// keyTags are the parts of a parameter.
var keyTags = Tags{
	BeforeName: mark(keyOpen),
	AfterName:  []Part{{Text: keyClose, Mark: true}, {Text: "\n", Maybe: true}, {Text: valueOpen, Mark: true}},
	AfterValue: []Part{{Text: valueClose, Mark: true}, {Text: "\n", Maybe: true}},
	End:        valueClose,
}

func (r *keyed) start() { *r = keyed{text: r.text[:0]} }

// step reads a byte. Tags that are control tokens come as their bytes.
func (r *keyed) step(c byte, to *call, names functionNames, schemas Schemas) verdict {
	switch r.place {
	case inKeyedName:
		if !isSpace(c) && c != '<' {
			r.text = append(r.text, c)
			return verdictOf(isNameByte(c) && names.begins(r.text))
		}
		to.name, to.named = string(r.text), names.has(string(r.text))
		to.arguments, to.begun = append(to.arguments, '{'), true
		if !to.named {
			return wrong
		}
		r.next(beforeKey)
	case inKey:
		r.text = append(r.text, c)
		key, whole := bytes.CutSuffix(r.text, []byte(keyClose))
		if whole {
			r.key = strings.TrimSpace(string(key))
			r.next(beforeValue)
			return verdictOf(to.fresh(r.key))
		}
		return verdictOf(len(r.text) <= maxParameter+len(keyClose))
	case inKeyedValue:
		r.text = append(r.text, c)
		if c != '>' {
			return goOn
		}
		if value, whole := bytes.CutSuffix(r.text, []byte(valueClose)); whole {
			to.parameter(r.key, value, schemas)
			r.next(beforeKey)
		}
		return goOn
	}
	if len(r.text) == 0 && isSpace(c) {
		return goOn
	}
	r.text = append(r.text, c)
	tag := string(r.text)
	switch {
	case r.place == beforeValue && tag == valueOpen:
		r.next(inKeyedValue)
	case r.place == beforeValue:
		return verdictOf(strings.HasPrefix(valueOpen, tag))
	case tag == keyOpen:
		r.next(inKey)
	case tag == keyedClose:
		to.arguments = append(to.arguments, '}')
		return last
	default:
		return verdictOf(strings.HasPrefix(keyOpen, tag) || strings.HasPrefix(keyedClose, tag))
	}
	return goOn
}

// next goes to another place.
func (r *keyed) next(place keyedPlace) { r.place, r.text = place, r.text[:0] }

// isTag reports whether a control token is one of the tags.
func (r *keyed) isTag(token string) bool {
	switch token {
	case keyOpen, keyClose, valueOpen, valueClose, keyedClose:
		return true
	}
	return false
}
