//go:build opencl && (amd64 || arm64)

package opencl

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/backend/backendtest"
	"github.com/antigravity-go/antigravity/backend/opencl/internal/cl"
	"github.com/antigravity-go/antigravity/tensor"
)

// scenario uses everything once, and gives up at the first error.
func scenario(driver cl.Driver, folder string) (err error) {
	b, err := open(driver, Options{Cache: folder})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	b.selects = true
	var tensors []*tensor.Tensor
	defer func() {
		for _, t := range tensors {
			err = errors.Join(err, t.Free())
		}
	}()
	device := func(d tensor.DType, dims ...int) *tensor.Tensor {
		t, e := tensor.New(b, d, tensor.ShapeOf(dims...))
		if e != nil {
			err = errors.Join(err, e)
			return nil
		}
		tensors = append(tensors, t)
		return t
	}
	host, e := tensor.New(nil, tensor.Q4_0, tensor.ShapeOf(64, 64))
	if e != nil {
		return e
	}
	w, e := b.Prepare(context.Background(), host)
	if e != nil {
		return e
	}
	tensors = append(tensors, w)
	x, y, cache, gain := device(tensor.F32, 1, 64), device(tensor.F32, 1, 64), device(tensor.F16, 8, 1, 64), device(tensor.F32, 64)
	slab, sums := device(tensor.F16, 2, 2, backend.PageSlots, 64), device(tensor.F32, 1, 200)
	long := device(tensor.F32, selectSlice+1)
	if err != nil {
		return err
	}
	run := []backend.Run{{Tokens: 1, Slots: slotsIn(slab, 200)}}
	for i, step := range []func() error{
		func() error { return b.Run(&backend.Gather{Table: w, Indices: []int32{3}, Out: x}) },
		func() error {
			return b.Run(&backend.NormMatMul{X: x, Norm: gain, Eps: 1e-5, Normed: y, Ws: []*tensor.Tensor{w}, Outs: []*tensor.Tensor{y}})
		},
		func() error { return b.Run(&backend.MatMulAdd{X: y, W: w, Product: x, Out: x}) },
		func() error { return b.Run(&backend.Cast{Src: x, Dst: view(cache, 2)}) },
		func() error {
			return b.Run(&backend.RoPEStore{Q: view3(x), K: view3(y), V: view3(gain), Table: x, Runs: run})
		},
		func() error { return b.Run(&backend.Attend{Q: view3(x), Out: view3(y), Runs: run}) },
		func() error { return b.Run(&backend.AccumulateAttention{Q: view3(x), Sums: sums, Run: run[0]}) },
		func() error { return b.Run(&backend.Compact{Slots: run[0].Slots, Keep: [][]int32{{1, 5, 180}}}) },
		func() error {
			return b.Run(&backend.CopyPage{From: run[0].Slots.Heads[0].Pages[0], To: run[0].Slots.Heads[0].Pages[1]})
		},
		func() error {
			return b.Run(&backend.WriteSlots{Slots: run[0].Slots, Head: 0, First: 127, Keys: view(cache, 1), Values: x})
		},
		func() error { return b.Run(&backend.ReadSlots{Slots: run[0].Slots, Head: 0, First: 127, Values: x}) },
		func() error { return b.Run(&backend.CopySlice{Src: cache, Dst: cache, From: 64, N: 4 * 64}) },
		func() error {
			return b.onHost("Scale", func() error { return b.host.Run(&backend.Scale{X: x, By: 2}) })
		},
		func() error { return b.Run(&backend.Mask{X: long, Allowed: make([]uint64, selectSlice/64+1)}) },
		func() error {
			return b.Run(&backend.Largest{X: long, Indices: make([]int32, 3), Values: make([]float32, 3)})
		},
		func() error { return b.Synchronize() },
		func() error { return b.ReadBuffer(x, make([]byte, x.Size())) },
	} {
		if e := step(); e != nil {
			return fmt.Errorf("step %d: %w", i, e)
		}
	}
	return nil
}

// view returns one slot of a cache as a row.
func view(t *tensor.Tensor, slot int) *tensor.Tensor {
	v, err := t.Slice(slot, slot+1)
	if err == nil {
		v, err = v.Reshape(1, 64)
	}
	if err != nil {
		panic(err)
	}
	return v
}

// view3 returns a row as a head.
func view3(t *tensor.Tensor) *tensor.Tensor {
	v, err := t.Reshape(1, 1, 64)
	if err != nil {
		panic(err)
	}
	return v
}

// TestFailingDriver lets each call of the library fail in turn. Every failure must come back as an error and leave nothing
// behind.
func TestFailingDriver(t *testing.T) {
	real, err := cl.Open()
	if err != nil {
		t.Skip(err)
	}
	folder := t.TempDir()
	none := newStrict(real)
	if err := scenario(none, folder); errors.Is(err, ErrNoDevice) {
		t.Skip(err)
	} else if err != nil {
		t.Fatal("without failures:", err)
	}
	none.checkEmpty(t, "without failures")
	// A device that cannot be asked is passed over if there is another.
	asked := map[cl.Function]bool{cl.GetPlatformIDs: true, cl.GetPlatformInfo: true, cl.GetDeviceIDs: true, cl.GetDeviceInfo: true}
	devices, _ := Devices()
	for f, calls := range none.calls {
		for _, onwards := range []bool{false, true} {
			for _, at := range []int{1, (calls + 1) / 2, calls} {
				d := newStrict(real)
				d.fault = backendtest.Fault{Err: cl.OutOfResources, In: []string{f.String()}, Once: !onwards, Lost: onwards}
				d.fault.Arm(at - 1)
				name := fmt.Sprintf("%v failing at call %d of %d, onwards %v", f, at, calls, onwards)
				err := scenario(d, folder)
				d.checkEmpty(t, name)
				switch {
				case !d.fault.Struck(), quiet[f], err == nil && asked[f] && len(devices) > 1, err != nil && (strings.Contains(err.Error(), "opencl") || strings.Contains(err.Error(), "cl")):
				default:
					t.Errorf("%s: the error is %v", name, err)
				}
			}
		}
	}
}

// quiet are the calls with failures that cost time at most: those of the cache, and releases of objects other than memory.
var quiet = map[cl.Function]bool{
	cl.CreateProgramWithBinary: true, cl.BuildProgram: true, cl.GetProgramInfo: true, cl.GetProgramBuildInfo: true,
	cl.ReleaseProgram: true, cl.ReleaseKernel: true, cl.ReleaseContext: true, cl.ReleaseCommandQueue: true, cl.ReleaseEvent: true,
	cl.ReleaseMemObject: true, cl.EnqueueUnmapMemObject: true,
}

// TestBuildFailureNamesDeviceAndLog compiles a kernel that is wrong, from a folder of replacements.
func TestBuildFailureNamesDeviceAndLog(t *testing.T) {
	b := openTest(t, Options{})
	folder := t.TempDir()
	writeFile(t, folder, "elementwise.cl", "__kernel void scale() { undeclared = 1; }")
	_, err := New(Options{Kernels: folder})
	if err == nil || !strings.Contains(err.Error(), b.device.Name) || !strings.Contains(err.Error(), "undeclared") {
		t.Errorf("a wrong kernel: %v", err)
	}
}
