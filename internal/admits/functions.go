package admits

// Functions are the schemas of functions by name. They decide whether a value that was written without quotes is a text (calls.Schemas). They are
// for one goroutine at a time.
type Functions map[string]*arguments

// arguments is the schema of a function's arguments. Parts of it are looked up once.
type arguments struct {
	*Schema
	parts map[string]any // by the parameter's name
}

// Add reads the schema of a function's arguments. A schema that is no JSON says nothing: the parameters may be anything.
func (s Functions) Add(name string, schema []byte) {
	if read, err := Parse(schema); err == nil {
		s[name] = &arguments{read, map[string]any{}}
	}
}

// of returns the schema of a function, and the part of it that is about a parameter; nil for a function without a schema.
func (s Functions) of(function, parameter string) (*arguments, any) {
	schema := s[function]
	if schema == nil {
		return nil, nil
	}
	part, ok := schema.parts[parameter]
	if !ok {
		part = schema.Property(parameter)
		schema.parts[parameter] = part
	}
	return schema, part
}

// Takes reports whether a parameter may have a value. A parameter without a schema takes everything but a text in quotes.
func (s Functions) Takes(function, parameter string, value any) bool {
	schema, part := s.of(function, parameter)
	return schema == nil || schema.Value(part, value)
}

// TakesText reports whether a parameter may have some text.
func (s Functions) TakesText(function, parameter string) bool {
	schema, part := s.of(function, parameter)
	return schema == nil || schema.Text(part)
}
