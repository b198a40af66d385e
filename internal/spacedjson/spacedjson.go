// Package spacedjson writes JSON as chat templates and Python do.
package spacedjson

import (
	"bytes"
	"encoding/json"
)

// Marshal returns a value as JSON with a blank after each comma and colon, and without escapes for HTML.
func Marshal(v any) ([]byte, error) {
	var plain bytes.Buffer
	e := json.NewEncoder(&plain)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	var spaced []byte
	text, escaped := false, false
	for _, b := range bytes.TrimSpace(plain.Bytes()) {
		switch {
		case escaped:
			escaped = false
		case text && b == '\\':
			escaped = true
		case b == '"':
			text = !text
		}
		if spaced = append(spaced, b); !text && (b == ',' || b == ':') {
			spaced = append(spaced, ' ')
		}
	}
	return spaced, nil
}
