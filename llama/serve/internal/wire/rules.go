package wire

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
)

// Rule decides about a parameter for which a request's struct has no field.
type Rule struct {
	ignored bool
	neutral []string // values, as compact JSON, that ask for nothing that is not done anyway
	why     string
}

// Rules are the parameters of an interface that are not read, by name. A parameter that has neither a field nor a rule is an error.
type Rules map[string]Rule

// With returns the rules of r and those of more, which come first.
func (r Rules) With(more Rules) Rules {
	all := maps.Clone(r)
	maps.Copy(all, more)
	return all
}

// Without returns the rules of r but for these names: a request's struct has fields for them.
func (r Rules) Without(names ...string) Rules {
	rest := maps.Clone(r)
	for _, name := range names {
		delete(rest, name)
	}
	return rest
}

// Ruled is a struct within a request that has rules of its own.
type Ruled interface{ Rules() Rules }

// Ignored is the rule of parameters that cannot change an answer: a user's name, say.
func Ignored() Rule { return Rule{ignored: true} }

// Refused is the rule of parameters that are not supported, but for these values, which ask for nothing, such as the one that it has when it
// is not given. Numbers are compared as numbers, everything else as it is written, without spaces. why goes on after "… is not supported: ".
func Refused(why string, neutral ...string) Rule { return Rule{why: why, neutral: neutral} }

// passes reports whether a parameter may be in a request: it changes nothing, or asks for nothing.
func (r Rule) passes(value json.RawMessage) bool {
	if r.ignored {
		return true
	}
	var compact bytes.Buffer
	err := json.Compact(&compact, value)
	return err == nil && slices.ContainsFunc(r.neutral, sameAs(compact.String()))
}

// check returns an error if a parameter may not be in a request.
func (r Rule) check(name string, value json.RawMessage) error {
	if r.passes(value) {
		return nil
	}
	if r.why == "" {
		return Unsupported(name, "%s is not supported", name)
	}
	return Unsupported(name, "%s is not supported: %s", name, r.why)
}

// sameAs returns what reports whether a value is the same as one, both as compact JSON. A number may be written in several ways.
func sameAs(one string) func(string) bool {
	number, err := strconv.ParseFloat(one, 64)
	return func(other string) bool {
		if one == other {
			return true
		}
		n, otherErr := strconv.ParseFloat(other, 64)
		return err == nil && otherErr == nil && n == number
	}
}
