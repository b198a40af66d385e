package read

import (
	"maps"
	"slices"

	"github.com/antigravity-go/antigravity/internal/jsonschema/internal/document"
)

// TypeSet is a set of types of values.
type TypeSet uint8

const (
	Nulls TypeSet = 1 << iota
	Booleans
	Integers
	Fractions // numbers that are not integers
	Strings
	Arrays
	Objects
	Everything = 1<<7 - 1
)

// typeNames are the types as schemas name them.
var typeNames = map[string]TypeSet{
	"null": Nulls, "boolean": Booleans, "integer": Integers, "number": Integers | Fractions, "string": Strings, "array": Arrays, "object": Objects,
	"any": Everything, // draft 3
}

// TypeNames returns the names of the types, in the order of the alphabet; without any, which is all of them.
func TypeNames() []string {
	names := slices.Sorted(maps.Keys(typeNames))
	return slices.DeleteFunc(names, func(name string) bool { return typeNames[name] == Everything })
}

// TypesOf returns the set of the types that schemas name so.
func TypesOf(names []string) (types TypeSet) {
	for _, name := range names {
		types |= typeNames[name]
	}
	return types
}

// TypeOf returns the type of a value; an integer counts as any number.
func TypeOf(v *document.Value) TypeSet {
	return [...]TypeSet{Nulls, Booleans, Integers | Fractions, Strings, Arrays, Objects}[v.Kind]
}
