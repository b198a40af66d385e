package normal

import (
	"github.com/antigravity-go/antigravity/internal/jsonschema/internal/read"
)

// lit says that a value is of a schema, or that it is not: the schema's number times two, plus one for "not".
type lit int32

// anything is true of every value, nothing of no value: the schema 0 is Schemas.Always.
const anything, nothing lit = 0, 1

// is says that a value is of s.
func is(s *read.Schema) lit { return lit(s.ID) << 1 }

// isNot says that a value is not of s.
func isNot(s *read.Schema) lit { return lit(s.ID)<<1 | 1 }

// positive reports whether l says that a value is of the schema.
func (l lit) positive() bool { return l&1 == 0 }

// opposite returns the lit that is true if l is not.
func (l lit) opposite() lit { return l ^ 1 }

// typesOf are the types of ofArrays and ofObjects.
var typesOf = [2]read.TypeSet{read.Arrays, read.Objects}

// indices of Node.Forms
const (
	ofArrays = iota
	ofObjects
)
