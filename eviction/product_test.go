package eviction

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/backend/cpu"
)

// normal returns n random numbers.
func normal(r *rand.Rand, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
	return x
}

func TestDeviceProduct(t *testing.T) {
	b := cpu.New(1)
	defer b.Close()
	r := rand.New(rand.NewPCG(3, 4))
	for _, c := range []struct{ n, m, d int }{{1, 1, 1}, {3, 5, 7}, {40, 16, 32}, {17, 144, 64}} {
		matrices := [][]float32{normal(r, c.m*c.d), normal(r, c.m*c.d)}
		p, err := newDeviceProduct(b, matrices, c.d, c.n)
		if err != nil {
			t.Fatal(err)
		}
		for i, w := range matrices {
			for n := range c.n {
				x := normal(r, (n+1)*c.d)
				got, err := p.multiply(i, x)
				if err != nil || len(got) != (n+1)*c.m {
					t.Fatalf("%+v: %d numbers for %d rows, %v", c, len(got), n+1, err)
				}
				for at := range got {
					want := 0.0
					for j := range c.d {
						want += float64(x[at/c.m*c.d+j]) * float64(w[at%c.m*c.d+j])
					}
					if math.Abs(float64(got[at])-want) > 1e-4 {
						t.Fatalf("%+v: element %d is %g, want %g", c, at, got[at], want)
					}
				}
			}
		}
		if err := p.free(); err != nil {
			t.Error(err)
		}
	}
}

func TestSoftmax(t *testing.T) {
	b := cpu.New(1)
	defer b.Close()
	const rows, n = 12, 32
	x := normal(rand.New(rand.NewPCG(3, 4)), rows*n)
	y := append([]float32(nil), x...)
	if err := softmax(b, y, n); err != nil {
		t.Fatal(err)
	}
	for row := 0; row < len(x); row += n {
		total := 0.0
		for _, v := range x[row:][:n] {
			total += math.Exp(float64(v))
		}
		for i, v := range x[row:][:n] {
			if want := math.Exp(float64(v)) / total; math.Abs(float64(y[row+i])-want) > 1e-6 {
				t.Fatalf("element %d is %g, want %g", row+i, y[row+i], want)
			}
		}
	}
}

func TestDeviceProductRefuses(t *testing.T) {
	b := cpu.New(1)
	defer b.Close()
	product := func(matrices [][]float32, d, n int) error {
		p, err := newDeviceProduct(b, matrices, d, n)
		if err == nil {
			p.free()
		}
		return err
	}
	p, err := newDeviceProduct(b, [][]float32{{1, 2}}, 2, 3)
	if err != nil {
		t.Fatal(err)
	}
	defer p.free()
	multiply := func(i int, x []float32) error { _, err := p.multiply(i, x); return err }
	for _, c := range []struct {
		name string
		err  error
		want string
	}{
		{"no matrix", product(nil, 2, 3), "at least one"},
		{"rows of nothing", product([][]float32{{1}}, 0, 3), "at least one"},
		{"no rows", product([][]float32{{1}}, 1, 0), "at least one"},
		{"half a row", product([][]float32{{1, 2, 3}}, 2, 3), "whole rows"},
		{"an empty matrix", product([][]float32{{}}, 2, 3), "whole rows"},
		{"matrices that differ", product([][]float32{{1, 2}, {1, 2, 3, 4}}, 2, 3), "same number"},
		{"no such matrix", multiply(1, []float32{1, 2}), "1 matrices"},
		{"too many rows", multiply(0, make([]float32, 8)), "1 to 3"},
		{"half a row to multiply", multiply(0, make([]float32, 3)), "whole rows"},
		{"nothing to multiply", multiply(0, nil), "1 to 3"},
		{"softmax of half a row", softmax(b, make([]float32, 3), 2), "whole"},
		{"softmax of nothing", softmax(b, nil, 2), "whole"},
		{"softmax of rows of nothing", softmax(b, make([]float32, 3), 0), "whole"},
	} {
		if c.err == nil || !strings.Contains(c.err.Error(), c.want) {
			t.Errorf("%s: %v, want an error that says %q", c.name, c.err, c.want)
		}
	}
}
