package jsonschema

// places between the signs of an object or an array.
const (
	atBegin  = iota // before {
	atFirst         // after {
	atMember        // after a comma
	atEnd           // after a member
	places
)
