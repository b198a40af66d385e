package constrain

import (
	"context"

	"github.com/antigravity-go/antigravity/internal/grammar"
	"github.com/antigravity-go/antigravity/internal/jsonexpr"
	"github.com/antigravity-go/antigravity/internal/jsonschema"
	"github.com/antigravity-go/antigravity/llama"
)

// JSON allows any JSON value.
func JSON(t *llama.Tokenizer) (llama.Constraint, error) { return JSONSchema(t, []byte("true")) }

// Spaces says how much white space the model writes between the parts of JSON. The less it may choose, the more of an answer is forced: names of
// members, colons and commas are not chosen token by token then.
type Spaces int

// The amounts of white space.
const (
	UsualSpaces Spaces = iota // Free for a schema, Uniform for a type of Go and for the arguments of functions
	Compact                   // no white space: {"a":1,"b":[2,3]}
	OneBlank                  // a blank after each colon and comma, as chat templates and Python write JSON: {"a": 1, "b": [2, 3]}
	Uniform                   // Compact or OneBlank throughout, whichever the model begins with: as it has learned to
	Free                      // any, as the package's documentation says
)

// or returns the amounts that an answer may have throughout, if the usual ones are those of another constant.
func (s Spaces) or(usual Spaces) []jsonexpr.Spaces {
	if s == UsualSpaces {
		s = usual
	}
	switch s {
	case Compact:
		return []jsonexpr.Spaces{jsonexpr.Compact}
	case OneBlank:
		return []jsonexpr.Spaces{jsonexpr.OneBlank}
	case Uniform:
		return []jsonexpr.Spaces{jsonexpr.Compact, jsonexpr.OneBlank}
	}
	return nil
}

// SchemaOptions say how a schema is kept. The zero value promises all of it.
type SchemaOptions struct {
	// Ordered asks for the members of objects in the order of the schema: those of "properties" as they stand there, then others that are
	// required, then the rest. Otherwise they come in any order if the schema lists at most some dozens. A fixed order lets the schema say
	// what the model is to consider first, and answers are quicker since there is less to choose.
	Ordered bool
	// Lossy also accepts a schema with parts that cannot be guaranteed, and leaves these out.
	Lossy bool
	// Spaces is how much white space there is.
	Spaces Spaces
}

// JSONSchema allows the JSON values that fit a JSON Schema of draft 2020-12 or 7: values that its validators accept. What of the schema
// cannot be promised is an *UnsupportedError. See the package's documentation for how values are written.
func JSONSchema(t *llama.Tokenizer, schema []byte) (llama.Constraint, error) {
	c, _, err := JSONSchemaWith(t, schema, SchemaOptions{})
	return c, err
}

// JSONSchemaWith is JSONSchema with options. With Lossy, it returns the keywords that are not guaranteed.
func JSONSchemaWith(t *llama.Tokenizer, schema []byte, o SchemaOptions) (llama.Constraint, []*UnsupportedError, error) {
	return JSONSchemaContext(context.Background(), t, schema, o)
}

// JSONSchemaContext is JSONSchemaWith for schemas that strangers write: when ctx ends, so does the work on the schema, at once, with
// ctx's error. Without that, a schema takes up to about a second.
func JSONSchemaContext(ctx context.Context, t *llama.Tokenizer, schema []byte, o SchemaOptions) (llama.Constraint, []*UnsupportedError, error) {
	var left []*UnsupportedError
	what := "JSON schema"
	if o.Ordered {
		what = "ordered " + what
	}
	if o.Lossy {
		what = "lossy " + what
	}
	budget := jsonschema.NewBudget(ctx)
	c, err := compile(ctx, t, what, append([]byte{byte(o.Spaces)}, schema...), func(l *jsonexpr.Language, g *grammar.Grammar) (s grammar.Symbol, err error) {
		s, left, err = compileSchema(schema, l, g, jsonschema.Options{Spaces: o.Spaces.or(Free), Lossy: o.Lossy, AnyOrder: !o.Ordered, Budget: budget})
		return s, err
	})
	if err != nil {
		return nil, nil, err
	}
	if left != nil {
		c.left = left
	}
	return c, c.left, nil
}
