package backendtest

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/tensor"
)

// bytesOf returns n elements of any type.
func (g generator) bytesOf(d tensor.DType, n int) []byte {
	if d == tensor.U8 || d == tensor.I32 {
		data := make([]byte, n*d.BlockBytes())
		g.fill(data, d, random)
		return data
	}
	return g.weights(d, random, n)
}

// readChecks move data to the device and back, whole and in part. Every other check relies on it.
func readChecks() (checks []Check) {
	for _, d := range tensor.DTypes() {
		for _, c := range []struct{ rows, blocks, lo, hi int }{{1, 1, 0, 1}, {3, 1, 1, 2}, {7, 3, 2, 7}, {100, 33, 0, 99}} {
			dims := []int{c.rows, c.blocks * d.BlockLen()}
			checks = append(checks, Check{
				Operation: "ReadBuffer", Type: d.String(), Shape: fmt.Sprintf("rows [%d, %d) of %v", c.lo, c.hi, dims), Input: random.name,
				build: func(g generator) *trial {
					data := g.bytesOf(d, elements(dims))
					return &trial{
						operands: []operand{{name: "t", dtype: d, dims: dims, data: data}},
						do:       func(b backend.Backend, t []*tensor.Tensor) error { return readRows(b, t[0], data, c.lo, c.hi) },
					}
				},
			})
		}
	}
	return checks
}

// errOtherBytes is the error of a read that gives other bytes than were written.
var errOtherBytes = errors.New("other bytes came back than were written")

func readRows(b backend.Backend, t *tensor.Tensor, data []byte, lo, hi int) error {
	part, err := t.Slice(lo, hi)
	if err != nil {
		return err
	}
	got := make([]byte, part.Size())
	if err := b.ReadBuffer(part, got); err != nil {
		return err
	}
	if !bytes.Equal(got, data[lo*t.RowBytes():hi*t.RowBytes()]) {
		return errOtherBytes
	}
	return nil
}

// copyChecks copy elements between tensors and within one, also if the regions overlap. Offsets are in blocks.
func copyChecks() (checks []Check) {
	for _, d := range []tensor.DType{tensor.F32, tensor.F16, tensor.U8, tensor.Q8_0, tensor.Q4_0} {
		for _, c := range []struct{ src, dst, from, to, n int }{{1, 1, 0, 0, 1}, {9, 5, 3, 1, 4}, {1000, 777, 1, 0, 777}, {64, 64, 0, 0, 0}} {
			checks = append(checks, Check{
				Operation: "CopySlice", Type: d.String(), Shape: fmt.Sprintf("%d blocks at %d of %d to %d of %d", c.n, c.from, c.src, c.to, c.dst),
				Input: random.name,
				build: func(g generator) *trial {
					block := d.BlockLen()
					return &trial{
						operands: []operand{
							{name: "src", dtype: d, dims: []int{c.src, block}, data: g.bytesOf(d, c.src*block)},
							{name: "dst", role: update, dtype: d, dims: []int{c.dst, block}, data: g.bytesOf(d, c.dst*block)},
						},
						do: func(b backend.Backend, t []*tensor.Tensor) error {
							return b.Run(&backend.CopySlice{Src: t[0], Dst: t[1], From: c.from * block, To: c.to * block, N: c.n * block})
						},
					}
				},
			})
		}
		for _, c := range []struct{ size, from, to, n int }{{20, 5, 0, 15}, {20, 0, 5, 15}, {3000, 1, 0, 2999}, {3000, 0, 700, 2300}, {8, 3, 3, 2}} {
			checks = append(checks, Check{
				Operation: "CopySlice", Type: d.String(), Shape: fmt.Sprintf("%d blocks at %d to %d of the same %d", c.n, c.from, c.to, c.size),
				Input: random.name,
				build: func(g generator) *trial {
					block := d.BlockLen()
					return &trial{
						operands: []operand{{name: "t", role: update, dtype: d, dims: []int{c.size, block}, data: g.bytesOf(d, c.size*block)}},
						do: func(b backend.Backend, t []*tensor.Tensor) error {
							return b.Run(&backend.CopySlice{Src: t[0], Dst: t[0], From: c.from * block, To: c.to * block, N: c.n * block})
						},
					}
				},
			})
		}
	}
	return checks
}

// castChecks convert each type to each.
func castChecks(quick bool) (checks []Check) {
	for _, from := range weightTypes {
		for _, to := range weightTypes {
			add := func(rows, width int, in input) {
				width = whole(whole(width, from), to)
				checks = append(checks, Check{
					Operation: "Cast", Type: from.String() + "→" + to.String(), Shape: fmt.Sprint([]int{rows, width}), Input: in.name,
					build: func(g generator) *trial { return cast(g, from, to, []int{rows, width}, in) },
				})
			}
			for _, dims := range upTo(quick, [][2]int{{1, 1}, {3, 33}, {7, 320}}, [2]int{17, 1024}) {
				add(dims[0], dims[1], random)
			}
			if from == tensor.F32 {
				for _, in := range inputs[1:] {
					add(5, 333, in)
				}
			}
		}
	}
	return checks
}

func cast(g generator, from, to tensor.DType, dims []int, in input) *trial {
	data := g.weights(from, random, elements(dims))
	if from == tensor.F32 {
		data = encode(from, g.floats(in, elements(dims)))
	}
	truth := decode(from, data)
	l := limit{truth: truth, tolerance: single}
	if to.Quantized() {
		l.tolerance = half // the scale has 16 bits
		l.magnitude = func([]float32) []float64 { return blockMaxima(truth, to.BlockLen()) }
	}
	if from == to {
		l = limit{}
	}
	return &trial{
		operands: []operand{
			{name: "src", dtype: from, dims: dims, data: data},
			operand{name: "dst", role: output, dtype: to, dims: dims}.within(l),
		},
		do: func(b backend.Backend, t []*tensor.Tensor) error { return b.Run(&backend.Cast{Src: t[0], Dst: t[1]}) },
	}
}

// gatherChecks look up rows, the first and the last and one twice.
func gatherChecks(quick bool) (checks []Check) {
	for _, d := range weightTypes {
		for _, c := range upTo(quick, [][]int{{1, 1}, {5, 33}, {48, 100}, {33, 512}, {80, 2048}}, []int{4096, 2048}) {
			dims := []int{c[0], whole(c[1], d)}
			for _, in := range []input{random, zeros, extremes} {
				checks = append(checks, Check{
					Operation: "Gather", Type: d.String(), Shape: "from " + fmt.Sprint(dims), Input: in.name,
					build: func(g generator) *trial { return gather(g, d, dims, in) },
				})
			}
		}
	}
	return both(checks)
}

func gather(g generator, d tensor.DType, dims []int, in input) *trial {
	last := int32(dims[0] - 1)
	indices := []int32{last, 0, last / 2, last / 2, last / 3}
	l := limit{tolerance: single}
	if d.Quantized() {
		l = limit{tolerance: half, magnitude: rowMaxima(dims[1])}
	}
	return &trial{
		operands: []operand{
			{name: "table", role: weight, dtype: d, dims: dims, data: g.weights(d, in, elements(dims))},
			blank("out", output, len(indices), dims[1]).within(l),
		},
		do: func(b backend.Backend, t []*tensor.Tensor) error {
			return b.Run(&backend.Gather{Table: t[0], Indices: indices, Out: t[1]})
		},
	}
}

// ascending draws m different numbers below n, in order.
func (g generator) ascending(n, m int) []int32 {
	result := make([]int32, 0, m)
	for _, i := range g.Perm(n)[:m] {
		result = append(result, int32(i))
	}
	slices.Sort(result)
	return result
}
