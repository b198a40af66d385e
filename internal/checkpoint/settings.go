package checkpoint

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/antigravity-go/antigravity/internal/modeljson"
	"github.com/antigravity-go/antigravity/internal/unsupported"
)

// settings are the keys of a file that says how something is computed. Its reader takes each key away that it reads, and those that change no
// result; any other key asks for what nobody does, and is an error with its name. For example, of
//
//	{"pooling_mode": "cls", "include_prompt": true, "new_option": 7}
//
// a reader takes the first two, and rest refuses new_option.
type settings map[string]json.RawMessage

// parseSettings reads an object.
func parseSettings(data []byte) (s settings, err error) {
	err = modeljson.Unmarshal(data, &s)
	return s, err
}

// take reads a key into a variable and takes it away. said reports whether the file has it with a value other than null.
func (s settings) take(key string, into any) (said bool, err error) {
	value, ok := s[key]
	delete(s, key)
	if !ok || string(value) == "null" {
		return false, nil
	}
	if err := modeljson.Unmarshal(value, into); err != nil {
		return false, fmt.Errorf("%s is %.60s, which it cannot be: %w", key, value, err)
	}
	return true, nil
}

// only takes keys of texts away, and refuses values that are not listed.
func (s settings) only(key string, values ...string) error {
	var value string
	if said, err := s.take(key, &value); err != nil || !said || slices.Contains(values, value) {
		return err
	}
	return unsupported.Errorf("%s is %.100q; implemented: %q", key, value, values)
}

// ignore takes keys away that change no result.
func (s settings) ignore(keys ...string) {
	for _, key := range keys {
		delete(s, key)
	}
}

// rest refuses the first key that is left, unless its value asks for nothing.
func (s settings) rest() error {
	for _, key := range slices.Sorted(maps.Keys(s)) {
		if !isEmpty(s[key]) {
			return unsupported.Errorf("%.100s is %.100s, a setting that is not implemented", key, s[key])
		}
	}
	return nil
}

// isEmpty reports whether an option's value asks for nothing.
func isEmpty(value json.RawMessage) bool {
	switch string(bytes.TrimSpace(value)) {
	case "", "null", "false", `""`, "[]", "{}", "0", "0.0":
		return true
	}
	return false
}
