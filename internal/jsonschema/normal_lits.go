package jsonschema

// lit says that a value is of a schema, or that it is not: the schema's number times two, plus one for "not".
type lit int32

// anything is true of every value, nothing of none: the schema 0 is schemas.always.
const anything, nothing lit = 0, 1

func is(s *schema) lit { return lit(s.id) << 1 }

func isNot(s *schema) lit { return lit(s.id)<<1 | 1 }

// positive reports whether l says that a value is of the schema.
func (l lit) positive() bool { return l&1 == 0 }

// opposite returns what is true when l is not.
func (l lit) opposite() lit { return l ^ 1 }

var typesOf = [2]typeSet{arrays, objects}

// indices of node.forms
const (
	ofArrays = iota
	ofObjects
)
