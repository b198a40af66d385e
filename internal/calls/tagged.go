package calls

import (
	"bytes"
	"encoding/json"
	"strings"
)

// tagged reads a call that is written with tags, and writes its arguments as JSON, one parameter after the other as each is complete:
//
//	<function=f>
//	<parameter=a>
//	1
//	</parameter>
//	</function>
//
// A value is the text between the tags, less a line break at either end. The function's schema says whether that is a string or JSON. Without a
// schema, a text that is valid JSON, and no string, is JSON, and any other text is a string. JSON's words may be spelled as in Python.
type tagged struct {
	place  taggedPlace
	text   []byte // a tag, a name or a value so far
	key    string
	filled bool // the arguments have a parameter
}

type taggedPlace int

const (
	inFunctionTag taggedPlace = iota // <function=
	inFunctionName
	betweenTags
	inTag // <parameter=, or </function>
	inParameterName
	inParameter
)

// The tags.
const (
	functionTag   = "<function="
	functionEnd   = "</function>"
	parameterTag  = "<parameter="
	parameterEnd  = "</parameter>"
	maxParameter  = 256 // bytes of a parameter's name
	textParameter = "string"
)

func (r *tagged) start() { *r = tagged{text: r.text[:0]} }

// step reads a byte. types returns the type that a function's schema gives a parameter, as JSON Schema names it; "" if it gives no type.
func (r *tagged) step(c byte, to *call, names functionNames, types func(function, parameter string) string) verdict {
	switch r.place {
	case betweenTags:
		if isSpace(c) {
			return goOn
		}
		r.place, r.text = inTag, r.text[:0]
	case inFunctionName:
		if c == '>' {
			to.name, to.named = string(r.text), names.has(string(r.text))
			to.arguments, to.begun = append(to.arguments, '{'), true
			r.place = betweenTags
			return verdictOf(to.named)
		}
		r.text = append(r.text, c)
		return verdictOf(isNameByte(c) && names.begins(r.text))
	case inParameterName:
		if c == '>' {
			r.key, r.place, r.text = string(r.text), inParameter, r.text[:0]
			return verdictOf(r.key != "")
		}
		r.text = append(r.text, c)
		return verdictOf(c >= ' ' && c != '<' && len(r.text) <= maxParameter)
	}
	r.text = append(r.text, c)
	switch {
	case r.place == inParameter:
		if c == '>' && bytes.HasSuffix(r.text, []byte(parameterEnd)) {
			r.parameter(to, types)
			r.place = betweenTags
		}
		return goOn
	case r.place == inFunctionTag && strings.HasPrefix(functionTag, string(r.text)):
		if len(r.text) == len(functionTag) {
			r.place, r.text = inFunctionName, r.text[:0]
		}
		return goOn
	case r.place == inTag && string(r.text) == parameterTag:
		r.place, r.text = inParameterName, r.text[:0]
		return goOn
	case r.place == inTag && string(r.text) == functionEnd:
		to.arguments = append(to.arguments, '}')
		return last
	}
	return verdictOf(r.place == inTag && (strings.HasPrefix(parameterTag, string(r.text)) || strings.HasPrefix(functionEnd, string(r.text))))
}

// parameter writes the parameter after its value has come.
func (r *tagged) parameter(to *call, types func(function, parameter string) string) {
	value := r.text[:len(r.text)-len(parameterEnd)]
	value = bytes.TrimSuffix(bytes.TrimPrefix(value, []byte("\n")), []byte("\n"))
	if r.filled {
		to.arguments = append(to.arguments, ", "...)
	}
	r.filled = true
	to.writeString([]byte(r.key))
	to.arguments = append(to.arguments, ": "...)
	kind := ""
	if types != nil {
		kind = types(to.name, r.key)
	}
	trimmed := bytes.TrimSpace(value)
	if word, ok := pythonWords[string(trimmed)]; ok && kind != textParameter {
		trimmed = []byte(word)
	}
	if kind == textParameter || !json.Valid(trimmed) || kind == "" && trimmed[0] == '"' {
		to.writeString(value)
		return
	}
	to.arguments = append(to.arguments, trimmed...)
}

// pythonWords are JSON's words as Python spells them.
var pythonWords = map[string]string{"True": "true", "False": "false", "None": "null"}

// writeString writes a text as a JSON string.
func (c *call) writeString(text []byte) {
	c.arguments = append(c.arguments, '"')
	for _, b := range bytes.ToValidUTF8(text, []byte("\uFFFD")) {
		c.writeByte(b)
	}
	c.arguments = append(c.arguments, '"')
}
