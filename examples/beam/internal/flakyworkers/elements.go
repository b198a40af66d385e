package flakyworkers

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/coder"
	pipepb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/pipeline_v1"
)

// skip reads one value of a coder from r and forgets it.
type skip func(r *bytes.Reader) error

// skipper returns how to find the end of the coder's values. Prism has put whatever coder it does not know into a length prefix, so
// these are all that occur, but for coders of state and timers.
func skipper(id string, coders map[string]*pipepb.Coder) (skip, error) {
	c, ok := coders[id]
	if !ok {
		return nil, fmt.Errorf("the descriptor lacks coder %q", id)
	}
	parts, err := parts(c, coders)
	if err != nil {
		return nil, err
	}
	switch urn := c.GetSpec().GetUrn(); {
	case urn == "beam:coder:bytes:v1", urn == "beam:coder:string_utf8:v1", urn == "beam:coder:length_prefix:v1":
		return skipPrefixed, nil
	case urn == "beam:coder:varint:v1":
		return skipVarint, nil
	case urn == "beam:coder:bool:v1":
		return skipBytes(1), nil
	case urn == "beam:coder:double:v1":
		return skipBytes(8), nil
	case urn == "beam:coder:global_window:v1":
		return skipBytes(0), nil
	case urn == "beam:coder:interval_window:v1": // its end, and how long it is
		return sequence(skipBytes(8), skipVarint), nil
	case urn == "beam:coder:kv:v1" && len(parts) == 2:
		return sequence(parts...), nil
	case urn == "beam:coder:nullable:v1" && len(parts) == 1:
		return func(r *bytes.Reader) error {
			present, err := r.ReadByte()
			if err != nil || present == 0 {
				return err
			}
			return parts[0](r)
		}, nil
	case urn == "beam:coder:iterable:v1" && len(parts) == 1:
		return counted(parts[0]), nil
	case urn == "beam:coder:windowed_value:v1" && len(parts) == 2: // time, windows, pane, value
		return sequence(skipBytes(8), counted(parts[1]), skipPane, parts[0]), nil
	default:
		return nil, fmt.Errorf("cannot find the ends of values of coder %s with %d components", urn, len(parts))
	}
}

// parts returns the skips of a coder's components. The contents of a length prefix need not be known.
func parts(c *pipepb.Coder, coders map[string]*pipepb.Coder) ([]skip, error) {
	if c.GetSpec().GetUrn() == "beam:coder:length_prefix:v1" {
		return nil, nil
	}
	var skips []skip
	for _, id := range c.GetComponentCoderIds() {
		s, err := skipper(id, coders)
		if err != nil {
			return nil, err
		}
		skips = append(skips, s)
	}
	return skips, nil
}

func skipBytes(n int64) skip {
	return func(r *bytes.Reader) error {
		if n < 0 || n > int64(r.Len()) {
			return io.ErrUnexpectedEOF
		}
		_, err := r.Seek(n, io.SeekCurrent)
		return err
	}
}

func skipVarint(r *bytes.Reader) error {
	_, err := coder.DecodeVarInt(r)
	return err
}

func skipPrefixed(r *bytes.Reader) error {
	n, err := coder.DecodeVarInt(r)
	if err != nil {
		return err
	}
	return skipBytes(n)(r)
}

func skipPane(r *bytes.Reader) error {
	_, err := coder.DecodePane(r)
	return err
}

func sequence(parts ...skip) skip {
	return func(r *bytes.Reader) error {
		for _, part := range parts {
			if err := part(r); err != nil {
				return err
			}
		}
		return nil
	}
}

// counted skips values after their number. Iterables that come in pieces (number -1) are refused.
func counted(part skip) skip {
	return func(r *bytes.Reader) error {
		var n int32
		if err := binary.Read(r, binary.BigEndian, &n); err != nil {
			return err
		}
		if n < 0 {
			return errors.New("an iterable without its number of elements")
		}
		for range n {
			before := r.Len()
			if err := part(r); err != nil {
				return err
			}
			if r.Len() == before {
				return nil // values of no bytes (global windows): so are the others
			}
		}
		return nil
	}
}

// first returns the beginning of data that holds its first n elements, or all of data if it has fewer. The result aliases data.
func (s skip) first(data []byte, n int64) ([]byte, error) {
	r := bytes.NewReader(data)
	for i := int64(0); i < n && r.Len() > 0; i++ {
		if err := s(r); err != nil {
			return nil, fmt.Errorf("reading element %d of %d bytes of elements: %w", i, len(data), err)
		}
	}
	return data[:len(data)-r.Len()], nil
}
