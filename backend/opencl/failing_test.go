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
		func() error { return b.Gather(w, []int32{3}, x) },
		func() error { return b.NormMatMul(x, gain, 1e-5, y, []*tensor.Tensor{w}, []*tensor.Tensor{y}) },
		func() error { return b.MatMulAdd(y, w, x, x) },
		func() error { return b.Cast(x, view(cache, 2)) },
		func() error { return b.RoPEStore(view3(x), view3(y), view3(gain), x, run) },
		func() error { return b.Attend(view3(x), view3(y), run) },
		func() error { return b.AccumulateAttention(view3(x), sums, run[0]) },
		func() error { return b.Compact(run[0].Slots, [][]int32{{1, 5, 180}}) },
		func() error { return b.CopyPage(run[0].Slots.Heads[0].Pages[0], run[0].Slots.Heads[0].Pages[1]) },
		func() error { return b.WriteSlots(run[0].Slots, 0, 127, view(cache, 1), x) },
		func() error { return b.ReadSlots(run[0].Slots, 0, 127, nil, x) },
		func() error { return b.CopySlice(cache, cache, 64, 0, 4*64) },
		func() error { return b.onHost(func() error { return b.host.Scale(x, 2) }) },
		func() error { return b.Mask(long, make([]uint64, selectSlice/64+1)) },
		func() error { return b.Largest(long, make([]int32, 3), make([]float32, 3)) },
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
