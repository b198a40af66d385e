//go:build opencl && (amd64 || arm64)

package opencl

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/antigravity-go/antigravity/backend/backendtest"
	"github.com/antigravity-go/antigravity/backend/opencl/internal/cl"
)

// strict is a driver that looks at what it is called with, as a real one does not: every object must be one that was created and
// has not been released, no object may be released while a call uses it or while it is mapped, the device must not be given a
// buffer that the host has mapped, and no pointer may lead into memory that the test has declared foreign. Its calls can fail.
type strict struct {
	cl.Driver
	fault backendtest.Fault // of calls by the names of the functions

	mu      sync.Mutex
	calls   map[cl.Function]int
	live    map[uintptr]cl.Function // objects, by handle, and what created them
	using   map[uintptr]int         // calls that use an object now
	mapped  map[uintptr]int         // buffers, and how often the host has mapped them
	args    map[[2]uintptr]uintptr  // buffers that are arguments, by kernel and number of the argument
	foreign [][]byte                // memory that the driver must not be given
	lag     time.Duration           // how long a kernel takes to be enqueued, so that others wait
	refused []string
}

func newStrict(driver cl.Driver) *strict {
	return &strict{
		Driver: driver, calls: map[cl.Function]int{}, live: map[uintptr]cl.Function{}, using: map[uintptr]int{}, mapped: map[uintptr]int{}, args: map[[2]uintptr]uintptr{},
	}
}

// creators return an object and are undone by another call.
var creators = map[cl.Function]cl.Function{
	cl.CreateContext: cl.ReleaseContext, cl.CreateCommandQueue: cl.ReleaseCommandQueue, cl.CreateBuffer: cl.ReleaseMemObject,
	cl.CreateProgramWithSource: cl.ReleaseProgram, cl.CreateProgramWithBinary: cl.ReleaseProgram, cl.CreateKernel: cl.ReleaseKernel,
	cl.EnqueueMapBuffer: cl.EnqueueUnmapMemObject,
}

// objectArguments says which arguments of a call are objects.
var objectArguments = map[cl.Function][]int{
	cl.ReleaseContext: {0}, cl.CreateCommandQueue: {0}, cl.CreateBuffer: {0}, cl.CreateProgramWithSource: {0}, cl.CreateProgramWithBinary: {0},
	cl.ReleaseCommandQueue: {0}, cl.ReleaseMemObject: {0}, cl.Flush: {0}, cl.Finish: {0},
	cl.BuildProgram: {0}, cl.GetProgramInfo: {0}, cl.GetProgramBuildInfo: {0}, cl.ReleaseProgram: {0}, cl.CreateKernel: {0},
	cl.ReleaseKernel: {0}, cl.SetKernelArg: {0}, cl.GetKernelWorkGroupInfo: {0}, cl.EnqueueNDRangeKernel: {0, 1},
	cl.EnqueueReadBuffer: {0, 1}, cl.EnqueueWriteBuffer: {0, 1}, cl.EnqueueFillBuffer: {0, 1}, cl.EnqueueMapBuffer: {0, 1},
	cl.EnqueueUnmapMemObject: {0, 1}, cl.EnqueueCopyBuffer: {0, 1, 2},
}

// deviceUses are the calls that let the device touch the buffers among their arguments.
var deviceUses = map[cl.Function][]int{
	cl.EnqueueReadBuffer: {1}, cl.EnqueueWriteBuffer: {1}, cl.EnqueueFillBuffer: {1}, cl.EnqueueCopyBuffer: {1, 2},
}

// hostPointers are the calls that let the driver touch the host's memory: the arguments that are the pointer and the length.
var hostPointers = map[cl.Function][2]int{cl.EnqueueReadBuffer: {5, 4}, cl.EnqueueWriteBuffer: {5, 4}}

// at returns the word at an address that is an argument.
func at(address *uintptr) uintptr { return *(*uintptr)(*(*unsafe.Pointer)(unsafe.Pointer(address))) }

func (s *strict) Call(fn cl.Function, args ...uintptr) uintptr {
	if fn == cl.EnqueueNDRangeKernel {
		time.Sleep(s.lag)
	}
	s.before(fn, args)
	var result uintptr
	if s.fault.Before(fn.String(), nil) == nil {
		result = s.Driver.Call(fn, args...)
	} else {
		result = s.fail(fn, args)
	}
	s.after(fn, args, result)
	return result
}

// fail returns an error from a call. What undoes something does it all the same: nobody could undo it later.
func (s *strict) fail(fn cl.Function, args []uintptr) uintptr {
	code := int32(cl.OutOfResources)
	if _, creates := creators[fn]; creates {
		*(*int32)(*(*unsafe.Pointer)(unsafe.Pointer(&args[len(args)-1]))) = code
		return 0
	}
	for _, undo := range creators {
		if undo == fn {
			s.Driver.Call(fn, args...)
			break
		}
	}
	return uintptr(uint32(code))
}

// refuse notes what must not be.
func (s *strict) refuse(fn cl.Function, format string, args ...any) {
	s.refused = append(s.refused, fmt.Sprintf("%v: %s", fn, fmt.Sprintf(format, args...)))
}

func (s *strict) before(fn cl.Function, args []uintptr) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls[fn]++
	for _, i := range objectArguments[fn] {
		if _, ok := s.live[args[i]]; !ok {
			s.refuse(fn, "argument %d is no living object", i)
		}
		s.using[args[i]]++
	}
	for _, i := range deviceUses[fn] {
		if s.mapped[args[i]] > 0 {
			s.refuse(fn, "argument %d is a buffer that the host has mapped", i)
		}
	}
	if p, ok := hostPointers[fn]; ok {
		from, to := args[p[0]], args[p[0]]+args[p[1]]
		for _, memory := range s.foreign {
			begin := uintptr(unsafe.Pointer(unsafe.SliceData(memory)))
			if from < begin+uintptr(len(memory)) && begin < to {
				s.refuse(fn, "%d bytes of foreign memory", args[p[1]])
			}
		}
	}
	switch fn {
	case cl.SetKernelArg: // of 8 bytes: a buffer, or a number that is no buffer
		delete(s.args, [2]uintptr{args[0], args[1]})
		if args[2] == 8 {
			if handle := at(&args[3]); s.live[handle] == cl.CreateBuffer {
				s.args[[2]uintptr{args[0], args[1]}] = handle
			}
		}
	case cl.EnqueueNDRangeKernel:
		for place, handle := range s.args {
			if place[0] == args[1] && (s.mapped[handle] > 0 || s.live[handle] != cl.CreateBuffer) {
				s.refuse(fn, "argument %d of the kernel is a buffer that the host has mapped, or that was released", place[1])
			}
		}
	case cl.EnqueueUnmapMemObject:
		if s.mapped[args[1]]--; s.mapped[args[1]] < 0 {
			s.refuse(fn, "a buffer that is not mapped")
		}
	}
	for created, undo := range creators {
		if undo != fn || created == cl.EnqueueMapBuffer {
			continue
		}
		if s.using[args[0]] > 1 {
			s.refuse(fn, "an object that another call is using")
		}
		if s.mapped[args[0]] > 0 {
			s.refuse(fn, "a buffer that is mapped")
		}
		delete(s.live, args[0]) // before the call, after which the driver may use the handle again
		delete(s.mapped, args[0])
		break
	}
}

func (s *strict) after(fn cl.Function, args []uintptr, result uintptr) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, i := range objectArguments[fn] {
		s.using[args[i]]--
	}
	if _, creates := creators[fn]; creates && result != 0 {
		if fn == cl.EnqueueMapBuffer {
			s.mapped[args[1]]++
			return
		}
		s.live[result] = fn
	}
}

// check reports what must not have been.
func (s *strict) check(t *testing.T, during string) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	slices.Sort(s.refused)
	for fault := range slices.Values(slices.Compact(s.refused)) {
		t.Errorf("%s: %s", during, fault)
	}
	s.refused = nil
}

// checkEmpty reports objects that were not released.
func (s *strict) checkEmpty(t *testing.T, after string) {
	t.Helper()
	s.check(t, after)
	for _, created := range s.live {
		t.Errorf("%s: what %v made was not released", after, created)
	}
}

// openStrict opens the device behind a strict driver.
func openStrict(t *testing.T) (*Backend, *strict) {
	t.Helper()
	openTest(t, Options{}) // or skips
	driver, err := cl.Open()
	must(t, err)
	s := newStrict(driver)
	b, err := open(s, Options{})
	must(t, err)
	t.Cleanup(func() { b.Close() })
	return b, s
}
