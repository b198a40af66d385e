package gguf

import (
	"encoding/binary"
	"fmt"
	"math"
)

// A value is kept as it is encoded in the file, and decoded when it is asked for: a vocabulary of 128,256 tokens costs no strings until
// somebody reads it. For example, the array ["a", "bc"] is
//
//	08 00 00 00                      the elements are strings
//	02 00 00 00 00 00 00 00          there are 2
//	01 00 00 00 00 00 00 00 61       "a"
//	02 00 00 00 00 00 00 00 62 63    "bc"
//
// Strings returns "a" and "bc" as parts of these bytes, without a copy.

// ValueType is the type of a metadata value, numbered as in the file.
type ValueType uint32

// The types of metadata values.
const (
	Uint8Type ValueType = iota
	Int8Type
	Uint16Type
	Int16Type
	Uint32Type
	Int32Type
	Float32Type
	BoolType
	StringType
	ArrayType
	Uint64Type
	Int64Type
	Float64Type
)

// valueTypes has the name and the encoded size in bytes of each type. The size is exact for scalars, and a minimum for
// strings (their length) and arrays (element type and length).
var valueTypes = [...]struct {
	name    string
	minSize int
}{
	Uint8Type:   {"uint8", 1},
	Int8Type:    {"int8", 1},
	Uint16Type:  {"uint16", 2},
	Int16Type:   {"int16", 2},
	Uint32Type:  {"uint32", 4},
	Int32Type:   {"int32", 4},
	Float32Type: {"float32", 4},
	BoolType:    {"bool", 1},
	StringType:  {"string", 8},
	ArrayType:   {"array", 12},
	Uint64Type:  {"uint64", 8},
	Int64Type:   {"int64", 8},
	Float64Type: {"float64", 8},
}

func (t ValueType) known() bool { return int64(t) < int64(len(valueTypes)) }

// String returns the type's name, such as "uint32".
func (t ValueType) String() string {
	if !t.known() {
		return fmt.Sprintf("value type %d", uint32(t))
	}
	return valueTypes[t].name
}

// Value is one metadata value: a number, a truth value, a string, or an array of one of these. It is immutable and keeps
// the encoded form, so that copying a file's metadata changes nothing and a vocabulary is decoded only when asked for.
type Value struct {
	typ     ValueType
	encoded string // the bytes that follow the type in a file, which have been checked
}

// Scalar is what a metadata value, or an element of an array, can be.
type Scalar interface {
	uint8 | int8 | uint16 | int16 | uint32 | int32 | float32 | bool | string | uint64 | int64 | float64
}

// ValueOf makes a value.
func ValueOf[T Scalar](v T) Value {
	typ, encoded := appendScalar(nil, v)
	return Value{typ, string(encoded)}
}

// ArrayOf makes an array.
func ArrayOf[T Scalar](list []T) Value {
	var zero T
	typ, _ := appendScalar(nil, zero)
	b := binary.LittleEndian.AppendUint32(nil, uint32(typ))
	b = binary.LittleEndian.AppendUint64(b, uint64(len(list)))
	for _, v := range list {
		_, b = appendScalar(b, v)
	}
	return Value{ArrayType, string(b)}
}

func appendScalar[T Scalar](b []byte, v T) (ValueType, []byte) {
	le := binary.LittleEndian
	switch v := any(v).(type) {
	case uint8:
		return Uint8Type, append(b, v)
	case int8:
		return Int8Type, append(b, byte(v))
	case uint16:
		return Uint16Type, le.AppendUint16(b, v)
	case int16:
		return Int16Type, le.AppendUint16(b, uint16(v))
	case uint32:
		return Uint32Type, le.AppendUint32(b, v)
	case int32:
		return Int32Type, le.AppendUint32(b, uint32(v))
	case float32:
		return Float32Type, le.AppendUint32(b, math.Float32bits(v))
	case bool:
		if v {
			return BoolType, append(b, 1)
		}
		return BoolType, append(b, 0)
	case uint64:
		return Uint64Type, le.AppendUint64(b, v)
	case int64:
		return Int64Type, le.AppendUint64(b, uint64(v))
	case float64:
		return Float64Type, le.AppendUint64(b, math.Float64bits(v))
	case string:
		return StringType, appendString(b, v)
	}
	panic("gguf: Scalar has a type that appendScalar lacks") // impossible: the cases are Scalar's
}

func appendString(b []byte, s string) []byte {
	return append(binary.LittleEndian.AppendUint64(b, uint64(len(s))), s...)
}

// Type returns the value's type.
func (v Value) Type() ValueType { return v.typ }

// Uint, Int, Float and Bool take a number for a number, whatever the type that a file has it in: programs that write these files do not agree on types, and
// some write a list of one. 16 is also 16.0 and [16], and true is 1. 16.5 is no integer, -1 no Uint, 2 no Bool, and true no number.

// Uint returns a number that is whole and not negative.
func (v Value) Uint() (uint64, bool) {
	v = v.single()
	if n, ok := v.Int(); ok {
		return uint64(n), n >= 0
	}
	if v.typ == Uint64Type { // above the largest int64
		return littleEndian(v.encoded), true
	}
	return 0, false
}

// Int returns a whole number that fits.
func (v Value) Int() (int64, bool) {
	v = v.single()
	return wholeNumber(v.typ, v.encoded)
}

// Float returns a number; whole ones that a float64 has no place for are rounded.
func (v Value) Float() (float64, bool) {
	v = v.single()
	return number(v.typ, v.encoded)
}

// Bool returns a truth value.
func (v Value) Bool() (value, ok bool) {
	v = v.single()
	return truth(v.typ, v.encoded)
}

// single returns the only element of a list of one number or truth value; any other value is returned as it is.
func (v Value) single() Value {
	if elem, n, elements, ok := v.array(); ok && n == 1 && elem != StringType && elem != ArrayType {
		return Value{elem, elements}
	}
	return v
}

// Text returns a string.
func (v Value) Text() (string, bool) {
	if v.typ != StringType {
		return "", false
	}
	return v.encoded[8:], true
}

// Len returns the length of an array, and whether the value is one.
func (v Value) Len() (int, bool) {
	_, n, _, ok := v.array()
	return n, ok
}

// Strings decodes an array of strings; nil for any other value. The strings share memory with the file's metadata, so
// that keeping one keeps all of it.
func (v Value) Strings() []string {
	elem, n, rest, ok := v.array()
	if !ok || elem != StringType {
		return nil
	}
	list := make([]string, n)
	for i := range list {
		end := 8 + int(uint64At(rest))
		list[i], rest = rest[8:end], rest[end:]
	}
	return list
}

// Int32s decodes an array of whole numbers, of any type; nil for any other value, and when an element does not fit.
func (v Value) Int32s() []int32 {
	return decodeArray(v, func(elem ValueType, encoded string) (int32, bool) {
		n, ok := wholeNumber(elem, encoded)
		return int32(n), ok && n == int64(int32(n))
	})
}

// Bytes decodes an array of integers of one byte, whatever their sign; nil for any other value.
func (v Value) Bytes() []byte {
	elem, _, elements, ok := v.array()
	if !ok || elem != Uint8Type && elem != Int8Type {
		return nil
	}
	return []byte(elements)
}

// Bools decodes an array of truth values, or of the numbers 0 and 1; nil for any other value.
func (v Value) Bools() []bool { return decodeArray(v, truth) }

// Float32s decodes an array of numbers, rounding those that a float32 has no place for; nil for any other value.
func (v Value) Float32s() []float32 {
	return decodeArray(v, func(elem ValueType, encoded string) (float32, bool) {
		f, ok := number(elem, encoded)
		return float32(f), ok
	})
}

func decodeArray[T any](v Value, decode func(elem ValueType, encoded string) (T, bool)) []T {
	elem, n, rest, ok := v.array()
	if !ok || elem == StringType || elem == ArrayType {
		return nil
	}
	size := valueTypes[elem].minSize
	list := make([]T, n)
	for i := range list {
		if list[i], ok = decode(elem, rest[i*size:(i+1)*size]); !ok {
			return nil
		}
	}
	return list
}

// array splits an array's encoding into the element type, the number of elements, and the elements.
func (v Value) array() (elem ValueType, n int, elements string, ok bool) {
	if v.typ != ArrayType {
		return 0, 0, "", false
	}
	return ValueType(littleEndian(v.encoded[:4])), int(uint64At(v.encoded[4:])), v.encoded[12:], true
}

func scalarInt(t ValueType, encoded string) (int64, bool) {
	switch t {
	case Uint8Type, Uint16Type, Uint32Type:
		return int64(littleEndian(encoded)), true
	case Int8Type, Int16Type, Int32Type, Int64Type:
		unused := 64 - 8*len(encoded)
		return int64(littleEndian(encoded)<<unused) >> unused, true
	case Uint64Type:
		n := littleEndian(encoded)
		return int64(n), n <= math.MaxInt64
	}
	return 0, false
}

func scalarFloat(t ValueType, encoded string) (float64, bool) {
	switch t {
	case Float32Type:
		return float64(math.Float32frombits(uint32(littleEndian(encoded)))), true
	case Float64Type:
		return math.Float64frombits(littleEndian(encoded)), true
	}
	return 0, false
}

// wholeNumber returns a number of any type that is whole and fits.
func wholeNumber(t ValueType, encoded string) (int64, bool) {
	if f, ok := scalarFloat(t, encoded); ok {
		return int64(f), f == math.Trunc(f) && f >= -1<<63 && f < 1<<63
	}
	return scalarInt(t, encoded)
}

// number returns a number of any type.
func number(t ValueType, encoded string) (float64, bool) {
	if f, ok := scalarFloat(t, encoded); ok {
		return f, true
	}
	if n, ok := scalarInt(t, encoded); ok {
		return float64(n), true
	}
	return float64(littleEndian(encoded)), t == Uint64Type
}

// truth returns a truth value, for which 0 and 1 stand, too.
func truth(t ValueType, encoded string) (value, ok bool) {
	if t == BoolType {
		return encoded == "\x01", true
	}
	n, ok := wholeNumber(t, encoded)
	return n == 1, ok && (n == 0 || n == 1)
}

// uint64At reads the 8 bytes at the beginning of s, in a form that compiles to one load.
func uint64At(s string) uint64 {
	_ = s[7]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

// littleEndian reads an unsigned number of up to 8 bytes.
func littleEndian(s string) (n uint64) {
	for i := len(s) - 1; i >= 0; i-- {
		n = n<<8 | uint64(s[i])
	}
	return n
}
