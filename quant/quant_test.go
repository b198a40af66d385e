package quant_test

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/internal/exact"
	"github.com/antigravity-go/antigravity/internal/fixture"
	"github.com/antigravity-go/antigravity/internal/gguf"
	"github.com/antigravity-go/antigravity/internal/safetensors"
	"github.com/antigravity-go/antigravity/quant"
	"github.com/x448/float16"
)

func TestHalfPrecisionIsExact(t *testing.T) {
	for bits := range 1 << 16 {
		h := uint16(bits)
		src := []byte{byte(h), byte(h >> 8)}
		var got [1]float32
		if err := quant.F16.Dequantize(got[:], src); err != nil {
			t.Fatal(err)
		}
		// By definition: ±mantissa·2^exponent, and x448/float16 for good measure.
		sign, exponent, mantissa := 1.0, int(h>>10&31), float64(h&1023)
		if h>>15 == 1 {
			sign = -1
		}
		want := sign * math.Ldexp(mantissa, -24)
		switch {
		case exponent == 31 && mantissa == 0:
			want = math.Inf(int(sign))
		case exponent == 31:
			want = math.NaN()
		case exponent > 0:
			want = sign * math.Ldexp(1024+mantissa, exponent-25)
		}
		if math.IsNaN(want) != math.IsNaN(float64(got[0])) || !math.IsNaN(want) && float64(got[0]) != want {
			t.Fatalf("%#04x is %g, want %g", h, got[0], want)
		}
		if other := float16.Frombits(h).Float32(); math.Float32bits(other) != math.Float32bits(got[0]) {
			t.Fatalf("%#04x is %#08x, by float16 %#08x", h, math.Float32bits(got[0]), math.Float32bits(other))
		}
		back := make([]byte, 2)
		if err := quant.F16.Quantize(back, got[:]); err != nil {
			t.Fatal(err)
		}
		if again := uint16(back[0]) | uint16(back[1])<<8; again != h && !math.IsNaN(want) {
			t.Fatalf("%#04x came back as %#04x", h, again)
		}
	}
}

func TestHalfPrecisionRoundsToNearestEven(t *testing.T) {
	back := func(v float32) uint16 {
		b := make([]byte, 2)
		if err := quant.F16.Quantize(b, []float32{v}); err != nil {
			t.Fatal(err)
		}
		return uint16(b[0]) | uint16(b[1])<<8
	}
	for h := uint16(0); h < 0x7c00; h++ { // between each number and the next
		lo, hi := float64(float16.Frombits(h).Float32()), float64(float16.Frombits(h+1).Float32())
		if h == 0x7bff {
			hi = 65536 // where infinity would be
		}
		middle := float32((lo + hi) / 2)
		even := h + h&1
		for _, c := range []struct {
			v    float32
			want uint16
		}{{middle, even}, {math.Nextafter32(middle, 0), h}, {math.Nextafter32(middle, 1e9), h + 1}} {
			if got := back(c.v); got != c.want {
				t.Fatalf("%g became %#04x, want %#04x", c.v, got, c.want)
			}
			if got := back(-c.v); got != c.want|1<<15 {
				t.Fatalf("%g became %#04x, want %#04x", -c.v, got, c.want|1<<15)
			}
		}
	}
}

func TestBF16Rounds(t *testing.T) {
	for _, c := range []struct {
		in   uint32
		want uint16
	}{
		{0x3f800000, 0x3f80}, {0x3f808000, 0x3f80}, {0x3f808001, 0x3f81}, {0x3f818000, 0x3f82}, {0x7f7fffff, 0x7f80},
		{0xff800000, 0xff80}, {0x7f800001, 0x7fc0}, {0x80000000, 0x8000}, {0x00008000, 0}, {0x00018000, 2},
	} {
		b := make([]byte, 2)
		if err := quant.BF16.Quantize(b, []float32{math.Float32frombits(c.in)}); err != nil {
			t.Fatal(err)
		}
		if got := uint16(b[0]) | uint16(b[1])<<8; got != c.want {
			t.Errorf("%#08x became %#04x, want %#04x", c.in, got, c.want)
		}
	}
}

// checkpoint reads Pebble's weights by GGUF's names, rows of q and k permuted as there, narrowed to f16 and widened again.
func checkpoint(t *testing.T) map[string][]float32 {
	t.Helper()
	data, err := os.ReadFile(fixture.Path(t, "pebble/hf/model.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	f, err := safetensors.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	names := strings.NewReplacer("model.layers.", "blk.", "self_attn.q_proj", "attn_q", "self_attn.k_proj", "attn_k",
		"self_attn.v_proj", "attn_v", "self_attn.o_proj", "attn_output", "mlp.gate_proj", "ffn_gate", "mlp.up_proj", "ffn_up",
		"mlp.down_proj", "ffn_down", "model.embed_tokens", "token_embd")
	weights := map[string][]float32{}
	for _, stored := range f.Tensors() {
		if len(stored.Shape) != 2 {
			continue
		}
		w := make([]float32, stored.Shape[0]*stored.Shape[1])
		if err := quant.BF16.Dequantize(w, stored.Data); err != nil {
			t.Fatal(err)
		}
		half := make([]byte, 2*len(w))
		if err := quant.F16.Quantize(half, w); err != nil {
			t.Fatal(err)
		}
		if err := quant.F16.Dequantize(w, half); err != nil {
			t.Fatal(err)
		}
		name := names.Replace(stored.Name)
		if strings.Contains(name, "attn_q") || strings.Contains(name, "attn_k") {
			w = permute(w, stored.Shape[1])
		}
		weights[name] = w
	}
	return weights
}

// permute orders the rows of heads of 64 as llama.cpp's converter does.
func permute(w []float32, cols int) []float32 {
	const headDim = 64
	out := make([]float32, 0, len(w))
	for head := 0; head < len(w)/cols; head += headDim {
		for pair := range headDim / 2 {
			for half := range 2 {
				row := head + half*headDim/2 + pair
				out = append(out, w[row*cols:(row+1)*cols]...)
			}
		}
	}
	return out
}

// TestQuantizeEqualsLlamaCpp compares with the tensors of files that llama.cpp's tools wrote, by their SHA-256.
func TestQuantizeEqualsLlamaCpp(t *testing.T) {
	raw, err := os.ReadFile("testdata/llamacpp-sha256.json")
	if err != nil {
		t.Fatal(err)
	}
	var want map[string]map[string]string
	if err := json.Unmarshal(raw, &want); err != nil {
		t.Fatal(err)
	}
	weights := checkpoint(t)
	for _, f := range []quant.Format{quant.Q4_0, quant.Q4_1, quant.Q8_0} {
		tensors := want[strings.ToUpper(f.String())]
		if len(tensors) < 50 {
			t.Fatalf("%s: only %d tensors to compare", f, len(tensors))
		}
		for name, sum := range tensors {
			w := weights[strings.TrimSuffix(name, ".weight")+".weight"]
			b := make([]byte, f.Bytes(len(w)))
			if err := f.Quantize(b, w); err != nil {
				t.Fatal(err)
			}
			if got := sha256.Sum256(b); hex.EncodeToString(got[:]) != sum {
				t.Errorf("%s %s (%d elements) differs", f, name, len(w))
			}
		}
	}
}

// TestKQuantsOfLlamaCpp reads a Q4_K_M file and compares with the weights that it was made from.
func TestKQuantsOfLlamaCpp(t *testing.T) {
	data, err := os.ReadFile(fixture.Path(t, "pebble/gguf/pebble-Q4_K_M.gguf"))
	if err != nil {
		t.Fatal(err)
	}
	f, err := gguf.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	weights := checkpoint(t)
	seen := map[string]int{}
	for _, stored := range f.Tensors() {
		format, tolerance := map[string]quant.Format{"Q4_K": quant.Q4_K, "Q6_K": quant.Q6_K}[stored.Type.String()], 0.0
		switch format {
		case quant.Q4_K:
			tolerance = 0.09
		case quant.Q6_K:
			tolerance = 0.025
		default:
			continue
		}
		seen[format.String()]++
		w := weights[stored.Name]
		got := make([]float32, len(w))
		if err := format.Dequantize(got, stored.Data); err != nil {
			t.Fatal(err)
		}
		var square, errorSquare float64
		for i, v := range w {
			square += float64(v) * float64(v)
			errorSquare += (float64(v) - float64(got[i])) * (float64(v) - float64(got[i]))
		}
		if e := math.Sqrt(errorSquare / square); e > tolerance {
			t.Errorf("%s %s: relative error %.3f", format, stored.Name, e)
		}
	}
	if seen["q4_k"] < 10 || seen["q6_k"] < 5 {
		t.Errorf("tensors seen: %v", seen)
	}
}

// TestDequantizeEqualsReference reads files of the types that other programs write, and compares each tensor with what the gguf
// package for Python makes of it, by the SHA-256 of its values.
func TestDequantizeEqualsReference(t *testing.T) {
	raw, err := os.ReadFile(fixture.Path(t, "quants/dequantised.json"))
	if err != nil {
		t.Fatal(err)
	}
	var want map[string]map[string]string
	if err := json.Unmarshal(raw, &want); err != nil {
		t.Fatal(err)
	}
	seen := map[quant.Format]int{}
	for name, sums := range want {
		data, err := os.ReadFile(fixture.Path(t, "quants/"+name))
		if err != nil {
			t.Fatal(err)
		}
		f, err := gguf.Parse(data)
		if err != nil {
			t.Fatal(err)
		}
		for _, stored := range f.Tensors() {
			sum, ok := sums[stored.Name]
			if !ok {
				continue
			}
			format := stored.Type.DType().Format()
			values := make([]float32, stored.Shape[0]*stored.Shape[1])
			if err := format.Dequantize(values, stored.Data); err != nil {
				t.Fatal(err)
			}
			hash := sha256.New()
			if err := binary.Write(hash, binary.LittleEndian, values); err != nil {
				t.Fatal(err)
			}
			if got := hex.EncodeToString(hash.Sum(nil)); got != sum {
				t.Errorf("%s: %s %s differs", name, format, stored.Name)
			}
			seen[format]++
		}
	}
	for _, f := range []quant.Format{quant.Q5_0, quant.Q5_1, quant.IQ4_NL, quant.Q2_K, quant.Q3_K, quant.IQ4_XS} {
		if seen[f] < 9 {
			t.Errorf("%s: %d tensors seen", f, seen[f])
		}
	}
}

// nonlinear4 are the values of the nibbles of IQ4_NL and IQ4_XS, of ggml-common.h.
var nonlinear4 = [16]float64{-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113}

// element computes one element of a block from the format's definition, in float64.
func element(f quant.Format, b []byte, i int) float64 {
	f16 := func(at int) float64 {
		return float64(float16.Frombits(uint16(b[at]) | uint16(b[at+1])<<8).Float32())
	}
	nibble := func(at, i int) float64 { return float64(b[at+i%16] >> (i / 16 * 4) & 15) }
	group := func() (scale, min float64) { // of Q4_K and Q5_K
		s, g := b[4:16], i/32
		if g < 4 {
			return float64(s[g] & 63), float64(s[g+4] & 63)
		}
		return float64(s[g+4]&15 | s[g-4]>>6<<4), float64(s[g+4]>>4 | s[g]>>6<<4)
	}
	switch f {
	case quant.Q4_0:
		return (nibble(2, i) - 8) * f16(0)
	case quant.Q4_1:
		return nibble(4, i)*f16(0) + f16(2)
	case quant.Q8_0:
		return float64(int8(b[2+i])) * f16(0)
	case quant.Q4_K:
		scale, min := group()
		q := b[16+i/64*32+i%32] >> (i / 32 % 2 * 4) & 15
		return f16(0)*scale*float64(q) - f16(2)*min
	case quant.Q5_K:
		scale, min := group()
		q := b[48+i/64*32+i%32]>>(i/32%2*4)&15 | b[16+i%32]>>(i/32)&1<<4
		return f16(0)*scale*float64(q) - f16(2)*min
	case quant.Q6_K:
		half, in := i/128, i%128
		q := int(b[half*64+in%64]>>(in/64*4)&15) | int(b[128+half*32+in%32]>>(in/32*2)&3)<<4
		return f16(208) * float64(int8(b[192+i/16])) * float64(q-32)
	}
	five := func(qh int) float64 { return nibble(qh+4, i) + float64(b[qh+i/8]>>(i%8)&1)*16 }
	pair := func(qs int) float64 { return float64(b[qs+i/128*32+i%32] >> (i / 32 % 4 * 2) & 3) }
	nonlinear := func(qs, i int) float64 { return nonlinear4[b[qs+i%16]>>(i/16*4)&15] }
	switch f {
	case quant.Q5_0:
		return (five(2) - 16) * f16(0)
	case quant.Q5_1:
		return five(4)*f16(0) + f16(2)
	case quant.MXFP4: // a sign, two bits of an exponent, one of a fraction
		q := b[1+i%16] >> (i / 16 * 4) & 15
		v := float64(q&1) / 2
		if exponent := int(q >> 1 & 3); exponent > 0 {
			v = math.Ldexp(1+v, exponent-1)
		}
		if q&8 != 0 {
			v = -v
		}
		return math.Ldexp(v, int(b[0])-127)
	case quant.IQ4_NL:
		return nonlinear(2, i) * f16(0)
	case quant.Q2_K:
		return f16(80)*float64(b[i/16]&15)*pair(16) - f16(82)*float64(b[i/16]>>4)
	case quant.Q3_K:
		g := i / 16
		scale := int(b[96+g%8]>>(g/8*4)&15) | int(b[104+g%4]>>(g/4*2)&3)<<4
		return f16(108) * float64(scale-32) * (pair(32) + float64(b[i%32]>>(i/32)&1)*4 - 4)
	case quant.IQ4_XS:
		g := i / 32
		scale := int(b[4+g/2]>>(g%2*4)&15) | int(b[2+g/4]>>(g%4*2)&3)<<4
		return f16(0) * float64(scale-32) * nonlinear(8+16*g, i%32)
	}
	panic(f)
}

// quantized are the formats in blocks.
var quantized = slices.DeleteFunc(quant.Formats(), func(f quant.Format) bool { return f.BlockLen() == 1 })

// randomRow returns random blocks with ordinary numbers as scales.
func randomRow(r *rand.Rand, f quant.Format, n int) []byte {
	b := make([]byte, f.Bytes(n))
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	for at := 0; at < len(b); at += f.BlockBytes() {
		for _, place := range f.ScalesAt() {
			h := float16.Fromfloat32(float32(r.NormFloat64()) * 0.1)
			b[at+place], b[at+place+1] = byte(h), byte(h>>8)
		}
		if place, ok := f.ExponentAt(); ok {
			b[at+place] = byte(116 + r.IntN(12))
		}
	}
	return b
}

func TestDequantizeByDefinition(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, f := range quantized {
		row := randomRow(r, f, 20*256)
		got := make([]float32, 20*256)
		if err := f.Dequantize(got, row); err != nil {
			t.Fatal(err)
		}
		for i, v := range got {
			b := row[i/f.BlockLen()*f.BlockBytes():]
			if want := element(f, b, i%f.BlockLen()); math.Abs(float64(v)-want) > 1e-6*(math.Abs(want)+1) {
				t.Fatalf("%s: element %d is %g, want %g", f, i, v, want)
			}
		}
	}
}

func TestActivation(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	inf := float32(math.Inf(1))
	for _, form := range []quant.ActivationForm{quant.Int8x32, quant.Int8x256} {
		for _, c := range []struct {
			name string
			fill func(i int) float32
		}{
			{"normal", func(int) float32 { return float32(r.NormFloat64()) }},
			{"zero", func(int) float32 { return 0 }},
			{"subnormal", func(i int) float32 { return math.Float32frombits(uint32(i % 7)) }},
			{"huge", func(i int) float32 { return 3e38 * float32(i%3-1) }},
			{"NaN and infinity", func(i int) float32 { return []float32{1, float32(math.NaN()), inf, -inf}[i%4] }},
			{"halves", func(i int) float32 { return float32(i%255-127) / 2 }},
		} {
			const k = 512
			x := make([]float32, k)
			for i := range x {
				x[i] = c.fill(i)
			}
			var a quant.Activation
			a.Reserve(form, 2, k)
			a.Prepare(1, x)
			row := a.Row(1)
			for b, d := range row.D {
				n := form.BlockLen()
				for i, v := range x[b*n : (b+1)*n] {
					q := row.Q[b*n+i]
					if q == -128 {
						t.Errorf("%s: -128 occurs", c.name)
					}
					if want := math.RoundToEven(float64(v) / float64(d)); c.name == "normal" && math.Abs(float64(q)-want) > 1 {
						t.Errorf("%s: %g is %d·%g", c.name, v, q, d)
					}
				}
			}
			for g, sum := range row.Sums {
				n, want := form.GroupLen(), int32(0)
				for _, q := range row.Q[g*n : (g+1)*n] {
					want += int32(q)
				}
				if sum != want {
					t.Errorf("%s: sum %d is %d, want %d", c.name, g, sum, want)
				}
			}
			for lo := 0; lo < k; lo += k / 2 {
				part := a.Columns(0, lo, lo+k/2)
				part.Prepare(0, x[lo:lo+k/2])
			}
			if other := a.Row(0); !slices.Equal(other.Q, row.Q) || !slices.Equal(other.Sums, row.Sums) || !slices.EqualFunc(other.D, row.D, sameBits) {
				t.Errorf("%s: a row in two parts has other bits", c.name)
			}
		}
	}
}

// sameBits compares numbers that may be NaN.
func sameBits(a, b float32) bool { return math.Float32bits(a) == math.Float32bits(b) }

// dotByContract computes a dot product from the contract in the package's documentation and the elements' definitions.
func dotByContract(f quant.Format, w []byte, a quant.Activation) (acc float32) {
	if f.ActivationForm() == quant.Float {
		wide := make([]float32, a.K)
		_ = f.Dequantize(wide, w)
		for i, v := range wide {
			acc = exact.FMA(v, a.X[i], acc)
		}
		return acc
	}
	for b := range a.D {
		block := append([]byte(nil), w[b*f.BlockBytes():(b+1)*f.BlockBytes()]...)
		scale := func(at int, set uint16) float32 { // reads a scale, and replaces it
			h := uint16(block[at]) | uint16(block[at+1])<<8
			block[at], block[at+1] = byte(set), byte(set>>8)
			return float16.Frombits(h).Float32()
		}
		const one, zero = 0x3c00, 0
		places := f.ScalesAt()
		m, minimum := float32(0), len(places) > 1
		var d float32
		if at, ok := f.ExponentAt(); ok { // elements are halves: see element
			d, block[at] = float32(math.Ldexp(1, int(block[at])-128)), 128
		} else {
			d = scale(places[0], one)
		}
		if minimum {
			m = scale(places[1], zero)
		}
		if f.ActivationForm() == quant.Int8x256 {
			m = -m
		}
		isum, msum := 0.0, 0.0
		for i := range f.BlockLen() {
			isum += element(f, block, i) * float64(a.Q[b*f.BlockLen()+i])
		}
		acc = exact.FMA(d*a.D[b], float32(isum), acc)
		if !minimum {
			continue
		}
		groups := f.ActivationForm() == quant.Int8x256
		if groups { // the minimums alone: d 0, dmin −1 gives +min
			copy(block[places[0]:], []byte{0, 0, 0x00, 0xbc})
		}
		for i := range f.BlockLen() {
			v := 1.0
			if groups {
				v = element(f, block, i)
			}
			msum += v * float64(a.Q[b*f.BlockLen()+i])
		}
		acc = exact.FMA(m*a.D[b], float32(msum), acc)
	}
	return acc
}

func TestDotRowsKeepsTheContract(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	const k, rows = 512, 7
	for _, f := range quant.Formats() {
		for _, tokens := range []int{1, 3} {
			w := randomRow(r, f, rows*k)
			if f.ActivationForm() == quant.Float {
				x := make([]float32, rows*k)
				for i := range x {
					x[i] = float32(r.NormFloat64())
				}
				if err := f.Quantize(w, x); err != nil {
					t.Fatal(err)
				}
			}
			var a quant.Activation
			a.Reserve(f.ActivationForm(), tokens, k)
			x := make([]float32, tokens*k)
			for i := range x {
				x[i] = float32(r.NormFloat64())
			}
			a.X = x
			for token := range tokens {
				a.Prepare(token, x[token*k:(token+1)*k])
			}
			const stride, guard = rows + 2, 12345
			out := make([]float32, tokens*stride)
			for i := range out {
				out[i] = guard
			}
			f.DotRows(out, stride, w, f.Bytes(k), rows, &a)
			for i, got := range out {
				token, row := i/stride, i%stride
				want := float32(guard)
				if row < rows {
					want = dotByContract(f, w[row*f.Bytes(k):(row+1)*f.Bytes(k)], a.Row(token))
				}
				if math.Float32bits(got) != math.Float32bits(want) {
					t.Fatalf("%s, token %d, row %d: %g, want %g", f, token, row, got, want)
				}
			}
		}
	}
}

func TestLengthsAreChecked(t *testing.T) {
	for _, f := range quant.Formats() {
		n := f.BlockLen()
		good, short := make([]byte, f.BlockBytes()), make([]byte, f.BlockBytes()-1)
		if err := f.Dequantize(make([]float32, n), good); err != nil {
			t.Errorf("%s: %v", f, err)
		}
		if err := f.Dequantize(make([]float32, n), short); err == nil {
			t.Errorf("%s: a short block was read", f)
		}
		if err := f.Dequantize(make([]float32, n+1), good); err == nil {
			t.Errorf("%s: more elements than the block has", f)
		}
		if err := f.Quantize(good, make([]float32, n)); err != nil {
			t.Errorf("%s: quantize: %v", f, err)
		}
	}
}

// FuzzBlocks reads arbitrary bytes as every format, multiplies them, and rounds the numbers again.
func FuzzBlocks(f *testing.F) {
	f.Add([]byte("0123456789abcdefghijklmnopqrstuvwxyz"), float32(1))
	f.Fuzz(func(t *testing.T, data []byte, x float32) {
		for _, format := range quant.Formats() {
			n := len(data) / format.BlockBytes() * format.BlockLen() / 256 * 256
			if n == 0 {
				continue
			}
			w, values := data[:format.Bytes(n)], make([]float32, n)
			if err := format.Dequantize(values, w); err != nil {
				t.Fatal(err)
			}
			var a quant.Activation
			a.Reserve(format.ActivationForm(), 1, n)
			values[0] = x
			a.X = values
			a.Prepare(0, values)
			format.DotRows(make([]float32, 1), 1, w, len(w), 1, &a)
			for _, to := range quant.Formats() {
				if err := to.Quantize(make([]byte, to.Bytes(n)), values); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
}

func BenchmarkDotRows(b *testing.B) {
	const k, rows = 2048, 64
	r := rand.New(rand.NewPCG(7, 8))
	for _, f := range quant.Formats() {
		for _, tokens := range []int{1, 16} {
			b.Run(fmt.Sprintf("%s/%d", f, tokens), func(b *testing.B) {
				w := randomRow(r, f, rows*k)
				if f.ActivationForm() == quant.Float {
					x := make([]float32, rows*k)
					for i := range x {
						x[i] = float32(r.NormFloat64())
					}
					if err := f.Quantize(w, x); err != nil {
						b.Fatal(err)
					}
				}
				var a quant.Activation
				a.Reserve(f.ActivationForm(), tokens, k)
				a.X = make([]float32, tokens*k)
				for i := range a.X {
					a.X[i] = float32(r.NormFloat64())
				}
				for t := range tokens {
					a.Prepare(t, a.X[t*k:(t+1)*k])
				}
				out := make([]float32, tokens*rows)
				b.SetBytes(int64(len(w)))
				for b.Loop() {
					f.DotRows(out, rows, w, f.Bytes(k), rows, &a)
				}
				b.ReportMetric(float64(tokens*rows*k)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GMAC/s")
			})
		}
	}
}

// TestNoFormat calls every method of invalid formats: they return errors and zeros and do not panic.
func TestNoFormat(t *testing.T) {
	for _, f := range []quant.Format{0, quant.BF16 + 1, 100, 255} {
		if f.Valid() || f.ScalesAt() != nil || f.Bytes(100) != 0 || f.BlockLen() != 1 || f.BlockBytes() != 0 || f.String() != "none" {
			t.Errorf("%d: %v, blocks of %d in %d bytes", uint8(f), f, f.BlockLen(), f.BlockBytes())
		}
		for _, n := range []int{0, 32} {
			if f.Dequantize(make([]float32, n), nil) == nil || f.Quantize(nil, make([]float32, n)) == nil {
				t.Errorf("%d: %d elements were converted", uint8(f), n)
			}
		}
		a := quant.Activation{Rows: 1, K: 3, X: []float32{1, 2, 3}}
		out := []float32{1}
		if f.DotRows(out, 1, nil, 0, 1, &a); out[0] != 0 {
			t.Errorf("%d: a product of %v", uint8(f), out[0])
		}
	}
}

// TestDamageShows multiplies activations with a NaN, or an infinity, anywhere: the product is NaN in every format.
func TestDamageShows(t *testing.T) {
	const k = 512
	for _, damage := range []float32{float32(math.NaN()), -float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1))} {
		for _, f := range quantized {
			x, w := make([]float32, k), make([]byte, f.Bytes(k))
			for i := range x {
				x[i] = float32(i%9) - 4
			}
			if err := f.Quantize(w, x); err != nil {
				t.Fatal(err)
			}
			for _, at := range []int{0, 1, 31, 32, 77, 255, 256, k - 1} {
				was := x[at]
				x[at] = damage
				var a quant.Activation
				a.Reserve(f.ActivationForm(), 1, k)
				a.Prepare(0, x)
				x[at] = was
				var out [1]float32
				row := a.Row(0)
				f.DotRows(out[:], 0, w, len(w), 1, &row)
				if out[0] == out[0] {
					t.Errorf("%s: with %g at %d the product is %g", f, damage, at, out[0])
				}
			}
		}
	}
}

// TestScalesAt sets the numbers of blocks that ScalesAt finds to 0: all elements are 0 then.
func TestScalesAt(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	for _, f := range quantized {
		block, values := randomRow(r, f, f.BlockLen()), make([]float32, f.BlockLen())
		if _, ok := f.ExponentAt(); ok {
			continue // a power of two is not 0
		}
		for _, at := range f.ScalesAt() {
			block[at], block[at+1] = 0, 0
		}
		if err := f.Dequantize(values, block); err != nil || slices.ContainsFunc(values, func(v float32) bool { return v != 0 }) {
			t.Errorf("%s: %v, %v", f, values, err)
		}
	}
}
