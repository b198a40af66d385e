package with

import (
	"fmt"
	"math"
	"reflect"
	"slices"

	"github.com/antigravity-go/antigravity/llama"
)

// UnsupportedError names what of a framework's request a model here has no use for: an option, a kind of content, a tool that is no function.
// errors.Is finds llama.ErrUnsupported in it.
type UnsupportedError struct {
	What string // as the framework calls it: "CallOptions.MinLength"
	Want string // the remedy, in words that go on after "it must be"; "": "left out"
}

// Error names it.
func (e *UnsupportedError) Error() string {
	want := e.Want
	if want == "" {
		want = "left out"
	}
	return fmt.Sprintf("with: %s is not supported: it must be %s", e.What, want)
}

// Unwrap returns llama.ErrUnsupported.
func (e *UnsupportedError) Unwrap() error { return llama.ErrUnsupported }

// Rest returns an *UnsupportedError for a field of a framework's struct, or of a pointer to one, that is set, though an adapter reads it not: its
// name is not in read. So a field that a later version of the framework adds is found, too. Fields that are not exported do not count, and
// neither do empty lists and maps. The struct is named as the framework does.
func Rest(name string, options any, read ...string) error {
	v := reflect.ValueOf(options)
	for v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return nil
		}
		v = v.Elem()
	}
	for i := range v.NumField() {
		field, value := v.Type().Field(i), v.Field(i)
		if !field.IsExported() || slices.Contains(read, field.Name) || value.IsZero() {
			continue
		}
		if k := value.Kind(); (k == reflect.Slice || k == reflect.Map) && value.Len() == 0 {
			continue
		}
		return &UnsupportedError{What: name + "." + field.Name}
	}
	return nil
}

// number is a type of numbers.
type number interface {
	~int | ~int32 | ~int64 | ~uint64 | ~float32 | ~float64
}

// Set sets a parameter to what a request says: nothing if from is nil. A number that a whole parameter cannot hold is an error with the
// framework's name of it.
func Set[To, From number](name string, to *To, from *From) error {
	if from == nil {
		return nil
	}
	v := To(*from)
	if f := float64(*from); math.IsNaN(f) || From(v) != *from && reflect.TypeFor[To]().Kind() != reflect.Float32 || math.IsInf(float64(v), 0) {
		return fmt.Errorf("with: %s is %v: it must be %s", name, *from, wants[To]())
	}
	*to = v
	return nil
}

// Positive is Set for parameters with a 0 that would mean no bound: the number must be positive.
func Positive[To, From number](name string, to *To, from *From) error {
	if from != nil && *from <= 0 {
		return fmt.Errorf("with: %s is %v: it must be positive", name, *from)
	}
	return Set(name, to, from)
}

// SetTopP sets the parameter TopP. An explicit 0 keeps the likeliest token alone, while llama.Params would take it for no bound.
func SetTopP[From number](name string, p *llama.Params, from *From) error {
	if from != nil && *from == 0 {
		p.TopK = 1
		return nil
	}
	return Set(name, &p.TopP, from)
}

// wants says which numbers a type holds.
func wants[To number]() string {
	switch reflect.TypeFor[To]().Kind() {
	case reflect.Float32, reflect.Float64:
		return "a finite number"
	}
	return "a whole number"
}

// Said returns a pointer to a value, or nil if it is the zero value: for frameworks with options that are not said if they are 0.
func Said[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}
