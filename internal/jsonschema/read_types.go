package jsonschema

// typeSet is a set of types of values.
type typeSet uint8

const (
	nulls typeSet = 1 << iota
	booleans
	integers
	fractions // numbers that are not integers
	strs
	arrays
	objects
	everything = 1<<7 - 1
)

// typeNames are the types as schemas name them.
var typeNames = map[string]typeSet{
	"null": nulls, "boolean": booleans, "integer": integers, "number": integers | fractions, "string": strs, "array": arrays, "object": objects,
	"any": everything, // draft 3
}

// typeOf returns the type of a value; an integer counts as any number.
func typeOf(v *value) typeSet {
	return [...]typeSet{nulls, booleans, integers | fractions, strs, arrays, objects}[v.kind]
}
