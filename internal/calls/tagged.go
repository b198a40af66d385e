package calls

import (
	"bytes"
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
// A value is the text between the tags, less a line break at either end. See call.parameter for what it means.
type tagged struct {
	place taggedPlace
	text  []byte // a tag, a name or a value so far
	key   string
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
	functionTag  = "<function="
	functionEnd  = "</function>"
	parameterTag = "<parameter="
	parameterEnd = "</parameter>"
)

// functionTags are the parts of a parameter.
var functionTags = Tags{BeforeName: text(parameterTag), AfterName: text(">\n"), AfterValue: text("\n" + parameterEnd + "\n"), End: parameterEnd}

func (r *tagged) start() { *r = tagged{text: r.text[:0]} }

// step reads a byte.
func (r *tagged) step(c byte, to *call, names functionNames, schemas Schemas) verdict {
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
			return verdictOf(to.fresh(r.key))
		}
		r.text = append(r.text, c)
		return verdictOf(c >= ' ' && c != '<' && len(r.text) <= maxParameter)
	}
	r.text = append(r.text, c)
	switch {
	case r.place == inParameter:
		if c == '>' && bytes.HasSuffix(r.text, []byte(parameterEnd)) {
			value := r.text[:len(r.text)-len(parameterEnd)]
			to.parameter(r.key, bytes.TrimSuffix(bytes.TrimPrefix(value, []byte("\n")), []byte("\n")), schemas)
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
