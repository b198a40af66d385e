package main

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/antigravity-go/antigravity/tensor"
)

// Weights have mean 0 and a standard deviation of one over the square root of the row's length, so that a product with
// activations of size 1 gives outputs of size 1 and nothing explodes, however many layers there are.
//
// The blocks of quantised formats are not made by quantising numbers: random bytes are random codes already. Only the scales
// need care. A random byte in the place of a scale chooses one of 256. For example, a block of Q8_0 in rows of 2048 elements:
//
//	random bytes   80 3c | 05 80 ff …   two bytes for the scale, 32 codes
//	scale 0x80     0.000302             of 0.000226 to 0.000377, which are 0.75 to 1.25 times 1/√2048 / 73.3
//	codes          5 -127 -1 …          0x80, -128, becomes -127
//	values         0.0015 -0.038 -0.0003 …
//
// A plain number is the sum of four random bytes: 12 + 200 + 7 + 99 = 318 is 1.3 standard deviations below the mean.

// blockFormat says how to turn random bytes into a well-formed block of values with mean 0.
type blockFormat struct {
	dtype  tensor.DType
	unit   float64            // standard deviation of the values of a block with the scale 1
	signed bool               // the codes are not symmetric about 0: half of the scales are negative
	ratio  float64            // of minimum to scale, in formats that have minimums
	tidy   func(block []byte) // what else random bytes would get wrong; nil: nothing
}

// blockFormats lists the quantised types; layouts are those of GGML. Codes are uniform: those of n levels have a standard
// deviation of n/√12, and a mean that the minimum, or the sign of the scale, takes away.
var blockFormats = []blockFormat{
	{dtype: tensor.Q4_0, unit: 4.61, signed: true},
	{dtype: tensor.Q4_1, unit: 4.61, ratio: -7.5},
	{dtype: tensor.Q8_0, unit: 73.3, tidy: tidyQ8},
	{dtype: tensor.Q4_K, unit: 4.61 * 48.4, ratio: 7.5, tidy: tidySubScales},
	{dtype: tensor.Q5_K, unit: 9.23 * 48.4, ratio: 15.5, tidy: tidySubScales},
	{dtype: tensor.Q6_K, unit: 18.5 * 97, tidy: tidySignedSubScales},
	{dtype: tensor.Q5_0, unit: 9.24, signed: true},
	{dtype: tensor.Q5_1, unit: 9.23, ratio: -15.5},
	{dtype: tensor.IQ4_NL, unit: 67.4, signed: true},
	{dtype: tensor.Q2_K, unit: 1.118 * 11.7, ratio: 1.5, tidy: tidyNibbleScales},
	{dtype: tensor.Q3_K, unit: 2.35 * 18.5, signed: true},
	{dtype: tensor.IQ4_XS, unit: 67.4 * 18.5, signed: true},
	{dtype: tensor.MXFP4, unit: 2.93},
}

// tidyQ8 leaves out −128, which no quantiser gives and a kernel may rely on not to meet.
func tidyQ8(block []byte) {
	for i, b := range block[2:] {
		if b == 0x80 {
			block[2+i] = 0x81
		}
	}
}

// tidySubScales gives a block of Q4_K or Q5_K eight 6-bit scales between 32 and 63, and minimums equal to them. Bytes 4 to 7
// hold the first four scales and, in their upper bits, the upper bits of the last four; 8 to 11 the same of the
// minimums; 12 to 15 the lower halves of the last four scales and minimums.
func tidySubScales(block []byte) {
	for i := range 4 {
		block[4+i] |= 0xA0
		block[8+i] = block[4+i]
		block[12+i] = block[12+i]&0x0F | block[12+i]<<4
	}
}

// tidySignedSubScales gives a block of Q6_K sixteen scales of either sign, between 64 and 127 in magnitude.
func tidySignedSubScales(block []byte) {
	for i, b := range block[192:208] {
		magnitude := int8(b&0x3F | 0x40)
		if b&0x80 != 0 {
			magnitude = -magnitude
		}
		block[192+i] = byte(magnitude)
	}
}

// tidyNibbleScales gives a block of Q2_K sixteen 4-bit scales between 8 and 15, and minimums equal to them.
func tidyNibbleScales(block []byte) {
	for i := range 16 {
		scale := block[i]&15 | 8
		block[i] = scale | scale<<4
	}
}

// fill writes random data of one tensor.
type fill func(dst []byte, random *rand.ChaCha8)

// fillOf chooses how to fill a tensor.
func fillOf(p *planned) (fill, error) {
	deviation, mean := 1/math.Sqrt(float64(p.dims[len(p.dims)-1])), 0.0
	if p.norm {
		deviation, mean = 0.05, 1
	}
	for _, f := range blockFormats {
		if f.dtype == p.dtype {
			return f.fill(deviation)
		}
	}
	return fillNormal(p.dtype, mean, deviation)
}

// scaleSteps is the number of different scales in a tensor: one for each value of a byte.
const scaleSteps = 256

// fillPowers returns a fill for blocks with scales that are powers of two, 2^(e-127) for byte e at a place of the block. Some of the blocks
// have the power below the wanted scale, and the others the one above, so that the squares of the values have the right mean.
func (f *blockFormat) fillPowers(at int, scale float64) fill {
	below := math.Floor(math.Log2(scale))
	above := (math.Pow(scale/math.Exp2(below), 2) - 1) / 3 // the share of blocks: (1-above)·1² + above·2² = (scale/2^below)²
	exponent := byte(max(0, min(below+127, 253)))
	return func(dst []byte, random *rand.ChaCha8) {
		random.Read(dst)
		for ; len(dst) > 0; dst = dst[f.dtype.BlockBytes():] {
			more := float64(dst[at]) < 256*above
			if dst[at] = exponent; more {
				dst[at]++
			}
		}
	}
}

// fill makes a fill for blocks of this format.
func (f *blockFormat) fill(deviation float64) (fill, error) {
	if at, ok := f.dtype.Format().ExponentAt(); ok {
		return f.fillPowers(at, deviation/f.unit), nil
	}
	scales, minimums := make([]float32, scaleSteps), make([]float32, scaleSteps)
	for i := range scales {
		scale := deviation / f.unit * (0.75 + 0.5*float64(i/2)/(scaleSteps/2-1))
		if f.signed && i%2 == 1 {
			scale = -scale
		}
		scales[i], minimums[i] = float32(scale), float32(f.ratio*scale)
	}
	scale16, err := encode(tensor.F16, scales)
	if err != nil {
		return nil, err
	}
	minimum16, err := encode(tensor.F16, minimums)
	if err != nil {
		return nil, err
	}
	size, places := f.dtype.BlockBytes(), f.dtype.Format().ScalesAt()
	return func(dst []byte, random *rand.ChaCha8) {
		random.Read(dst)
		for ; len(dst) > 0; dst = dst[size:] {
			at := 2 * int(dst[places[0]])
			for i, place := range places {
				copy(dst[place:], [...][]byte{scale16, minimum16}[i][at:at+2])
			}
			if f.tidy != nil {
				f.tidy(dst[:size])
			}
		}
	}, nil
}

// normalSteps is the number of sums of four bytes.
const normalSteps = 4*255 + 1

// fillNormal makes a fill for plain numbers. The sum of four random bytes is nearly normal, and has so few values that a
// table can hold them all in the type asked for.
func fillNormal(d tensor.DType, mean, deviation float64) (fill, error) {
	const sumDeviation = 147.8 // √(4·(256²−1)/12)
	values := make([]float32, normalSteps)
	for i := range values {
		values[i] = float32(mean + float64(deviation*(float64(i)-2*255)/sumDeviation))
	}
	table, err := encode(d, values)
	if err != nil {
		return nil, err
	}
	size := d.BlockBytes()
	return func(dst []byte, random *rand.ChaCha8) {
		var bytes [1 << 12]byte
		for len(dst) > 0 {
			draw := bytes[:min(len(bytes), len(dst)/size*4)]
			random.Read(draw)
			for ; len(draw) > 0; draw = draw[4:] {
				at := size * (int(draw[0]) + int(draw[1]) + int(draw[2]) + int(draw[3]))
				copy(dst[:size], table[at:at+size])
				dst = dst[size:]
			}
		}
	}, nil
}

// encode converts numbers to a type.
func encode(d tensor.DType, x []float32) ([]byte, error) {
	format := d.Format()
	if !format.Valid() {
		return nil, fmt.Errorf("cannot make weights of type %v", d)
	}
	n, err := d.Bytes(len(x))
	if err != nil {
		return nil, err
	}
	b := make([]byte, n)
	return b, format.Quantize(b, x)
}

// newRandom returns the generator of one piece of one tensor, so that pieces can be made in any order, on any number of cores.
func newRandom(seed uint64, tensor, piece int) *rand.ChaCha8 {
	var key [32]byte
	binary.LittleEndian.PutUint64(key[0:], seed)
	binary.LittleEndian.PutUint64(key[8:], uint64(tensor))
	binary.LittleEndian.PutUint64(key[16:], uint64(piece))
	return rand.NewChaCha8(key)
}
