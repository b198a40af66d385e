//go:build opencl && (amd64 || arm64)

package opencl

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/internal/mmap"
	"github.com/antigravity-go/antigravity/tensor"
)

// operands are tensors for every operation.
type operands struct {
	x, y, gain, square, table *tensor.Tensor // F32
	cache, slot, slab         *tensor.Tensor // F16
	head, long, sums          *tensor.Tensor // F32
	plain, split              *tensor.Tensor // prepared weights
	host                      *tensor.Tensor // F32, the host's
	slots                     *backend.Slots // of one head in the slab
}

func newOperands(t *testing.T, b *Backend) *operands {
	t.Helper()
	device := func(d tensor.DType, dims ...int) *tensor.Tensor {
		x, err := tensor.New(b, d, tensor.ShapeOf(dims...))
		must(t, err)
		return x
	}
	prepared := func(d tensor.DType) *tensor.Tensor {
		host, err := tensor.New(nil, d, tensor.ShapeOf(64, 64))
		must(t, err)
		w, err := b.Prepare(t.Context(), host)
		must(t, err)
		return w
	}
	host, err := tensor.New(nil, tensor.F32, tensor.ShapeOf(1, 64))
	must(t, err)
	o := &operands{
		x: device(tensor.F32, 1, 64), y: device(tensor.F32, 1, 64), gain: device(tensor.F32, 64), square: device(tensor.F32, 64, 64),
		cache: device(tensor.F16, 100, 1, 64), slab: device(tensor.F16, 3, 2, backend.PageSlots, 64), table: device(tensor.F32, 1, 64),
		long: device(tensor.F32, 1, longRow+1), sums: device(tensor.F32, 1, 200), plain: prepared(tensor.F16), split: prepared(tensor.Q4_0), host: host,
	}
	o.slot, o.head = view(o.cache, 2), view3(o.x)
	o.slots = slotsIn(o.slab, 200)
	return o
}

// slotsIn returns n slots of one head in the first pages of a slab.
func slotsIn(slab *tensor.Tensor, n int) *backend.Slots {
	s := &backend.Slots{DType: slab.DType(), HeadDim: slab.Shape().Dim(3), Heads: []backend.HeadSlots{{Len: n}}}
	for i := range groups(n, backend.PageSlots) {
		s.Heads[0].Pages = append(s.Heads[0].Pages, backend.Page{Slab: slab, Index: i})
	}
	return s
}

// run is one token of the slots.
func (o *operands) run() []backend.Run { return []backend.Run{{Tokens: 1, Slots: o.slots}} }

// free gives the operands up; the views are of others' memory.
func (o *operands) free(t *testing.T) {
	t.Helper()
	for _, x := range []*tensor.Tensor{o.x, o.y, o.gain, o.square, o.table, o.cache, o.slab, o.long, o.sums, o.plain, o.split, o.host} {
		if err := x.Free(); err != nil {
			t.Error(err)
		}
	}
}

// operations are everything that a backend and its tensors can be asked for, but Unmap, Free and Close, which go on after Close.
func (o *operands) operations(b *Backend) map[string]func() error {
	bytes := make([]byte, 256)
	made := func(x *tensor.Tensor, err error) error {
		if err == nil {
			err = x.Free()
		}
		return err
	}
	return map[string]func() error{
		"Alloc": func() error {
			buffer, err := b.Memory().Alloc(100, tensor.F32)
			if err == nil {
				err = buffer.Free()
			}
			return err
		},
		"New":               func() error { return made(tensor.New(b, tensor.F32, tensor.ShapeOf(8))) },
		"CopyFrom host":     func() error { return made(b.CopyFrom(o.host)) },
		"CopyFrom device":   func() error { return made(b.CopyFrom(o.x)) },
		"Prepare":           func() error { return made(b.Prepare(context.Background(), o.square)) },
		"Prepare on device": func() error { return made(b.Prepare(context.Background(), o.host)) },
		"Map":               func() error { return errors.Join(o.y.Buffer().Map(), o.y.Buffer().Unmap()) },
		"Sync":              func() error { return o.x.Buffer().Sync() },
		"Synchronize":       b.Synchronize,
		"MatMul":            func() error { return b.Run(&backend.MatMul{A: o.x, B: o.square, Out: o.y}) },
		"MatMulTransposed":  func() error { return b.Run(&backend.MatMulTransposed{X: o.x, W: o.split, Out: o.y}) },
		"many rows, halves": func() error { return b.Run(&backend.MatMulTransposed{X: o.square, W: o.plain, Out: o.square}) },
		"many rows, blocks": func() error { return b.Run(&backend.MatMulTransposed{X: o.square, W: o.split, Out: o.square}) },
		"AddAssign":         func() error { return b.Run(&backend.AddAssign{A: o.x, B: o.y}) },
		"AddAssign of host": func() error { return b.Run(&backend.AddAssign{A: o.x, B: o.host}) },
		"Scale":             func() error { return b.Run(&backend.Scale{X: o.x, By: 2}) },
		"SiLUMul":           func() error { return b.Run(&backend.SiLUMul{A: o.x, B: o.y}) },
		"GELUMul":           func() error { return b.Run(&backend.GELUMul{A: o.x, B: o.y}) },
		"RMSNorm":           func() error { return b.Run(&backend.RMSNorm{X: o.x, W: o.gain, Eps: 1e-5}) },
		"Softmax":           func() error { return b.Run(&backend.Softmax{X: o.x}) },
		"Softmax, long":     func() error { return b.Run(&backend.Softmax{X: o.long}) },
		"RoPE":              func() error { return b.Run(&backend.RoPE{X: o.head, Table: o.table}) },
		"RoPEStore": func() error {
			return b.Run(&backend.RoPEStore{Q: o.head, K: view3(o.y), V: view3(o.gain), Table: o.table, Runs: o.run()})
		},
		"RoPEStore, host's":   func() error { return b.Run(&backend.RoPEStore{K: view3(o.host), V: view3(o.gain), Runs: o.run()}) },
		"Attend":              func() error { return b.Run(&backend.Attend{Q: o.head, Out: view3(o.y), Runs: o.run()}) },
		"AccumulateAttention": func() error { return b.Run(&backend.AccumulateAttention{Q: o.head, Sums: o.sums, Run: o.run()[0]}) },
		"Compact":             func() error { return b.Run(&backend.Compact{Slots: o.slots, Keep: [][]int32{{1, 5, 180}}}) },
		"CopyPage": func() error {
			return b.Run(&backend.CopyPage{From: o.slots.Heads[0].Pages[0], To: backend.Page{Slab: o.slab, Index: 2}})
		},
		"ReadSlots": func() error {
			return b.Run(&backend.ReadSlots{Slots: o.slots, Head: 0, First: 127, Keys: o.square, Values: o.square})
		},
		"ReadSlots to host": func() error { return b.Run(&backend.ReadSlots{Slots: o.slots, Head: 0, First: 127, Keys: o.host}) },
		"WriteSlots": func() error {
			return b.Run(&backend.WriteSlots{Slots: o.slots, Head: 0, First: 127, Keys: o.square, Values: o.square})
		},
		"WriteSlots of host": func() error { return b.Run(&backend.WriteSlots{Slots: o.slots, Head: 0, First: 127, Values: o.host}) },
		"Gather":             func() error { return b.Run(&backend.Gather{Table: o.split, Indices: []int32{3}, Out: o.x}) },
		"Gather of several":  func() error { return b.Run(&backend.Gather{Table: o.plain, Indices: make([]int32, 64), Out: o.square}) },
		"CopySlice":          func() error { return b.Run(&backend.CopySlice{Src: o.x, Dst: o.y, N: 64}) },
		"CopySlice, overlap": func() error { return b.Run(&backend.CopySlice{Src: o.cache, Dst: o.cache, From: 64, N: 4 * 64}) },
		"CopySlice of host":  func() error { return b.Run(&backend.CopySlice{Src: o.host, Dst: o.y, N: 64}) },
		"CopySlice to host":  func() error { return b.Run(&backend.CopySlice{Src: o.y, Dst: o.host, N: 64}) },
		"ReadBuffer":         func() error { return b.ReadBuffer(o.x, bytes) },
		"ReadBuffer of host": func() error { return b.ReadBuffer(o.host, bytes) },
		"Cast":               func() error { return b.Run(&backend.Cast{Src: o.x, Dst: o.slot}) },
		"Cast to floats":     func() error { return b.Run(&backend.Cast{Src: o.slot, Dst: o.x}) },
		"Cast of one type":   func() error { return b.Run(&backend.Cast{Src: o.x, Dst: o.y}) },
		"NormMatMul": func() error {
			return b.Run(&backend.NormMatMul{X: o.x, Norm: o.gain, Eps: 1e-5, Normed: o.y, Ws: []*tensor.Tensor{o.split}, Outs: []*tensor.Tensor{o.y}})
		},
		"MatMulAdd": func() error { return b.Run(&backend.MatMulAdd{X: o.x, W: o.split, Product: o.y, Out: o.y}) },
		"NormSwiGLU": func() error {
			return b.Run(&backend.NormSwiGLU{X: o.x, Norm: o.gain, Eps: 1e-5, Normed: o.table, Gate: o.split, Up: o.split, Product: o.y, Out: o.y})
		},
		"Largest": func() error {
			return b.Run(&backend.Largest{X: o.long, Indices: make([]int32, 3), Values: make([]float32, 3)})
		},
		"Mask": func() error { return b.Run(&backend.Mask{X: o.long, Allowed: make([]uint64, longRow/64+1)}) },
	}
}

// TestStrict uses everything under a strict driver.
func TestStrict(t *testing.T) {
	b, driver := openStrict(t)
	b.selects = true
	o := newOperands(t, b)
	for name, f := range o.operations(b) {
		if err := f(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		driver.check(t, name)
	}
	o.free(t)
	must(t, b.Close())
	driver.checkEmpty(t, "after Close")
	if used := b.Memory().Used(); used != 0 {
		t.Errorf("%d bytes are in use", used)
	}
}

// TestClosed asks a closed backend for everything: it refuses, the driver notices nothing, and what tensors hold can still be
// given up.
func TestClosed(t *testing.T) {
	for _, selects := range []bool{false, true} {
		b, driver := openStrict(t)
		b.selects = selects
		o := newOperands(t, b)
		must(t, o.gain.Buffer().Map())
		must(t, o.table.Buffer().Map())
		must(t, b.Close())
		must(t, b.Close())
		for name, f := range o.operations(b) {
			if err := f(); !errors.Is(err, ErrClosed) {
				t.Errorf("%s after Close: %v", name, err)
			}
			driver.check(t, name+" after Close")
		}
		o.gain.Data()[0] = 1 // mapped memory can be touched until it is freed
		must(t, o.gain.Buffer().Unmap())
		o.free(t)
		o.free(t)
		driver.checkEmpty(t, "after Close")
		if used := b.Memory().Used(); used != 0 {
			t.Errorf("%d bytes are in use", used)
		}
	}
}

// TestCloseWhileComputing closes a backend that several goroutines use.
func TestCloseWhileComputing(t *testing.T) {
	for range 10 {
		b, driver := openStrict(t)
		all := []*operands{newOperands(t, b), newOperands(t, b), newOperands(t, b)}
		var begun, done sync.WaitGroup
		for _, o := range all {
			begun.Add(1)
			done.Go(func() {
				operations := o.operations(b)
				for first := true; ; first = false {
					for name, f := range operations {
						err := f()
						if errors.Is(err, ErrClosed) {
							if first {
								begun.Done()
							}
							return
						}
						if err != nil {
							t.Errorf("%s: %v", name, err)
						}
					}
					if first {
						begun.Done()
					}
				}
			})
		}
		begun.Wait()
		must(t, b.Close())
		done.Wait()
		for _, o := range all {
			o.free(t)
		}
		driver.checkEmpty(t, "after Close")
	}
}

// TestSharedOperand lets kernels read a tensor that an operation on the host has mapped now and then.
func TestSharedOperand(t *testing.T) {
	b, driver := openStrict(t)
	driver.lag = 100 * time.Microsecond
	shared, err := tensor.New(b, tensor.F32, tensor.ShapeOf(64))
	must(t, err)
	ones := []float32{1}
	for range 63 {
		ones = append(ones, 1)
	}
	host, err := tensor.FromFloats(ones, 64)
	must(t, err)
	must(t, b.Run(&backend.CopySlice{Src: host, Dst: shared, N: 64}))
	const times = 100
	var adding, mapping sync.WaitGroup
	var added atomic.Bool
	for range 3 {
		sum, err := tensor.New(b, tensor.F32, tensor.ShapeOf(64))
		must(t, err)
		adding.Go(func() {
			for range times {
				if err := b.Run(&backend.AddAssign{A: sum, B: shared}); err != nil {
					t.Error(err)
					return
				}
			}
			out := make([]float32, 64)
			if err := backend.ReadFloats(b, sum, out); err != nil || out[7] != times {
				t.Errorf("the sum is %g, want %d (%v)", out[7], times, err)
			}
		})
	}
	for range 2 {
		mapping.Go(func() {
			for !added.Load() {
				if err := shared.Buffer().Map(); err != nil {
					t.Error(err)
				}
				if data := shared.Data(); len(data) != 256 || data[3] != 0x3f {
					t.Errorf("the host sees %d bytes", len(data))
				}
				time.Sleep(driver.lag)
				if err := shared.Buffer().Unmap(); err != nil {
					t.Error(err)
				}
				time.Sleep(driver.lag)
			}
		})
	}
	adding.Wait()
	added.Store(true)
	mapping.Wait()
	driver.check(t, t.Name())
	if shared.Buffer().Mapped() {
		t.Error("the buffer is still mapped")
	}
}

// lostFile is a tensor in a mapped file that was cut short.
func lostFile(t *testing.T, d tensor.DType, dims ...int) *tensor.Tensor {
	t.Helper()
	size, err := d.Bytes(tensor.ShapeOf(dims...).NumElements())
	must(t, err)
	name := filepath.Join(t.TempDir(), "weights")
	must(t, os.WriteFile(name, make([]byte, size), 0o600))
	file, err := mmap.Open(name)
	must(t, err)
	t.Cleanup(func() { file.Close() })
	if err := os.Truncate(name, 0); err != nil {
		t.Skip(err) // as on Windows
	}
	x, err := tensor.Wrap(nil, tensor.WrapBytes(d, file.Bytes(), file, true), tensor.ShapeOf(dims...))
	must(t, err)
	return x
}

// TestFileCutShort gives the device tensors in a file that has been cut short since it was mapped: every use is an error, and the
// backend goes on.
func TestFileCutShort(t *testing.T) {
	b, driver := openStrict(t)
	o := newOperands(t, b)
	wide := func(d tensor.DType) *tensor.Tensor { return lostFile(t, d, 1024, 4096) } // several places of staging memory
	row, square, wideFloats := lostFile(t, tensor.F32, 1, 64), lostFile(t, tensor.F32, 64, 64), wide(tensor.F32)
	large, err := tensor.New(b, tensor.F32, wideFloats.Shape())
	must(t, err)
	defer large.Free()
	made := func(_ *tensor.Tensor, err error) error { return err }
	used := b.Memory().Used()
	for name, f := range map[string]func() error{
		"CopyFrom, small":    func() error { return made(b.CopyFrom(row)) },
		"CopyFrom, large":    func() error { return made(b.CopyFrom(wideFloats)) },
		"CopySlice":          func() error { return b.Run(&backend.CopySlice{Src: row, Dst: o.x, N: 64}) },
		"CopySlice to host":  func() error { return b.Run(&backend.CopySlice{Src: row, Dst: o.host, N: 64}) },
		"CopySlice, large":   func() error { return b.Run(&backend.CopySlice{Src: wideFloats, Dst: large, N: 1 << 22}) },
		"Prepare floats":     func() error { return made(b.Prepare(t.Context(), wideFloats)) },
		"Prepare halves":     func() error { return made(b.Prepare(t.Context(), wide(tensor.F16))) },
		"Prepare Q4_0":       func() error { return made(b.Prepare(t.Context(), wide(tensor.Q4_0))) },
		"Prepare Q6_K":       func() error { return made(b.Prepare(t.Context(), wide(tensor.Q6_K))) },
		"Prepare, too short": func() error { return made(b.Prepare(t.Context(), lostFile(t, tensor.F32, 64, 3))) },
		"Gather":             func() error { return b.Run(&backend.Gather{Table: square, Indices: []int32{3}, Out: o.x}) },
		"Cast":               func() error { return b.Run(&backend.Cast{Src: row, Dst: o.x}) },
		"Cast to halves":     func() error { return b.Run(&backend.Cast{Src: row, Dst: o.slot}) },
		"MatMul":             func() error { return b.Run(&backend.MatMul{A: o.x, B: square, Out: o.y}) },
		"MatMulTransposed":   func() error { return b.Run(&backend.MatMulTransposed{X: o.x, W: square, Out: o.y}) },
		"AddAssign":          func() error { return b.Run(&backend.AddAssign{A: o.x, B: row}) },
		"SiLUMul":            func() error { return b.Run(&backend.SiLUMul{A: o.x, B: row}) },
		"GELUMul":            func() error { return b.Run(&backend.GELUMul{A: o.x, B: row}) },
		"RMSNorm":            func() error { return b.Run(&backend.RMSNorm{X: o.x, W: lostFile(t, tensor.F32, 64), Eps: 1e-5}) },
		"ReadBuffer":         func() error { return b.ReadBuffer(row, make([]byte, 256)) },
		"Largest": func() error {
			return b.Run(&backend.Largest{X: row, Indices: make([]int32, 2), Values: make([]float32, 2)})
		},
	} {
		var fault *mmap.FaultError
		if err := f(); !errors.As(err, &fault) {
			t.Errorf("%s: %v", name, err)
		} else if strings.HasPrefix(err.Error(), "mmap") && name[0] != 'R' && !strings.Contains(err.Error(), "memory") {
			t.Errorf("%s: %v does not say what was being done", name, err)
		}
	}
	must(t, b.Run(&backend.Scale{X: o.x, By: 2}))
	must(t, b.Synchronize())
	if now := b.Memory().Used(); now > used+2*maxUpload { // scratch
		t.Errorf("%d bytes stay allocated", now-used)
	}
	o.free(t)
	driver.check(t, t.Name())
}

// TestDriverSeesOwnMemoryOnly sends and reads tensors of the caller's memory: the driver must be given copies.
func TestDriverSeesOwnMemoryOnly(t *testing.T) {
	b, driver := openStrict(t)
	for _, d := range []tensor.DType{tensor.F32, tensor.F16, tensor.Q4_0, tensor.Q6_K} {
		for _, rows := range []int{2, 4096} {
			size, err := d.Bytes(rows * 512)
			must(t, err)
			bytes := make([]byte, size)
			for i := range bytes {
				bytes[i] = byte(i*7 + i>>8)
			}
			back := make([]byte, size)
			driver.foreign = [][]byte{bytes, back}
			host, err := tensor.Wrap(nil, tensor.WrapBytes(d, bytes, nil, true), tensor.ShapeOf(rows, 512))
			must(t, err)
			w, err := b.Prepare(t.Context(), host)
			must(t, err)
			x, err := b.CopyFrom(host)
			must(t, err)
			must(t, b.Run(&backend.CopySlice{Src: host, Dst: x, N: rows * 512}))
			must(t, b.ReadBuffer(x, back))
			if string(back) != string(bytes) {
				t.Errorf("%d rows of %v come back changed", rows, d)
			}
			must(t, w.Free())
			must(t, x.Free())
		}
	}
	driver.check(t, t.Name())
}
