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

// mayBe returns types that hold all types of a schema's values.
func (c *compiler) mayBe(s *schema) typeSet {
	switch s.typesKnown {
	case begun:
		return everything
	case untouched:
		c.deeper(s)
		defer c.shallower()
		s.typesKnown = begun
		s.may = s.types
		for _, list := range [][]*schema{s.ref, s.allOf} {
			for _, t := range list {
				s.may &= c.mayBe(t)
			}
		}
		for _, list := range [][]*schema{s.anyOf, s.oneOf} {
			if list != nil {
				var any typeSet
				for _, t := range list {
					any |= c.mayBe(t)
				}
				s.may &= any
			}
		}
		for _, list := range s.enums {
			var any typeSet
			c.spend(len(list.values))
			for _, v := range list.values {
				any |= typeOf(v)
			}
			s.may &= any
		}
		s.typesKnown = done
	}
	return s.may
}

// typeOf returns the type of a value; an integer counts as any number.
func typeOf(v *value) typeSet {
	return [...]typeSet{nulls, booleans, integers | fractions, strs, arrays, objects}[v.kind]
}
