package values

import (
	"cmp"
	"math"
	"math/big"

	"github.com/antigravity-go/antigravity/internal/jinja/texts"
)

// Bounds on integers beyond 64 bits.
const (
	MaxBits   = 4096
	MaxDigits = 1234 // decimal digits of as many bits
)

// Number is a number: Float if IsFloat is set; otherwise Big or, if Big is nil, Int.
type Number struct {
	Big     *big.Int
	Int     int64
	Float   float64
	IsFloat bool
}

// NumberOf returns a value as a number, if it is one or, as in Python, a bool.
func NumberOf(v Value) (Number, bool) {
	switch v := v.(type) {
	case int64:
		return Number{Int: v}, true
	case float64:
		return Number{Float: v, IsFloat: true}, true
	case *big.Int:
		return Number{Big: v}, true
	case bool:
		if v {
			return Number{Int: 1}, true
		}
		return Number{}, true
	}
	return Number{}, false
}

// Value returns the number as a Value.
func (x Number) Value() Value {
	switch {
	case x.IsFloat:
		return x.Float
	case x.Big != nil:
		return x.Big
	}
	return x.Int
}

// BigInt is an integer's value in full length.
func (x Number) BigInt() *big.Int {
	if x.Big != nil {
		return x.Big
	}
	return big.NewInt(x.Int)
}

// Float64 is the nearest float.
func (x Number) Float64() float64 {
	switch {
	case x.IsFloat:
		return x.Float
	case x.Big != nil:
		f, _ := new(big.Float).SetInt(x.Big).Float64()
		return f
	}
	return float64(x.Int)
}

// Compare is exact, also between an integer and a float. A NaN is above all numbers.
func (x Number) Compare(y Number) int {
	switch {
	case !x.IsFloat && !y.IsFloat && x.Big == nil && y.Big == nil:
		return cmp.Compare(x.Int, y.Int)
	case x.IsFloat && y.IsFloat || x.IsFloat && (math.IsNaN(x.Float) || math.IsInf(x.Float, 0)) || y.IsFloat && (math.IsNaN(y.Float) || math.IsInf(y.Float, 0)):
		a, b := x.Float64(), y.Float64()
		switch {
		case a < b:
			return -1
		case a == b:
			return 0
		}
		return 1
	}
	if !x.IsFloat && !y.IsFloat {
		return x.BigInt().Cmp(y.BigInt())
	}
	return x.exact().Cmp(y.exact())
}

// work is what comparing with a long integer costs.
func (x Number) work() int {
	if x.Big != nil {
		return 8 * texts.NodeWork
	}
	return 0
}

func (x Number) exact() *big.Float {
	if x.IsFloat {
		return big.NewFloat(x.Float)
	}
	return new(big.Float).SetPrec(MaxBits).SetInt(x.BigInt())
}

// Small is an integer in its smallest form.
func Small(n *big.Int) Value {
	if n.IsInt64() {
		return n.Int64()
	}
	return n
}
