package constrain

import (
	"encoding/json"
	"reflect"
)

// SchemaOfType is Schema of a type that only exists while the program runs; wide asks for JSONFor's.
func SchemaOfType(t reflect.Type, wide bool) ([]byte, error) {
	s, err := goSchema(t, wide)
	if err != nil {
		return nil, err
	}
	return json.Marshal(s)
}
