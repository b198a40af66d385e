package jsonschema

// lit says that a value is of a schema, or that it is not: the schema's number times two, plus one for "not".
type lit int32

// anything is true of every value, nothing of none: the schema 0 is schemas.always.
const anything, nothing lit = 0, 1

func is(s *schema) lit { return lit(s.id) << 1 }

func isNot(s *schema) lit { return lit(s.id)<<1 | 1 }

var typesOf = [2]typeSet{arrays, objects}

// indices of node.forms
const (
	ofArrays = iota
	ofObjects
)
