package jinja

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
)

// Bounds on integers beyond 64 bits.
const (
	maxBits   = 4096
	maxDigits = 1234 // decimal digits of as many bits
)

// numeric is a number: f if float is set; otherwise n, or i where n is nil.
type numeric struct {
	n     *big.Int
	i     int64
	f     float64
	float bool
}

// number returns a value as a number, if it is one or, as in Python, a bool.
func number(v Value) (numeric, bool) {
	switch v := v.(type) {
	case int64:
		return numeric{i: v}, true
	case float64:
		return numeric{f: v, float: true}, true
	case *big.Int:
		return numeric{n: v}, true
	case bool:
		if v {
			return numeric{i: 1}, true
		}
		return numeric{}, true
	}
	return numeric{}, false
}

func (x numeric) value() Value {
	switch {
	case x.float:
		return x.f
	case x.n != nil:
		return x.n
	}
	return x.i
}

// big is an integer's value in full length.
func (x numeric) big() *big.Int {
	if x.n != nil {
		return x.n
	}
	return big.NewInt(x.i)
}

// float64 is the nearest float.
func (x numeric) float64() float64 {
	switch {
	case x.float:
		return x.f
	case x.n != nil:
		f, _ := new(big.Float).SetInt(x.n).Float64()
		return f
	}
	return float64(x.i)
}

// compare is exact, also between an integer and a float. What is not a number is above all.
func (x numeric) compare(y numeric) int {
	switch {
	case !x.float && !y.float && x.n == nil && y.n == nil:
		return cmp.Compare(x.i, y.i)
	case x.float && y.float || x.float && (math.IsNaN(x.f) || math.IsInf(x.f, 0)) || y.float && (math.IsNaN(y.f) || math.IsInf(y.f, 0)):
		a, b := x.float64(), y.float64()
		switch {
		case a < b:
			return -1
		case a == b:
			return 0
		}
		return 1
	}
	if !x.float && !y.float {
		return x.big().Cmp(y.big())
	}
	return x.exact().Cmp(y.exact())
}

// work is what comparing with a long integer costs.
func (x numeric) work() int {
	if x.n != nil {
		return 8 * nodeWork
	}
	return 0
}

func (x numeric) exact() *big.Float {
	if x.float {
		return big.NewFloat(x.f)
	}
	return new(big.Float).SetPrec(maxBits).SetInt(x.big())
}

var errZero = errors.New("division by zero")

// compute is Python's arithmetic of numbers.
func (e *evaluator) compute(operator string, x, y numeric) (Value, error) {
	if x.float || y.float || operator == "/" || operator == "**" && y.big().Sign() < 0 {
		return computeFloat(operator, x, y)
	}
	if x.n == nil && y.n == nil {
		if v, ok := computeInt(operator, x.i, y.i); ok {
			return v, nil
		}
	}
	a, b := x.big(), y.big()
	if err := e.spend((a.BitLen() + b.BitLen()) * 4); err != nil {
		return nil, err
	}
	n := new(big.Int)
	switch operator {
	case "+":
		n.Add(a, b)
	case "-":
		n.Sub(a, b)
	case "*":
		n.Mul(a, b)
	case "**":
		if a.BitLen() > 1 && (!b.IsInt64() || b.Int64() > int64(maxBits/(a.BitLen()-1))) {
			return nil, errLong
		}
		if a.BitLen() <= 1 { // 0, 1 and -1
			b = new(big.Int).And(b, big.NewInt(1))
			if b.Sign() == 0 && y.big().Sign() != 0 {
				b.SetInt64(2)
			}
		}
		if err := e.spend(64 * maxBits); err != nil {
			return nil, err
		}
		n.Exp(a, b, nil)
	default: // "//", "%": the remainder has the divisor's sign
		if b.Sign() == 0 {
			return nil, errZero
		}
		m := new(big.Int)
		if n.QuoRem(a, b, m); m.Sign() != 0 && m.Sign() != b.Sign() {
			n.Sub(n, big.NewInt(1))
			m.Add(m, b)
		}
		if operator == "%" {
			n = m
		}
	}
	if n.BitLen() > maxBits {
		return nil, errLong
	}
	return small(n), e.take(maxBits/8 + valueBytes)
}

var errLong = fmt.Errorf("an integer of more than %d bits", maxBits)

// computeInt is compute where operands and result fit 64 bits.
func computeInt(operator string, a, b int64) (Value, bool) {
	switch operator {
	case "+":
		return a + b, (a+b > a) == (b > 0)
	case "-":
		return a - b, (a-b < a) == (b > 0)
	case "*":
		return a * b, a == int64(int32(a)) && b == int64(int32(b))
	case "//", "%":
		if b == 0 || b == -1 {
			return nil, false
		}
		q, m := a/b, a%b
		if m != 0 && (m < 0) != (b < 0) {
			q, m = q-1, m+b
		}
		if operator == "%" {
			return m, true
		}
		return q, true
	}
	return nil, false
}

func computeFloat(operator string, x, y numeric) (Value, error) {
	a, b := x.float64(), y.float64()
	if !x.float && math.IsInf(a, 0) && (operator != "/" || y.float) || !y.float && math.IsInf(b, 0) && (operator != "/" || x.float) {
		return nil, errors.New("an integer too large for a float")
	}
	switch operator {
	case "+":
		return a + b, nil
	case "-":
		return a - b, nil
	case "*":
		return a * b, nil
	case "**":
		f := math.Pow(a, b)
		switch {
		case a == 0 && b < 0:
			return nil, errZero
		case math.IsNaN(f) && !math.IsNaN(a) && !math.IsNaN(b):
			return nil, errors.New("a root of a negative number")
		case math.IsInf(f, 0) && !math.IsInf(a, 0) && !math.IsInf(b, 0):
			return nil, errors.New("a result too large for a float")
		}
		return f, nil
	}
	if b == 0 {
		return nil, errZero
	}
	switch operator {
	case "/":
		if !x.float && !y.float && (x.n != nil || y.n != nil || max(x.i, -x.i, y.i, -y.i) > 1<<53 || min(x.i, y.i) == math.MinInt64) {
			f, _ := new(big.Rat).SetFrac(x.big(), y.big()).Float64()
			if math.IsInf(f, 0) {
				return nil, errors.New("a result too large for a float")
			}
			return f, nil
		}
		return a / b, nil
	case "%":
		m, _ := floorMod(a, b)
		return m, nil
	default: // "//"
		_, q := floorMod(a, b)
		return q, nil
	}
}

// floorMod is Python's divmod of floats: the remainder has the divisor's sign.
func floorMod(a, b float64) (mod, quotient float64) {
	mod = math.Mod(a, b)
	div := (a - mod) / b
	if mod != 0 {
		if (b < 0) != (mod < 0) {
			mod += b
			div--
		}
	} else {
		mod = math.Copysign(0, b)
	}
	if div == 0 {
		return mod, math.Copysign(0, a/b)
	}
	quotient = math.Floor(div)
	if div-quotient > 0.5 {
		quotient++
	}
	return mod, quotient
}

// formatFloat is Python's repr of a float: the shortest digits that read back, with an exponent outside of 1e-4 … 1e16.
func formatFloat(f float64) string {
	switch a := math.Abs(f); {
	case math.IsNaN(f) || math.IsInf(f, 0):
		return strings.ToLower(strings.TrimPrefix(strconv.FormatFloat(f, 'f', -1, 64), "+"))
	case a != 0 && (a < 1e-4 || a >= 1e16):
		return strconv.FormatFloat(f, 'e', -1, 64)
	}
	s := strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}
