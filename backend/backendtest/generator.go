package backendtest

import (
	"encoding/binary"
	"hash/fnv"
	"math"
	"math/rand/v2"

	"github.com/antigravity-go/antigravity/tensor"
)

// generator makes the values of operands.
type generator struct{ *rand.Rand }

// newGenerator makes the generator of a check: its values depend on the seed and on the check, not on what ran before.
func newGenerator(seed uint64, c *Check) generator {
	h := fnv.New64a()
	h.Write([]byte(c.name()))
	return generator{rand.New(rand.NewPCG(seed, h.Sum64()))}
}

// input names a kind of values for an operation's operands.
type input struct {
	name  string
	value func(r *rand.Rand) float32 // of activations
	block func(r *rand.Rand) byte    // of the quants and scales in blocks; nil: any
}

func normal(r *rand.Rand) float32 { return float32(r.NormFloat64()) }

// times returns normal values times a factor.
func times(factor float64) func(r *rand.Rand) float32 {
	return func(r *rand.Rand) float32 { return float32(r.NormFloat64() * factor) }
}

// The inputs. The tiny ones are mostly denormal numbers, the large ones are still within the range of 16-bit floats, and the
// extremes are the lowest and the highest integers that blocks can hold.
var (
	random   = input{name: "random", value: normal}
	zeros    = input{name: "zeros", value: func(*rand.Rand) float32 { return 0 }, block: func(*rand.Rand) byte { return 0 }}
	large    = input{name: "large", value: times(1e4)}
	tiny     = input{name: "denormal", value: times(1e-39)}
	negative = input{name: "negative", value: func(r *rand.Rand) float32 { return float32(-math.Abs(r.NormFloat64())) }}
	equal    = input{name: "equal", value: func(*rand.Rand) float32 { return 0.7 }}
	extremes = input{name: "extremes", value: normal, block: func(r *rand.Rand) byte { return byte(-int8(r.IntN(2))) }}

	inputs = []input{random, zeros, large, tiny, negative, equal}
)

// floats returns n values.
func (g generator) floats(in input, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = in.value(g.Rand)
	}
	return x
}

// weights returns n elements of a type as weights have them. Blocks get random bytes, so that every quant and scale occurs,
// and not only those that a quantiser makes.
func (g generator) weights(d tensor.DType, in input, n int) []byte {
	if !d.Quantized() {
		return encode(d, g.floats(input{value: func(r *rand.Rand) float32 { return in.value(r) / 16 }}, n))
	}
	data := make([]byte, quantBytes(d, n))
	g.fill(data, d, in)
	for at := 0; at < len(data); at += d.BlockBytes() {
		for _, place := range d.Format().ScalesAt() {
			half := uint16(0)
			if in.name != zeros.name {
				half = uint16(0x1000+g.IntN(0x1000)) | uint16(g.IntN(2)<<15) // ±0.0005 … ±0.008
			}
			data[at+place], data[at+place+1] = byte(half), byte(half>>8)
		}
		if place, ok := d.Format().ExponentAt(); ok {
			data[at+place] = 0 // with zeros
			if in.name != zeros.name {
				data[at+place] = byte(116 + g.IntN(5)) // 2^−11 … 2^−7
			}
		}
	}
	return data
}

// fill writes the bytes of blocks.
func (g generator) fill(data []byte, d tensor.DType, in input) {
	if in.block != nil {
		for i := range data {
			data[i] = in.block(g.Rand)
			if d == tensor.Q8_0 && in.name == extremes.name {
				data[i] ^= 0x80 // whole bytes: -128 and 127
			}
		}
		return
	}
	for i := 0; i < len(data); i += 8 {
		for j, bits := i, g.Uint64(); j < min(i+8, len(data)); j, bits = j+1, bits>>8 {
			data[j] = byte(bits)
		}
	}
}

// poison is the byte of memory that must be neither read nor written: NaN in every floating-point type and block scale.
const poison = 0xff

// cache returns slots of heads of a cache type, with the first n filled and the rest poisoned.
func (g generator) cache(d tensor.DType, in input, slots, n, width int) (data []byte, values []float32) {
	data = encode(d, g.floats(in, n*width))
	values = decode(d, data)
	for range quantBytes(d, (slots-n)*width) {
		data = append(data, poison)
	}
	return data, values
}

// quantBytes returns the bytes of n elements, whole blocks.
func quantBytes(d tensor.DType, n int) int { return n / d.BlockLen() * d.BlockBytes() }

// encode stores values, whole blocks, in a type.
func encode(d tensor.DType, x []float32) []byte {
	data := make([]byte, quantBytes(d, len(x)))
	if err := d.Format().Quantize(data, x); err != nil {
		panic(err) // the tables of checks have only types that can be written, and whole blocks
	}
	return data
}

// decode reads the values of a type.
func decode(d tensor.DType, data []byte) []float32 {
	switch d {
	case tensor.U8:
		x := make([]float32, len(data))
		for i, b := range data {
			x[i] = float32(b)
		}
		return x
	case tensor.I32:
		x := make([]float32, len(data)/4)
		for i := range x {
			x[i] = float32(int32(binary.LittleEndian.Uint32(data[4*i:])))
		}
		return x
	}
	x := make([]float32, len(data)/d.BlockBytes()*d.BlockLen())
	if err := d.Format().Dequantize(x, data); err != nil {
		panic(err) // the sizes are whole blocks by construction
	}
	return x
}
