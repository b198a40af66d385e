package safetensors

import (
	"bytes"
	"encoding/json"
	"io"
	"math"
	"strconv"

	"github.com/antigravity-go/antigravity/internal/format"
)

// Bounds that real files stay far below. A member takes more memory than its few bytes in the file, so these keep the memory of a header in
// proportion to the file.
const (
	maxMembers = 1 << 16 // of an object: tensors, and entries of the metadata
	maxInts    = 64      // of a list: dimensions
)

// reader reads JSON of a known structure token by token. It reads each byte once and keeps copies, since the bytes may be those of a mapped
// file that another program writes to meanwhile: checked bytes cannot change any more. It refuses anything that the structure does not
// have, so that nothing can nest deeper than the structure does. It also refuses repeated keys; encoding/json would silently take the last
// one.
type reader struct {
	*json.Decoder
	base int64 // the offset of the JSON in the file
}

func newReader(b []byte, base int64) reader {
	r := reader{json.NewDecoder(bytes.NewReader(b)), base}
	r.UseNumber()
	return r
}

func (r reader) errorf(message string, args ...any) error {
	return format.Errorf(r.base+r.InputOffset(), message, args...)
}

// object reads an object, calling member at each value.
func (r reader) object(what string, member func(key string) error) error {
	if err := r.delim('{', what); err != nil {
		return err
	}
	seen := make(map[string]bool)
	for r.More() {
		key, err := r.text("key of " + what)
		if err != nil {
			return err
		}
		if seen[key] {
			return r.errorf("%s has the key %.100q twice", what, key)
		}
		if len(seen) == maxMembers {
			return r.errorf("%s has more than %d members", what, maxMembers)
		}
		seen[key] = true
		if err := member(key); err != nil {
			return err
		}
	}
	return r.delim('}', what)
}

// ints reads an array of integers that are not negative.
func (r reader) ints(what string) ([]int, error) {
	if err := r.delim('[', what); err != nil {
		return nil, err
	}
	list := []int{}
	for r.More() {
		token, err := r.token(what)
		if err != nil {
			return nil, err
		}
		number, _ := token.(json.Number)
		n, err := strconv.ParseUint(string(number), 10, 64)
		if err != nil || n > math.MaxInt {
			return nil, r.errorf("%s holds %.100v, which is no count that this system can hold", what, token)
		}
		if len(list) == maxInts {
			return nil, r.errorf("%s has more than %d numbers", what, maxInts)
		}
		list = append(list, int(n))
	}
	return list, r.delim(']', what)
}

func (r reader) text(what string) (string, error) {
	token, err := r.token(what)
	if err != nil {
		return "", err
	}
	s, ok := token.(string)
	if !ok {
		return "", r.errorf("%s is %.100v, not a string", what, token)
	}
	return s, nil
}

func (r reader) delim(want json.Delim, what string) error {
	token, err := r.token(what)
	if err != nil {
		return err
	}
	if token != want {
		return r.errorf("%s has %.100v where %v belongs", what, token, want)
	}
	return nil
}

func (r reader) token(what string) (json.Token, error) {
	token, err := r.Token()
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return nil, r.errorf("reading %s: %w", what, err)
	}
	return token, nil
}

// end refuses anything but white space after the value.
func (r reader) end() error {
	if token, err := r.Token(); err == nil {
		return r.errorf("%.100v follows the end of the JSON", token)
	} else if err != io.EOF {
		return r.errorf("after the end of the JSON: %w", err)
	}
	return nil
}
