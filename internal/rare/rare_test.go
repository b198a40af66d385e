package rare

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/internal/fixture"
	"github.com/antigravity-go/antigravity/internal/gguf"
)

// golden is testdata/golden.json. It was made by ggml itself: a C program linked with ggml-quants.c drew random blocks until all of their
// numbers were finite, and noted the SHA-256 of dequantize_row_…'s results, as little-endian float32. The interleaved rows are of a ggml of
// December 2024: its quantize_q4_0_4x4 and its neighbours wrote the same 16 rows as its quantize_q4_0.
type golden struct {
	Decoded map[string]struct {
		Blocks []byte
		Values int
		SHA256 string
		First  []float32
	}
	Interleaved map[string]any
	File        map[string]string // of iq3_s.gguf: the SHA-256 of each tensor's numbers, by the gguf package for Python
}

func readGolden(t *testing.T) *golden {
	t.Helper()
	data, err := os.ReadFile("testdata/golden.json")
	if err != nil {
		t.Fatal(err)
	}
	g := &golden{}
	if err := json.Unmarshal(data, g); err != nil {
		t.Fatal(err)
	}
	return g
}

// named returns a type by its name.
func named(t testing.TB, name string) *Type {
	t.Helper()
	for _, k := range types {
		if k.name == name {
			return k
		}
	}
	t.Fatalf("there is no type %s", name)
	return nil
}

// digest returns the SHA-256 of numbers, in hexadecimal.
func digest(values []float32) string {
	h := sha256.New()
	binary.Write(h, binary.LittleEndian, values)
	return hex.EncodeToString(h.Sum(nil))
}

func TestDequantizesAsGGMLDoes(t *testing.T) {
	g := readGolden(t)
	for _, k := range types {
		if k.rows != 0 {
			continue
		}
		want, ok := g.Decoded[k.name]
		if !ok {
			t.Errorf("%s has no golden values", k)
			continue
		}
		got := make([]float32, want.Values)
		if err := k.Dequantize(got, want.Blocks); err != nil {
			t.Errorf("%s: %v", k, err)
			continue
		}
		if digest(got) != want.SHA256 {
			t.Errorf("%s: the numbers differ from ggml's; the first are %g, where ggml has %g", k, got[:4], want.First)
		}
	}
}

func TestFilesOfOthers(t *testing.T) {
	want := readGolden(t).File
	data, err := os.ReadFile(fixture.Path(t, "quants/iq3_s.gguf"))
	if err != nil {
		t.Fatal(err)
	}
	f, err := gguf.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	for _, stored := range f.Tensors() {
		k := Of(stored.Type)
		if k == nil {
			continue
		}
		values := make([]float32, stored.Shape[0]*stored.Shape[1])
		if err := k.Dequantize(values, stored.Data); err != nil {
			t.Fatal(err)
		}
		if digest(values) != want[stored.Name] {
			t.Errorf("%s: the numbers differ", stored.Name)
		}
		got, rewritten := make([]float32, len(values)), make([]byte, k.Target().Format().Bytes(len(values)))
		if err := k.Rewrite(rewritten, stored.Data, stored.Shape[1]); err != nil {
			t.Fatal(err)
		}
		if err := k.Target().Format().Dequantize(got, rewritten); err != nil {
			t.Fatal(err)
		}
		if loss := difference(values, got); loss > k.Loss() {
			t.Errorf("%s as %v loses %.2g, where the table says %.2g", stored.Name, k.Target(), loss, k.Loss())
		}
		delete(want, stored.Name)
	}
	if len(want) > 0 {
		t.Errorf("the file has no %v", want)
	}
}

func TestSeparatesInterleavedRows(t *testing.T) {
	g := readGolden(t)
	bytesOf := func(name string) []byte {
		data, err := base64.StdEncoding.DecodeString(g.Interleaved[name].(string))
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	want, cols := bytesOf("Q4_0"), int(g.Interleaved["cols"].(float64))
	for _, k := range types {
		if k.rows == 0 {
			continue
		}
		got := make([]byte, len(want))
		if err := k.Rewrite(got, bytesOf(k.name), cols); err != nil {
			t.Errorf("%s: %v", k, err)
		} else if !bytes.Equal(got, want) {
			t.Errorf("%s: the rows differ from those that were interleaved", k)
		}
	}
}

// The geometry that package gguf checks files by is the one of this table, and each type has its own name there.
func TestGeometryIsTheFiles(t *testing.T) {
	for number, k := range types {
		if number.String() != k.name {
			t.Errorf("GGML type %d is %s, here %s", number, number, k)
		}
		if size, err := number.Size([]int{8, 512}); err != nil || size != k.Bytes(8*512) {
			t.Errorf("%s: 8 rows of 512 elements take %d bytes, in a file %d (%v)", k, k.Bytes(8*512), size, err)
		}
		if number.DType() != 0 {
			t.Errorf("%s is computed with, as %v", k, number.DType())
		}
		if !k.Target().Format().Valid() || k.blockLen%k.Target().BlockLen() != 0 {
			t.Errorf("%s becomes %v", k, k.Target())
		}
	}
}

// scales has the offsets of the half-precision scale in blocks; those of IQ1_M are spread over nibbles.
var scales = map[string]int{"IQ2_XXS": 0, "IQ2_XS": 0, "IQ2_S": 0, "IQ3_XXS": 0, "IQ3_S": 0, "IQ1_S": 0, "TQ1_0": 52, "TQ2_0": 64, "Q1_0": 0, "Q2_0": 0}

// ordinary draws blocks as a trained model's tensors have them: any bits, and scales of a common size.
func ordinary(k *Type, n int, random *rand.Rand) []byte {
	data := make([]byte, n*k.blockBytes)
	for i := range data {
		data[i] = byte(random.Uint32())
	}
	for i := range n {
		b := data[i*k.blockBytes:][:k.blockBytes]
		d := make([]byte, 2)
		_ = putHalf(d, float32(0.002*(1+random.Float64())))
		switch at, ok := scales[k.name]; {
		case ok:
			copy(b[at:], d)
		case k.name == "IQ1_M":
			for j, v := range []byte{d[0] & 15, d[0] >> 4, d[1] & 15, d[1] >> 4} {
				b[48+2*j+1] = b[48+2*j+1]&15 | v<<4
			}
		}
	}
	return data
}

// difference returns the root of the mean square of the differences, relative to that of the numbers.
func difference(want, got []float32) float64 {
	var off, all float64
	for i, v := range want {
		off += math.Pow(float64(got[i])-float64(v), 2)
		all += math.Pow(float64(v), 2)
	}
	return math.Sqrt(off / all)
}

// Rewriting loses as much as the table says. Types without a loss in the table keep the same numbers.
func TestLosses(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, name := range Names() {
		k := named(t, name)
		if k.rows != 0 {
			continue
		}
		const blocks = 400
		src := ordinary(k, blocks, random)
		want, got := make([]float32, blocks*k.blockLen), make([]float32, blocks*k.blockLen)
		if err := k.Dequantize(want, src); err != nil {
			t.Fatal(err)
		}
		dst := make([]byte, k.Target().Format().Bytes(len(want)))
		if err := k.Rewrite(dst, src, k.blockLen); err != nil {
			t.Fatal(err)
		}
		if err := k.Target().Format().Dequantize(got, dst); err != nil {
			t.Fatal(err)
		}
		loss := difference(want, got)
		t.Logf("%s as %v: %.2g", k, k.Target(), loss)
		if loss > k.Loss() || k.Loss() > 0 && loss < k.Loss()/4 {
			t.Errorf("%s as %v loses %.2g, where the table says %.2g", k, k.Target(), loss, k.Loss())
		}
	}
}

func TestWrongSizesAreErrors(t *testing.T) {
	k, woven := named(t, "IQ3_S"), named(t, "Q4_0_4_4")
	for _, c := range []struct {
		k              *Type
		dst, src, cols int
		want           string
	}{
		{k, 144, 110, 0, "no whole number of blocks"},
		{k, 144, 110, 100, "no whole number of blocks"},
		{k, 144, 109, 256, "no whole number of 1 rows"},
		{k, 143, 110, 256, "110 bytes become 144"},
		{woven, 54, 54, 32, "no whole number of 4 rows"},
	} {
		err := c.k.Rewrite(make([]byte, c.dst), make([]byte, c.src), c.cols)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s, %d bytes to %d in rows of %d: %v, want %q", c.k, c.src, c.dst, c.cols, err, c.want)
		}
	}
	if err := k.Dequantize(make([]float32, 256), make([]byte, 111)); err == nil {
		t.Error("111 bytes of IQ3_S were read")
	}
	if err := woven.Dequantize(make([]float32, 128), make([]byte, 72)); err == nil {
		t.Error("interleaved rows were read as numbers")
	}
	if Of(2) != nil || Of(1<<31) != nil {
		t.Error("Q4_0, or a type without a name, is rewritten")
	}
}

// FuzzRewrite checks that no bytes make a type panic, and that its loss is little if half precision can hold its scales.
func FuzzRewrite(f *testing.F) {
	f.Add(uint8(21), []byte("any bytes"))
	f.Fuzz(func(t *testing.T, number uint8, data []byte) {
		k := types[gguf.GGMLType(16+number%27)]
		if k == nil {
			return
		}
		rowBytes := k.RowsAtOnce() * k.blockBytes
		src := make([]byte, (len(data)/rowBytes+1)*rowBytes)
		copy(src, data)
		n := len(src) / k.blockBytes * k.blockLen
		dst := make([]byte, k.Target().Format().Bytes(n))
		if err := k.Rewrite(dst, src, k.blockLen); err != nil || k.rows != 0 {
			return
		}
		want, got := make([]float32, n), make([]float32, n)
		if err := k.Dequantize(want, src); err != nil {
			t.Fatal(err)
		}
		if err := k.Target().Format().Dequantize(got, dst); err != nil {
			t.Fatal(err)
		}
		for i := range want {
			if off := math.Abs(float64(want[i] - got[i])); off > 0.1*math.Abs(float64(want[i]))+64*127*0x1p-24 {
				t.Fatalf("%s: element %d is %g, rewritten %g", k, i, want[i], got[i])
			}
		}
	})
}

func BenchmarkRewrite(b *testing.B) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, name := range Names() {
		k := named(b, name)
		const cols, rows = 4096, 8
		src := make([]byte, k.Bytes(rows*cols))
		if k.rows == 0 {
			src = ordinary(k, rows*cols/k.blockLen, random)
		}
		dst := make([]byte, k.Target().Format().Bytes(rows*cols))
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(rows * cols))
			for b.Loop() {
				if err := k.Rewrite(dst, src, cols); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
