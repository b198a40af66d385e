package wire

import (
	"encoding/json"

	"github.com/antigravity-go/antigravity/internal/strictjson"
)

// eachMember calls f for the members of a valid object, in their order, until it returns an error. The values share the object's memory.
func eachMember(object json.RawMessage, f func(name string, value json.RawMessage) error) error {
	r := strictjson.Lenient(object)
	return r.Object(func(name []byte) error {
		key := string(name)
		value, err := r.Value()
		if err != nil {
			return err
		}
		return f(key, value)
	})
}

// eachElement calls f for the elements of a valid array, in their order, until it returns an error. They share the array's memory.
func eachElement(array json.RawMessage, f func(value json.RawMessage) error) error {
	r := strictjson.Lenient(array)
	return r.Array(func() error {
		value, err := r.Value()
		if err != nil {
			return err
		}
		return f(value)
	})
}
