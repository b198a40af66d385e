package backend

import (
	"iter"
	"reflect"

	"github.com/antigravity-go/antigravity/tensor"
)

// Op is an operation as a value: a pointer to a struct with the operands, such as &RMSNorm{X: x, W: w, Eps: 1e-5}. The structs of this package
// are the operations that programs are made of; each has the formula in its comment. A backend runs them in order, and may have operations of
// its own. An Op that is run again and again is made once: running it allocates nothing.
type Op interface {
	// Check returns an error, which names the operation with the shapes and types of the operands, unless these fit. It looks at no element.
	Check() error
}

// Each checks operations one after the other and computes them. It is the body of a backend's Run, and the only place that checks.
func Each(ops []Op, compute func(op Op) error) error {
	for _, op := range ops {
		if err := op.Check(); err != nil {
			return err
		}
		if err := compute(op); err != nil {
			return err
		}
	}
	return nil
}

// NameOf returns the name of an operation: its type's, such as RMSNorm.
func NameOf(op Op) string { return reflect.TypeOf(op).Elem().Name() }

// Operands returns the tensors of an operation, in the order of its fields, without those that are nil and those of caches.
func Operands(op Op) iter.Seq[*tensor.Tensor] {
	return func(yield func(*tensor.Tensor) bool) { eachTensor(reflect.ValueOf(op).Elem(), yield) }
}

// eachTensor yields the tensors in a value: itself, or those of its fields and elements. It returns false once yield has.
func eachTensor(v reflect.Value, yield func(*tensor.Tensor) bool) bool {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() || !v.CanInterface() {
			return true
		}
		t, ok := v.Interface().(*tensor.Tensor)
		return !ok || yield(t)
	case reflect.Struct:
		for i := range v.NumField() {
			if !eachTensor(v.Field(i), yield) {
				return false
			}
		}
	case reflect.Slice, reflect.Array:
		if k := v.Type().Elem().Kind(); k != reflect.Pointer && k != reflect.Struct {
			return true
		}
		for i := range v.Len() {
			if !eachTensor(v.Index(i), yield) {
				return false
			}
		}
	}
	return true
}
