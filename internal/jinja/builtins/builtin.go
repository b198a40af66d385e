package builtins

import (
	"fmt"

	"github.com/antigravity-go/antigravity/internal/jinja/values"
)

// A Builtin is a filter, a test or a method. Unless Rest is set, Do gets one argument for each of Names, in their order. The
// first Need of them must be given, and the others are absent if the call left them out. If Rest is set, Do gets the arguments as the call
// wrote them.
type Builtin struct {
	Names []string // of the parameters
	Need  int      // how many of the parameters have no default
	Rest  bool     // Do sorts the arguments itself
	Do    func(e *Environment, v values.Value, a Args) (values.Value, error)
}

// Call binds the arguments and runs the builtin. An error begins with name, unless it has its place in the template already: such errors
// have a method Located.
func (b *Builtin) Call(e *Environment, name string, v values.Value, a Args) (values.Value, error) {
	if !b.Rest {
		if err := e.TakeValues(len(b.Names) / 4); err != nil {
			return nil, err
		}
		var err error
		if a, err = Bind(a, b.Names, b.Need); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	out, err := b.Do(e, v, a)
	if _, located := err.(interface{ Located() }); err != nil && !located {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return out, err
}

// Method is a method of a value, not called yet.
type Method struct {
	Of   values.Value
	Name string
	Do   *Builtin
}
