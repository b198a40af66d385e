package ask

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/antigravity-go/antigravity/llama/serve/internal/wire"
)

// Arguments returns the arguments of a call in a history as a JSON object. value is what a request has: an object, a string that holds one, or
// anything else. why is "" if value is the arguments of a whole call, and otherwise says what it is and what the model is shown:
//
//	missing, null, "", "null"     {}
//	"{\"a\":1}"                   {"a":1}
//	"{\"a\":1,\"b\":\"x"          {"a":1,"b":"x"}             the answer that had the call was cut off
//	"[1]", "a=1"                  {"INVALID_JSON":"[1]"}      the form for them in Anthropic's documentation
func Arguments(value json.RawMessage) (object json.RawMessage, why string) {
	text := strings.TrimSpace(string(value))
	for range 2 { // some programs write the string into a string
		var inner string
		if strings.HasPrefix(text, `"`) && json.Unmarshal([]byte(text), &inner) == nil {
			text = strings.TrimSpace(inner)
		}
	}
	switch {
	case text == "" || text == "null":
		return json.RawMessage("{}"), ""
	case text[0] == '{' && shallow(text) && json.Valid([]byte(text)):
		return json.RawMessage(text), ""
	case text[0] == '{':
		if object := CloseObject(text); object != nil {
			return object, "the arguments are no JSON object as they stand, and the model is shown their beginning as one"
		}
	}
	wrapped, err := wire.Encode(map[string]string{"INVALID_JSON": text})
	if err != nil { // a string always has a JSON
		wrapped = []byte("{}")
	}
	return wrapped, "the arguments are no JSON object, and the model is shown them as a text"
}

// maxArgumentDepth is how deep arrays and objects of arguments may lie in each other, as in a request.
const maxArgumentDepth = 100

// shallow reports whether arrays and objects in a JSON text lie no deeper than maxArgumentDepth.
func shallow(text string) bool {
	depth, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			if depth++; depth > maxArgumentDepth {
				return false
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return true
}

// CloseObject returns the JSON object that a text begins: members that are not complete are left out, but for a text that is a value, which ends
// with what there is of it. It returns nil if the text begins no object. For example,
//
//	{"a": [1, 2, {"b": "c     becomes     {"a": [1, 2, {"b": "c"}]}
//	{"a": 1, "b":             becomes     {"a": 1}
func CloseObject(text string) json.RawMessage {
	c := closer{text: text}
	for c.at < len(text) && c.step() {
		if len(c.open) > maxArgumentDepth {
			return nil
		}
		if len(c.open) == 0 {
			break
		}
	}
	for _, object := range [][]byte{c.within(), c.whole()} {
		if len(object) > 0 && object[0] == '{' && json.Valid(object) {
			return object
		}
	}
	return nil
}

// closer walks over a text that begins a JSON object. It looks at what it needs, and leaves the rest to json.Valid.
//
// Invariants: open are the ends of the arrays and objects around the place at; the first good bytes of the text, and goodOpen from the last to the
// first behind them, are an object, or good is 0.
type closer struct {
	text     string
	at       int
	open     []byte
	value    bool // what comes next is a value, and no name
	quoted   int  // the beginning of a text that is a value; 0: the walk is not within one
	good     int
	goodOpen []byte
}

// complete notes that a value is complete, or that an array or object has begun.
func (c *closer) complete() { c.good, c.goodOpen = c.at, append(c.goodOpen[:0], c.open...) }

// ends returns what closes arrays and objects, the innermost first.
func ends(open []byte) string {
	list := bytes.Clone(open)
	slices.Reverse(list)
	return string(list)
}

// step goes on behind the next word, text or sign. It reports whether the text may still be JSON.
func (c *closer) step() bool {
	switch sign := c.text[c.at]; sign {
	case ' ', '\t', '\n', '\r':
		c.at++
	case '{', '[':
		c.at++
		c.value = sign == '['
		c.open = append(c.open, sign+2) // '}' or ']'
		c.complete()
	case '}', ']':
		if len(c.open) == 0 || c.open[len(c.open)-1] != sign {
			return false
		}
		c.at++
		c.open = c.open[:len(c.open)-1]
		c.complete()
	case ':':
		c.at++
		c.value = true
	case ',':
		c.at++
		c.value = len(c.open) > 0 && c.open[len(c.open)-1] == ']'
	case '"':
		return c.quote()
	default:
		end := strings.IndexAny(c.text[c.at:], ",]} \t\n\r")
		if end < 0 {
			end = len(c.text) - c.at
		}
		if !c.value || !json.Valid([]byte(c.text[c.at:c.at+end])) {
			return false
		}
		c.at += end
		c.complete()
	}
	return true
}

// quote goes on behind a text.
func (c *closer) quote() bool {
	if c.value {
		c.quoted = c.at
	}
	for i := c.at + 1; i < len(c.text); i++ {
		switch c.text[i] {
		case '\\':
			i++
		case '"':
			c.at, c.quoted = i+1, 0
			if c.value {
				c.complete()
			}
			return true
		}
	}
	c.at = len(c.text)
	return false
}

// within returns the object if the text ends within a text that is a value.
func (c *closer) within() []byte {
	if c.quoted == 0 {
		return nil
	}
	text := c.text
	for cut := len(text); cut > c.quoted && cut >= len(text)-len(`\u0000`); cut-- { // an escape may be cut off
		if object := text[:cut] + `"` + ends(c.open); json.Valid([]byte(object)) {
			return []byte(object)
		}
	}
	return nil
}

// whole returns the object of all that is complete.
func (c *closer) whole() []byte {
	if c.good == 0 {
		return nil
	}
	return []byte(c.text[:c.good] + ends(c.goodOpen))
}

// CustomArguments returns the arguments that stand for what a custom tool was given, a text without a form.
func CustomArguments(input string) (json.RawMessage, error) {
	return wire.Encode(map[string]string{"input": input})
}
