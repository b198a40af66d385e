package kvcache_test

import (
	"math"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/kvcache"
	"github.com/antigravity-go/antigravity/tensor"
)

func TestProduct(t *testing.T) {
	a := newAccount(t, tensor.F16, 1, kvcache.Tracking{})
	for _, c := range []struct{ n, m, d int }{{1, 1, 1}, {3, 5, 7}, {40, 16, 32}, {17, 144, 64}} {
		numbers := func(rows int) []float32 {
			_, x := a.normal(rows, (c.d+headDim-1)/headDim)
			return x[:rows*c.d]
		}
		matrices := [][]float32{numbers(c.m), numbers(c.m)}
		p, err := a.cache.NewProduct(matrices, c.d, c.n)
		a.ok(err)
		for i, w := range matrices {
			for n := range c.n {
				x := numbers(n + 1)
				got, err := p.Multiply(i, x)
				a.ok(err)
				if len(got) != (n+1)*c.m {
					t.Fatalf("%+v: %d numbers for %d rows", c, len(got), n+1)
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
		a.ok(p.Free())
	}
}

func TestSoftmax(t *testing.T) {
	a := newAccount(t, tensor.F16, 1, kvcache.Tracking{})
	_, x := a.normal(6, 1)
	y := append([]float32(nil), x...)
	a.ok(a.cache.Softmax(y, headDim))
	for row := 0; row < len(x); row += headDim {
		total := 0.0
		for _, v := range x[row:][:headDim] {
			total += math.Exp(float64(v))
		}
		for i, v := range x[row:][:headDim] {
			if want := math.Exp(float64(v)) / total; math.Abs(float64(y[row+i])-want) > 1e-6 {
				t.Fatalf("element %d is %g, want %g", row+i, y[row+i], want)
			}
		}
	}
}

func TestProductRefuses(t *testing.T) {
	a := newAccount(t, tensor.F16, 1, kvcache.Tracking{})
	product := func(matrices [][]float32, d, n int) error {
		p, err := a.cache.NewProduct(matrices, d, n)
		if err == nil {
			p.Free()
		}
		return err
	}
	p, err := a.cache.NewProduct([][]float32{{1, 2}}, 2, 3)
	a.ok(err)
	defer p.Free()
	multiply := func(i int, x []float32) error { _, err := p.Multiply(i, x); return err }
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
		{"softmax of half a row", a.cache.Softmax(make([]float32, 3), 2), "whole"},
		{"softmax of nothing", a.cache.Softmax(nil, 2), "whole"},
		{"softmax of rows of nothing", a.cache.Softmax(make([]float32, 3), 0), "whole"},
	} {
		if c.err == nil || !strings.Contains(c.err.Error(), c.want) {
			t.Errorf("%s: %v, want an error that says %q", c.name, c.err, c.want)
		}
	}
}
