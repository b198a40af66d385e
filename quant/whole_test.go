package quant

import (
	"math"
	"testing"
)

// TestPrepareWhole compares with the definition: integers of one scale for each row, whatever the form, and the product with them.
func TestPrepareWhole(t *testing.T) {
	const k = 512
	weights, x := make([]float32, k), make([]float32, k)
	for i := range x {
		weights[i] = float32(i%3 - 1)
		x[i] = float32(math.Sin(float64(i))) * float32(i/32+1) // blocks of 32 have scales of their own
	}
	for _, f := range []Format{Q4_0, Q2_K, F32} {
		var a Activation
		a.Reserve(f.ActivationForm(), 2, k)
		if a.Form == Float {
			a.X = make([]float32, 2*k)
		}
		a.PrepareWhole(1, x)
		most := 0.0
		for _, v := range x {
			most = max(most, math.Abs(float64(v)))
		}
		scale, want := 127/most, 0.0
		for i, v := range x {
			rounded := math.RoundToEven(float64(v) * scale)
			want += rounded / scale * float64(weights[i])
			got := 0.0
			if a.Form == Float {
				got = float64(a.X[k+i])
			} else {
				got = float64(a.Q[k+i]) * float64(a.D[len(a.D)-1])
			}
			if math.Abs(got-rounded/scale) > 1e-6*most {
				t.Fatalf("%v: element %d of %g is %g, want %g", f, i, v, got, rounded/scale)
			}
		}
		row := make([]byte, f.Bytes(k))
		switch f {
		case Q4_0, Q2_K:
			ternaryRow(f, row, weights)
		default:
			if err := f.Quantize(row, weights); err != nil {
				t.Fatal(err)
			}
		}
		out := [2]float32{}
		part := a.Part(1, 2)
		f.DotRows(out[:], 1, row, len(row), 1, &part)
		if math.Abs(float64(out[0])-want) > 1e-5*most*k/16 {
			t.Errorf("%v: the product is %g, want %g", f, out[0], want)
		}
	}
	for _, v := range []float32{0, 1e-6, float32(math.Inf(1)), float32(math.NaN())} {
		var a Activation
		a.Reserve(Int8x32, 1, 32)
		row := make([]float32, 32)
		row[3] = v
		a.PrepareWhole(0, row)
		damaged := v-v != 0
		if d := a.D[0]; damaged && d-d == 0 || !damaged && math.Abs(float64(d)-1e-5/127) > 1e-12 {
			t.Errorf("a row with %g has the scale %g", v, d)
		}
	}
}

// ternaryRow writes a row of −1, 0 and 1 in blocks with a scale of 1.
func ternaryRow(f Format, row []byte, weights []float32) {
	n := f.BlockLen()
	for b := range len(weights) / n {
		u := unpacked{d: 1, m: -1}
		for i, v := range weights[b*n : (b+1)*n] {
			u.q[i] = int8(v)
			if f == Q2_K {
				u.q[i]++
			}
		}
		for g := range u.scale {
			u.scale[g], u.min[g] = 1, 1
		}
		f.pack(row[b*f.BlockBytes():], &u)
	}
}
