//go:build opencl && (amd64 || arm64)

package opencl

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"github.com/antigravity-go/antigravity/backend/opencl/internal/cl"
	"github.com/antigravity-go/antigravity/tensor"
)

// failing is a driver that fails at a chosen call and counts what is created and not released.
type failing struct {
	cl.Driver
	function cl.Function // fails
	at       int         // at its call of this number, from 1 on; 0: never
	onwards  bool        // everything fails from then on, as with a device that was lost

	mu     sync.Mutex
	calls  map[cl.Function]int
	failed bool
	live   map[cl.Function]int // by what creates them
}

// creators return an object and are undone by another call.
var creators = map[cl.Function]cl.Function{
	cl.CreateContext: cl.ReleaseContext, cl.CreateCommandQueue: cl.ReleaseCommandQueue, cl.CreateBuffer: cl.ReleaseMemObject,
	cl.CreateProgramWithSource: cl.ReleaseProgram, cl.CreateProgramWithBinary: cl.ReleaseProgram, cl.CreateKernel: cl.ReleaseKernel,
	cl.EnqueueMapBuffer: cl.EnqueueUnmapMemObject,
}

func (f *failing) Call(fn cl.Function, args ...uintptr) uintptr {
	f.mu.Lock()
	f.calls[fn]++
	fail := fn == f.function && f.calls[fn] == f.at || f.failed && f.onwards
	f.failed = f.failed || fail
	f.mu.Unlock()
	_, creates := creators[fn]
	for created, undo := range creators {
		if undo == fn {
			f.count(created, -1)
			if fail { // it is an error, but nothing that a caller could undo
				f.Driver.Call(fn, args...)
			}
			break
		}
	}
	const outOfResources = -5
	switch {
	case fail && creates:
		*(*int32)(*(*unsafe.Pointer)(unsafe.Pointer(&args[len(args)-1]))) = outOfResources
		return 0
	case fail:
		code := int32(outOfResources)
		return uintptr(uint32(code))
	}
	result := f.Driver.Call(fn, args...)
	if creates && result != 0 {
		f.count(fn, 1)
	}
	return result
}

// count counts objects under the call that undoes them.
func (f *failing) count(created cl.Function, n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.live[creators[created]] += n
}

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
	w, e := b.Prepare(host)
	if e != nil {
		return e
	}
	tensors = append(tensors, w)
	x, y, cache, gain := device(tensor.F32, 1, 64), device(tensor.F32, 1, 64), device(tensor.F16, 8, 1, 64), device(tensor.F32, 64)
	long := device(tensor.F32, selectSlice+1)
	if err != nil {
		return err
	}
	for i, step := range []func() error{
		func() error { return b.Gather(w, []int32{3}, x) },
		func() error { return b.NormMatMul(x, gain, 1e-5, y, []*tensor.Tensor{w}, []*tensor.Tensor{y}) },
		func() error { return b.MatMulAdd(y, w, x, x) },
		func() error { return b.Cast(x, view(cache, 2)) },
		func() error { return b.Attention(view3(x), cache, cache, view3(y), 8) },
		func() error { return b.Compact(cache, []int32{1, 5}) },
		func() error { return b.CopySlice(cache, cache, 64, 0, 4*64) },
		func() error { return b.onHost(func() error { return b.Base.Scale(x, 2) }) },
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
	none := &failing{Driver: real, calls: map[cl.Function]int{}, live: map[cl.Function]int{}}
	if err := scenario(none, folder); errors.Is(err, ErrNoDevice) {
		t.Skip(err)
	} else if err != nil {
		t.Fatal("without failures:", err)
	}
	checkReleased(t, "without failures", none)
	// A device that cannot be asked is passed over where there is another.
	asked := map[cl.Function]bool{cl.GetPlatformIDs: true, cl.GetPlatformInfo: true, cl.GetDeviceIDs: true, cl.GetDeviceInfo: true}
	devices, _ := Devices()
	for f, calls := range none.calls {
		for _, onwards := range []bool{false, true} {
			for _, at := range []int{1, (calls + 1) / 2, calls} {
				d := &failing{Driver: real, function: f, at: at, onwards: onwards, calls: map[cl.Function]int{}, live: map[cl.Function]int{}}
				name := fmt.Sprintf("%v failing at call %d of %d, onwards %v", f, at, calls, onwards)
				err := scenario(d, folder)
				checkReleased(t, name, d)
				switch {
				case !d.failed, quiet[f], err == nil && asked[f] && len(devices) > 1, err != nil && (strings.Contains(err.Error(), "opencl") || strings.Contains(err.Error(), "cl")):
				default:
					t.Errorf("%s: the error is %v", name, err)
				}
			}
		}
	}
}

// quiet are the calls whose failure costs time at most: those of the cache, and the giving up of what is no memory.
var quiet = map[cl.Function]bool{
	cl.CreateProgramWithBinary: true, cl.BuildProgram: true, cl.GetProgramInfo: true, cl.GetProgramBuildInfo: true,
	cl.ReleaseProgram: true, cl.ReleaseKernel: true, cl.ReleaseContext: true, cl.ReleaseCommandQueue: true, cl.ReleaseEvent: true,
	cl.ReleaseMemObject: true, cl.EnqueueUnmapMemObject: true,
}

func checkReleased(t *testing.T, name string, d *failing) {
	t.Helper()
	for undo, n := range d.live {
		if n != 0 {
			t.Errorf("%s: %d objects more were created than %v gave up", name, n, undo)
		}
	}
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
