package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// appendPython appends a JSON value to dst as Python writes it that has read it: json.dumps(json.loads(value), ensure_ascii=False).
// MaskBench's documents are made so, and white space and the writing of numbers are part of what a constraint must let through.
//
// Members keep their order; of several members of one name the first has its place and the last its value. Integers keep
// their digits, other numbers are written as the float64 that they are read as.
func appendPython(dst []byte, value []byte) ([]byte, error) {
	d := json.NewDecoder(bytes.NewReader(value))
	d.UseNumber()
	dst, err := appendPythonValue(dst, d)
	if err != nil {
		return nil, fmt.Errorf("write a document as Python does: %w", err)
	}
	return dst, nil
}

func appendPythonValue(dst []byte, d *json.Decoder) ([]byte, error) {
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch v := token.(type) {
	case json.Delim:
		if v == '{' {
			dst, err = appendPythonMembers(dst, d)
		} else {
			dst, err = appendPythonElements(dst, d)
		}
		if err != nil {
			return nil, err
		}
		_, err = d.Token() // the closing bracket
		return dst, err
	case string:
		return appendPythonString(dst, v), nil
	case json.Number:
		return appendPythonNumber(dst, string(v))
	case bool:
		return strconv.AppendBool(dst, v), nil
	}
	return append(dst, "null"...), nil
}

func appendPythonMembers(dst []byte, d *json.Decoder) ([]byte, error) {
	var names []string
	values := map[string][]byte{}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, err
		}
		value, err := appendPythonValue(nil, d)
		if err != nil {
			return nil, err
		}
		text := name.(string)
		if _, again := values[text]; !again {
			names = append(names, text)
		}
		values[text] = value
	}
	dst = append(dst, '{')
	for i, name := range names {
		if i > 0 {
			dst = append(dst, ", "...)
		}
		dst = append(appendPythonString(dst, name), ": "...)
		dst = append(dst, values[name]...)
	}
	return append(dst, '}'), nil
}

func appendPythonElements(dst []byte, d *json.Decoder) ([]byte, error) {
	dst = append(dst, '[')
	for first := true; d.More(); first = false {
		if !first {
			dst = append(dst, ", "...)
		}
		var err error
		if dst, err = appendPythonValue(dst, d); err != nil {
			return nil, err
		}
	}
	return append(dst, ']'), nil
}

// appendPythonString appends a string in which quotation marks, backslashes and the characters below U+0020 are escaped, and
// nothing else.
func appendPythonString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			dst = append(dst, '\\', byte(r))
		case r >= ' ':
			dst = utf8.AppendRune(dst, r)
		case strings.ContainsRune("\b\t\n\f\r", r):
			dst = append(dst, '\\', "btn-fr"[r-'\b'])
		default:
			dst = fmt.Appendf(dst, `\u%04x`, r)
		}
	}
	return append(dst, '"')
}

// The exponents of 10 between which Python writes a float without an exponent.
const (
	leastPlain = -4
	mostPlain  = 16
)

func appendPythonNumber(dst []byte, number string) ([]byte, error) {
	if !strings.ContainsAny(number, ".eE") {
		if number == "-0" { // an integer has no negative zero
			number = "0"
		}
		return append(dst, number...), nil
	}
	x, err := strconv.ParseFloat(number, 64)
	if err != nil && !math.IsInf(x, 0) {
		return nil, err
	}
	switch {
	case math.IsInf(x, 1):
		return append(dst, "Infinity"...), nil
	case math.IsInf(x, -1):
		return append(dst, "-Infinity"...), nil
	}
	scientific := strconv.FormatFloat(x, 'e', -1, 64)
	_, exponent, _ := strings.Cut(scientific, "e")
	if e, _ := strconv.Atoi(exponent); e < leastPlain || e >= mostPlain {
		return append(dst, scientific...), nil
	}
	plain := strconv.FormatFloat(x, 'f', -1, 64)
	if !strings.Contains(plain, ".") {
		plain += ".0"
	}
	return append(dst, plain...), nil
}
