package matrix

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
)

// maxFile bounds a matrix's file, in bytes.
const maxFile = 1 << 20

// Read reads a matrix: an object of JSON. What it leaves out is as in the matrix of a single run. An error says what would be right.
func Read(r io.Reader) (*Matrix, error) {
	m := standard()
	if err := m.merge(r); err != nil {
		return nil, err
	}
	return m, m.check()
}

// merge reads a file's keys in place of what the matrix has.
func (m *Matrix) merge(r io.Reader) error {
	text, err := io.ReadAll(io.LimitReader(r, maxFile+1))
	if err != nil {
		return err
	}
	if len(text) > maxFile {
		return fmt.Errorf("a matrix is no longer than %d bytes", maxFile)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return fmt.Errorf("a matrix is an object of JSON, such as {\"models\": \"pebble\", \"kv-type\": [\"f16\", \"q8_0\"]}")
	}
	keys := append(m.keys(), key{name: "skip", value: &texts{&m.Skip, ""}})
	seen := map[string]bool{}
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return err
		}
		name, _ := t.(string)
		i := slices.IndexFunc(keys, func(k key) bool { return k.name == name })
		if i < 0 {
			var known []string
			for _, k := range keys {
				known = append(known, k.name)
			}
			return fmt.Errorf("there is no key %q: there are %s", name, strings.Join(known, ", "))
		}
		if seen[name] {
			return fmt.Errorf("the key %s occurs twice", name)
		}
		seen[name] = true
		var raw json.RawMessage
		if err := d.Decode(&raw); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if err := keys[i].value.read(raw); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	if _, err := d.Token(); err != nil { // the closing brace
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return fmt.Errorf("something follows the object")
	}
	return nil
}
