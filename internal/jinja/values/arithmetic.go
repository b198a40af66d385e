package values

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"strings"

	"github.com/antigravity-go/antigravity/internal/jinja/texts"
)

// Python's arithmetic. Integers are int64 until a result does not fit, and big.Int from there on, up to MaxBits. The operator / always
// gives a float; // and % round towards minus infinity, so that the remainder has the divisor's sign:
//
//	7 / 2 = 3.5    7 // -2 = -4    7 % -2 = -1    2 ** -1 = 0.5

var errZero = errors.New("division by zero")

// Compute is Python's arithmetic of numbers.
func (r *Runtime) Compute(operator string, x, y Number) (Value, error) {
	if x.IsFloat || y.IsFloat || operator == "/" || operator == "**" && y.BigInt().Sign() < 0 {
		return computeFloat(operator, x, y)
	}
	if x.Big == nil && y.Big == nil {
		if v, ok := computeInt(operator, x.Int, y.Int); ok {
			return v, nil
		}
	}
	a, b := x.BigInt(), y.BigInt()
	if err := r.Spend((a.BitLen() + b.BitLen()) * 4); err != nil {
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
		if a.BitLen() > 1 && (!b.IsInt64() || b.Int64() > int64(MaxBits/(a.BitLen()-1))) {
			return nil, errLong
		}
		if a.BitLen() <= 1 { // 0, 1 and -1
			b = new(big.Int).And(b, big.NewInt(1))
			if b.Sign() == 0 && y.BigInt().Sign() != 0 {
				b.SetInt64(2)
			}
		}
		if err := r.Spend(64 * MaxBits); err != nil {
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
	if n.BitLen() > MaxBits {
		return nil, errLong
	}
	return Small(n), r.Take(MaxBits/8 + texts.ValueBytes)
}

var errLong = fmt.Errorf("an integer of more than %d bits", MaxBits)

// computeInt is compute if operands and result fit 64 bits.
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

func computeFloat(operator string, x, y Number) (Value, error) {
	a, b := x.Float64(), y.Float64()
	if !x.IsFloat && math.IsInf(a, 0) && (operator != "/" || y.IsFloat) || !y.IsFloat && math.IsInf(b, 0) && (operator != "/" || x.IsFloat) {
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
		if !x.IsFloat && !y.IsFloat && (x.Big != nil || y.Big != nil || max(x.Int, -x.Int, y.Int, -y.Int) > 1<<53 || min(x.Int, y.Int) == math.MinInt64) {
			f, _ := new(big.Rat).SetFrac(x.BigInt(), y.BigInt()).Float64()
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

// ErrPercent is the error of what Python formats by its oldest rules, as no published chat template does: "%s" % x and "%s"|format(x).
var ErrPercent = errors.New("formats with % are not supported in a chat template; the method format is")

// Arithmetic is a operator b.
func (r *Runtime) Arithmetic(operator string, a, b Value) (Value, error) {
	x, isNumber := NumberOf(a)
	y, alsoNumber := NumberOf(b)
	if isNumber && alsoNumber {
		return r.Compute(operator, x, y)
	}
	switch operator {
	case "+":
		switch a := a.(type) {
		case texts.Text:
			if b, ok := b.(texts.Text); ok {
				return r.Concat(texts.Text{}, a, b)
			}
		case *List:
			if b, ok := b.(*List); ok && a.Kind == b.Kind && a.Kind <= Tuple {
				return r.append(a.Kind, 1, a.Items, b.Items)
			}
		}
	case "*":
		if isNumber {
			a, b, y = b, a, x
		}
		n, ok := Index(y.Value())
		if !ok || !isNumber && !alsoNumber {
			break
		}
		switch a := a.(type) {
		case texts.Text:
			return r.Repeat(a, n)
		case *List:
			if a.Kind <= Tuple {
				return r.append(a.Kind, n, a.Items)
			}
		}
	case "%":
		if Is[texts.Text](a) {
			return nil, ErrPercent
		}
	}
	for _, v := range []Value{a, b} {
		if u, ok := v.(Undefined); ok {
			return nil, u.Err()
		}
	}
	return nil, fmt.Errorf("%s %s %s", KindName(a), operator, KindName(b))
}

// append is a list of copies of lists.
func (r *Runtime) append(kind ListKind, copies int, lists ...[]Value) (Value, error) {
	n := 0
	for _, l := range lists {
		n += len(l)
	}
	copies = max(0, copies)
	if n > 0 && copies > texts.MaxMemory/n {
		copies = texts.MaxMemory / n
	}
	if err := r.TakeValues(n * copies / 4); err != nil {
		return nil, err
	}
	out := make([]Value, 0, n*copies)
	for range copies {
		if n == 0 {
			break
		}
		for _, l := range lists {
			out = append(out, l...)
		}
	}
	return ListOf(kind, out), nil
}

// Repeat is n copies of a text.
func (r *Runtime) Repeat(t texts.Text, n int) (texts.Text, error) {
	b := r.Builder()
	if t.String() == "" || n <= 0 {
		return texts.Text{}, nil
	}
	if n > texts.MaxMemory/len(t.String()) {
		n = texts.MaxMemory/len(t.String()) + 1
	}
	b.Reserve(len(t.String())*n, t.SpanCount())
	if o, ok := t.Single(); ok && b.Err == nil {
		block := strings.Repeat(t.String(), min(n, 1+4096/len(t.String()))) // fewer and longer writes
		for ; n*len(t.String()) > len(block); n -= len(block) / len(t.String()) {
			b.Write(block, o)
		}
	}
	for i := 0; i < n && b.Err == nil; i++ {
		b.Add(t)
	}
	return b.Text()
}
