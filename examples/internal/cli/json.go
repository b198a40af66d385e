package cli

import (
	"encoding/json"
	"io"
)

// PrintJSON writes a value as one line of JSON, with <, > and & as they are.
func PrintJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}
