package panels_test

import (
	"crypto/sha256"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"github.com/antigravity-go/antigravity/asm"
	"github.com/antigravity-go/antigravity/asm/internal/asmtest"
	"github.com/antigravity-go/antigravity/asm/internal/panels"
	"github.com/antigravity-go/antigravity/internal/effort"
	"github.com/antigravity-go/antigravity/quant"
)

// panelsOf lists a tier's panels.
func panelsOf(k *asm.Kernels) (list []*panels.Panels) {
	for _, f := range quant.Formats() {
		if p := k.PanelsFor(f); p != nil {
			list = append(list, p)
		}
	}
	return list
}

// forPanels runs a subtest for each format that a tier has panels for. A format's tiers follow one another: what they multiply is the same,
// so that they share references.
func forPanels(t *testing.T, test func(t *testing.T, p *panels.Panels)) {
	for _, f := range quant.Formats() {
		clear(references)
		for _, k := range asm.Tiers() {
			if p := k.PanelsFor(f); p != nil {
				t.Run(k.Tier()+"/"+f.String(), func(t *testing.T) { test(t, p) })
			}
		}
	}
}

// references are the products of DotRows, by a digest of weights and activations.
var references = map[[sha256.Size]byte][]float32{}

// guard is the value of all places that no product belongs to.
const guard = 1234.5

// reference returns what DotRows makes of an output of guards that has n floats.
func (w weights) reference(rows, stride, n int, acts *quant.Activation) []float32 {
	h := sha256.New()
	fmt.Fprintln(h, w.format, w.k, rows, stride, n, acts.Rows, acts.K, len(w.bytes), len(acts.X), len(acts.Q), len(acts.D))
	h.Write(w.bytes)
	writeBytes(h, acts.X)
	writeBytes(h, acts.Q)
	writeBytes(h, acts.D)
	writeBytes(h, acts.Sums)
	key := [sha256.Size]byte(h.Sum(nil))
	want, ok := references[key]
	if !ok {
		want = guards(n)
		w.format.DotRows(want, stride, w.bytes, w.rowBytes(), rows, acts)
		references[key] = want
	}
	return want
}

// writeBytes writes the memory of s.
func writeBytes[T any](h io.Writer, s []T) {
	if len(s) > 0 {
		_, _ = h.Write(unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), len(s)*int(unsafe.Sizeof(s[0]))))
	}
}

// guards returns an output of n floats that has no products yet.
func guards(n int) []float32 { return slices.Repeat([]float32{guard}, n) }

// weights is a matrix in a file's format.
type weights struct {
	format quant.Format
	k      int
	bytes  []byte
}

// rowBytes returns the bytes of a row.
func (w weights) rowBytes() int { return w.format.Bytes(w.k) }

// weightKinds are the kinds of weights of the tests. Each sets the bytes of all rows.
var weightKinds = []struct {
	name string
	fill func(w weights, rng *rand.Rand)
}{
	{"random", func(w weights, rng *rand.Rand) {
		fillRandom(w.bytes, rng)
		w.setScales(func() float32 { return rng.Float32() - 0.5 })
	}},
	{"zeros", func(w weights, _ *rand.Rand) { w.fillQuants(0x00); w.setScales(func() float32 { return 1 }) }},
	{"ones", func(w weights, _ *rand.Rand) { w.fillQuants(0xff); w.setScales(func() float32 { return -3 }) }},
	{"-128", func(w weights, _ *rand.Rand) { w.fillQuants(0x80); w.setScales(func() float32 { return 1 }) }},
	{"127", func(w weights, _ *rand.Rand) { w.fillQuants(0x7f); w.setScales(func() float32 { return 1 }) }},
	{"denormal and zero scales", func(w weights, rng *rand.Rand) {
		fillRandom(w.bytes, rng)
		w.setScales(func() float32 { return float32(rng.IntN(5)) * 0x1p-24 })
	}},
	{"huge scales", func(w weights, rng *rand.Rand) {
		fillRandom(w.bytes, rng)
		w.setScales(func() float32 { return 65504 - float32(rng.IntN(3))*131008 })
	}},
	{"infinite scales", func(w weights, rng *rand.Rand) {
		fillRandom(w.bytes, rng)
		w.setScales(func() float32 { return float32(math.Inf(rng.IntN(2))) })
	}},
}

// newWeights returns rows of weights.
func newWeights(f quant.Format, rows, k int, fill func(weights, *rand.Rand), rng *rand.Rand) weights {
	w := weights{f, k, make([]byte, rows*f.Bytes(k))}
	fill(w, rng)
	return w
}

// fillQuants sets all bytes.
func (w weights) fillQuants(v byte) {
	for i := range w.bytes {
		w.bytes[i] = v
	}
}

// setScales sets the scales of all blocks, or, in the float formats, all elements.
func (w weights) setScales(value func() float32) {
	if w.format.ActivationForm() == quant.Float {
		elements := make([]float32, len(w.bytes)/w.format.BlockBytes())
		for i := range elements {
			elements[i] = value()
		}
		_ = w.format.Quantize(w.bytes, elements)
		return
	}
	for b := 0; b < len(w.bytes); b += w.format.BlockBytes() {
		if at, ok := w.format.ExponentAt(); ok {
			_, e := math.Frexp(float64(value()))
			w.bytes[b+at] = byte(max(0, min(e+126, 254)))
		}
		for _, at := range w.format.ScalesAt() {
			_ = quant.F16.Quantize(w.bytes[b+at:b+at+2], []float32{value()})
		}
	}
}

// fillRandom fills b.
func fillRandom(b []byte, rng *rand.Rand) {
	for i := range b {
		b[i] = byte(rng.Uint32())
	}
}

// pack returns all panels of w.
func (w weights) pack(p *panels.Panels) []byte {
	packed := make([]byte, len(w.bytes))
	size := panels.Rows * w.rowBytes()
	for at := 0; at < len(packed); at += size {
		p.Pack(packed[at:at+size], w.bytes[at:at+size], w.rowBytes(), w.k)
	}
	return packed
}

// activationKinds are the kinds of activations of the tests.
var activationKinds = []struct {
	name  string
	value func(rng *rand.Rand) float32
}{
	{"normal", func(rng *rand.Rand) float32 { return float32(rng.NormFloat64()) }},
	{"extreme", func(rng *rand.Rand) float32 { return float32(2*rng.IntN(2) - 1) }},
	{"127", func(*rand.Rand) float32 { return 127 }},
	{"-127", func(*rand.Rand) float32 { return -127 }},
	{"tiny", func(rng *rand.Rand) float32 { return float32(rng.IntN(100)) * math.SmallestNonzeroFloat32 }},
	{"huge", func(rng *rand.Rand) float32 { return (rng.Float32() - 0.5) * math.MaxFloat32 }},
	{"spread", func(rng *rand.Rand) float32 { return math.Float32frombits(rng.Uint32() &^ (1 << 30)) }},
}

// newActivation returns rows of activations for a format.
func newActivation(f quant.Format, rows, k int, value func(*rand.Rand) float32, rng *rand.Rand) *quant.Activation {
	a := &quant.Activation{}
	a.Reserve(f.ActivationForm(), rows, k)
	x := make([]float32, rows*k)
	for i := range x {
		x[i] = value(rng)
	}
	a.X = x
	for t := range rows {
		a.Prepare(t, x[t*k:(t+1)*k])
	}
	return a
}

// checkProduct compares Multiply with DotRows, in an output with rows farther apart than needed and guard values in all other places.
func checkProduct(t *testing.T, p *panels.Panels, w weights, packed []byte, rows int, acts *quant.Activation) {
	t.Helper()
	stride := rows + 3
	got := guards(acts.Rows*stride + 5)
	want := w.reference(rows, stride, len(got), acts)
	p.Multiply(&panels.Product{Panels: packed, Count: rows / panels.Rows, Acts: acts, Out: got, Stride: stride})
	for i := range got {
		if !asmtest.SameFloat(got[i], want[i]) {
			t.Fatalf("k=%d tokens=%d: out[%d][%d] = %g (%#x), want %g (%#x)", w.k, acts.Rows, i/stride, i%stride,
				got[i], math.Float32bits(got[i]), want[i], math.Float32bits(want[i]))
		}
	}
}

// rowLengths are the rowLengths of rows that the tests use for a format.
func rowLengths(f quant.Format) []int {
	if f.BlockLen() == 1 {
		return []int{1, 7, 64, 200}
	}
	return []int{f.BlockLen(), 2 * f.BlockLen(), 5 * f.BlockLen()}
}

func TestPanelsUnpack(t *testing.T) {
	forPanels(t, func(t *testing.T, p *panels.Panels) {
		rng := rand.New(rand.NewPCG(1, 2))
		for _, k := range rowLengths(p.Format()) {
			w := newWeights(p.Format(), panels.Rows, k, weightKinds[0].fill, rng)
			panel := w.pack(p)
			got, want := make([]float32, k), make([]float32, k)
			for r := range panels.Rows {
				p.Unpack(got, panel, r, k)
				if err := p.Format().Dequantize(want, w.bytes[r*w.rowBytes():(r+1)*w.rowBytes()]); err != nil {
					t.Fatal(err)
				}
				for i := range got {
					if !asmtest.SameFloat(got[i], want[i]) {
						t.Fatalf("k=%d: row %d element %d = %g, want %g", k, r, i, got[i], want[i])
					}
				}
			}
		}
	})
}

func TestPanelsMultiplyTokens(t *testing.T) {
	forPanels(t, func(t *testing.T, p *panels.Panels) {
		rng := rand.New(rand.NewPCG(3, 4))
		for _, k := range rowLengths(p.Format()) {
			w := newWeights(p.Format(), 3*panels.Rows, k, weightKinds[0].fill, rng)
			packed := w.pack(p)
			for tokens := 1; tokens <= 30; tokens++ {
				if !effort.Share(k/32+tokens, 2) {
					continue
				}
				checkProduct(t, p, w, packed, 3*panels.Rows, newActivation(p.Format(), tokens, k, activationKinds[0].value, rng))
			}
		}
	})
}

// TestPanelsMultiplyRuns multiplies a single token with rows of several blocks: with runs of them, which some kernels take at once, and with
// each rest. The panels, enough for two calls, end at a protected page.
func TestPanelsMultiplyRuns(t *testing.T) {
	effort.Turn(t, 4)
	forPanels(t, func(t *testing.T, p *panels.Panels) {
		rng := rand.New(rand.NewPCG(17, 18))
		for blocks := 4; blocks <= 13; blocks++ {
			k := blocks * p.Format().BlockLen()
			w := newWeights(p.Format(), 8*panels.Rows, k, weightKinds[0].fill, rng)
			checkProduct(t, p, w, asmtest.FencedCopy(t, w.pack(p)), 8*panels.Rows, newActivation(p.Format(), 1, k, activationKinds[0].value, rng))
		}
	})
}

// TestPanelsMultiplyLong multiplies rows that are too long for one call of assembly.
func TestPanelsMultiplyLong(t *testing.T) {
	effort.Turn(t, 4)
	forPanels(t, func(t *testing.T, p *panels.Panels) {
		rng := rand.New(rand.NewPCG(13, 14))
		k, tokens := 6001, []int{1}
		if p.Format().BlockLen() > 1 {
			k, tokens = 48*256, []int{1, 13}
		}
		w := newWeights(p.Format(), 4*panels.Rows, k, weightKinds[0].fill, rng)
		packed := w.pack(p)
		for _, n := range tokens {
			checkProduct(t, p, w, packed, 4*panels.Rows, newActivation(p.Format(), n, k, activationKinds[0].value, rng))
		}
	})
}

// TestPanelsMultiplyMany multiplies more tokens than one call of assembly takes, and each rest of them, in more blocks than one call takes.
func TestPanelsMultiplyMany(t *testing.T) {
	effort.Turn(t, 4)
	forPanels(t, func(t *testing.T, p *panels.Panels) {
		if p.Format().BlockLen() == 1 {
			return // one call takes all
		}
		rng := rand.New(rand.NewPCG(15, 16))
		const k = 3 * 256
		w := newWeights(p.Format(), 3*panels.Rows, k, weightKinds[0].fill, rng)
		packed := w.pack(p)
		for _, tokens := range []int{32, 33, 34, 35, 36, 37, 71, 75} {
			checkProduct(t, p, w, packed, 3*panels.Rows, newActivation(p.Format(), tokens, k, activationKinds[0].value, rng))
		}
	})
}

func TestPanelsMultiplyExtremes(t *testing.T) {
	effort.Turn(t, 4)
	forPanels(t, func(t *testing.T, p *panels.Panels) {
		rng := rand.New(rand.NewPCG(5, 6))
		k := 2 * p.Format().BlockLen()
		for i, f := range weightKinds {
			w := newWeights(p.Format(), 5*panels.Rows, k, f.fill, rng)
			packed := w.pack(p)
			for j, a := range activationKinds {
				if !effort.Share(i+j, 4) {
					continue
				}
				t.Run(f.name+"/"+a.name, func(t *testing.T) {
					for _, tokens := range []int{1, 27, 33} {
						checkProduct(t, p, w, packed, 5*panels.Rows, newActivation(p.Format(), tokens, k, a.value, rng))
					}
				})
			}
		}
	})
}

func TestPanelsMultiplyAllocates(t *testing.T) {
	forPanels(t, func(t *testing.T, p *panels.Panels) {
		rng := rand.New(rand.NewPCG(7, 8))
		const rows = 3 * panels.Rows
		w := newWeights(p.Format(), rows, 256, weightKinds[0].fill, rng)
		for _, tokens := range []int{1, 3, 27} {
			product := &panels.Product{Panels: w.pack(p), Count: rows / panels.Rows, Acts: newActivation(p.Format(), tokens, 256, activationKinds[0].value, rng),
				Out: make([]float32, tokens*rows), Stride: rows}
			if n := testing.AllocsPerRun(10, func() { p.Multiply(product) }); n > 0 {
				t.Errorf("Multiply of %d rows allocates %g times", tokens, n)
			}
		}
	})
}

// FuzzPanels packs and multiplies whatever bytes, as weights and as activations.
func FuzzPanels(f *testing.F) {
	f.Add([]byte{1, 2, 3, 4}, []byte{127, 129, 0}, uint8(1))
	f.Add([]byte{0xff, 0x80, 0x7c, 0x00, 0x0f}, []byte{0x81, 0x7f}, uint8(13))
	f.Fuzz(func(t *testing.T, weightBytes, actBytes []byte, tokens uint8) {
		if len(weightBytes) == 0 || len(actBytes) == 0 {
			return
		}
		rows := 1 + int(tokens)%14
		clear(references)
		for _, k := range asm.Tiers() {
			for _, p := range panelsOf(k) {
				w := weights{p.Format(), 256, repeat(weightBytes, 5*panels.Rows*p.Format().Bytes(256))}
				at := 0
				value := func(*rand.Rand) float32 {
					at++
					return float32(int8(actBytes[at%len(actBytes)]))
				}
				checkProduct(t, p, w, w.pack(p), 5*panels.Rows, newActivation(p.Format(), rows, 256, value, nil))
			}
		}
	})
}

// repeat returns n bytes: b again and again.
func repeat(b []byte, n int) []byte {
	out := make([]byte, n)
	for i := range out {
		out[i] = b[i%len(b)]
	}
	return out
}

func BenchmarkPanels(b *testing.B) {
	for _, k := range asm.Tiers() {
		for _, p := range panelsOf(k) {
			for _, c := range []struct {
				name            string
				rows, k, tokens int
			}{
				{"gemv", 8192, 2048, 1},
				{"gemv2048", 2048, 2048, 1},
				{"gemm4", 2048, 2048, 4},
				{"gemm8", 2048, 2048, 8},
				{"gemm16", 2048, 2048, 16},
				{"gemm512", 512, 2048, 512},
				{"gemm512deep", 128, 8192, 512},
			} {
				b.Run(fmt.Sprintf("%s/%s/%s", k.Tier(), p.Format(), c.name), func(b *testing.B) {
					benchmarkMultiply(b, p, c.rows, c.k, c.tokens)
				})
			}
			b.Run(fmt.Sprintf("%s/%s/pack", k.Tier(), p.Format()), func(b *testing.B) {
				w := newWeights(p.Format(), 64*panels.Rows, 2048, weightKinds[1].fill, nil)
				b.SetBytes(int64(len(w.bytes)))
				dst, size := make([]byte, len(w.bytes)), panels.Rows*w.rowBytes()
				for b.Loop() {
					for at := 0; at < len(dst); at += size {
						p.Pack(dst[at:at+size], w.bytes[at:at+size], w.rowBytes(), w.k)
					}
				}
			})
		}
	}
}

// benchmarkMultiply multiplies four panels a call, as the callers in package backend do. A product with up to 16 tokens, as when
// conversations are answered together, walks through several copies of the weights, together larger than the second-level cache.
func benchmarkMultiply(b *testing.B, p *panels.Panels, rows, k, tokens int) {
	rng := rand.New(rand.NewPCG(9, 10))
	w := newWeights(p.Format(), rows, k, weightKinds[1].fill, rng)
	copies := 1
	if tokens <= 16 {
		copies = 1 + 128<<20/len(w.bytes)
	}
	packed := repeat(w.pack(p), copies*len(w.bytes))
	product := panels.Product{Count: 4, Acts: newActivation(p.Format(), tokens, k, activationKinds[0].value, rng),
		Out: make([]float32, tokens*rows), Stride: rows}
	out, size := product.Out, 4*panels.Rows*w.rowBytes()
	b.SetBytes(int64(len(w.bytes)))
	at := 0
	for b.Loop() {
		for row := 0; row < rows; row += 4 * panels.Rows {
			product.Panels, product.Out = packed[at:at+size], out[row:]
			p.Multiply(&product)
			if at += size; at == len(packed) {
				at = 0
			}
		}
	}
	b.ReportMetric(float64(b.N)*float64(rows*k*tokens)/b.Elapsed().Seconds()/1e9, "GMAC/s")
}

// TestPanelsFenced multiplies with slices that all end at protected pages: a read or a write beyond them is a fault.
func TestPanelsFenced(t *testing.T) {
	forPanels(t, func(t *testing.T, p *panels.Panels) {
		rng := rand.New(rand.NewPCG(11, 12))
		k := 3 * p.Format().BlockLen()
		for _, count := range []int{1, 4, 5} {
			w := newWeights(p.Format(), count*panels.Rows, k, weightKinds[0].fill, rng)
			packed := asmtest.FencedCopy(t, w.pack(p))
			for tokens := 1; tokens <= 13; tokens++ {
				a := newActivation(p.Format(), tokens, k, activationKinds[0].value, rng)
				fencedActs := &quant.Activation{Form: a.Form, Rows: tokens, K: k,
					X: asmtest.FencedCopy(t, a.X), Q: asmtest.FencedCopy(t, a.Q), D: asmtest.FencedCopy(t, a.D), Sums: asmtest.FencedCopy(t, a.Sums)}
				rows := count * panels.Rows
				want := w.reference(rows, rows, tokens*rows, a)
				got := asmtest.FencedFloats(t, len(want))
				p.Multiply(&panels.Product{Panels: packed, Count: count, Acts: fencedActs, Out: got, Stride: rows})
				for i := range got {
					if !asmtest.SameFloat(got[i], want[i]) {
						t.Fatalf("panels=%d tokens=%d: out[%d] = %g, want %g", count, tokens, i, got[i], want[i])
					}
				}
			}
		}
	})
}

// TestPanelsMultiplyChunks multiplies rows so long that their products are made in several chunks.
func TestPanelsMultiplyChunks(t *testing.T) {
	effort.Turn(t, 4)
	forPanels(t, func(t *testing.T, p *panels.Panels) {
		if p.Format().ActivationForm() == quant.Float {
			return
		}
		rng := rand.New(rand.NewPCG(13, 14))
		for i, k := range []int{2048, 2304, 6400, 33024} {
			if !effort.Share(i, 2) {
				continue
			}
			w := newWeights(p.Format(), 2*panels.Rows, k, weightKinds[0].fill, rng)
			for _, tokens := range []int{8, 11} {
				if k > 10000 && tokens < 11 {
					continue // one length of the longest rows is enough: the reference takes its time
				}
				checkProduct(t, p, w, w.pack(p), 2*panels.Rows, newActivation(p.Format(), tokens, k, activationKinds[0].value, rng))
			}
		}
	})
}

// TestPanelsMultiplyCalls multiplies enough panels with enough tokens that every kernel is called several times, for few tokens and for
// many.
func TestPanelsMultiplyCalls(t *testing.T) {
	effort.Turn(t, 4)
	forPanels(t, func(t *testing.T, p *panels.Panels) {
		rng := rand.New(rand.NewPCG(15, 16))
		const k = 2 * 256
		for _, c := range []struct{ panels, tokens int }{{66, 3}, {9, 131}} {
			rows := c.panels * panels.Rows
			w := newWeights(p.Format(), rows, k, weightKinds[0].fill, rng)
			checkProduct(t, p, w, w.pack(p), rows, newActivation(p.Format(), c.tokens, k, activationKinds[0].value, rng))
		}
	})
}
