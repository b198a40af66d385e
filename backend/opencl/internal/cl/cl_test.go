//go:build opencl && (amd64 || arm64)

package cl

import (
	"encoding/binary"
	"errors"
	"strings"
	"testing"
)

// anyContext makes a context on the first device.
func anyContext(t *testing.T) *Context {
	t.Helper()
	driver, err := Open()
	if err != nil {
		t.Skip(err)
	}
	devices, err := New(driver).Devices()
	if err != nil || len(devices) == 0 {
		t.Skipf("no OpenCL device: %v", err)
	}
	c, err := devices[0].NewContext()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Release)
	return c
}

// TestOrderOfKinds has devices that say they are several kinds at once, as simulators do.
func TestOrderOfKinds(t *testing.T) {
	for _, c := range []struct {
		kind Kind
		want int
	}{{GPU, 0}, {GPU | CPU | Accelerator, 0}, {Accelerator | CPU, 1}, {CPU, 2}, {1 << 4, 3}} {
		if got := c.kind.order(); got != c.want {
			t.Errorf("kind %b comes at %d, want %d", uint64(c.kind), got, c.want)
		}
	}
}

const addSource = `__kernel void add(__global uint *x, uint v) { x[get_global_id(0)] += v; }`

func TestKernel(t *testing.T) {
	c := anyContext(t)
	p, err := c.Build(addSource, "")
	if err != nil {
		t.Fatal(err)
	}
	binary1, err := p.Binary()
	if err != nil {
		t.Fatal(err)
	}
	p.Release()
	if p, err = c.Load(binary1, ""); err != nil {
		t.Fatal("from the binary:", err)
	}
	defer p.Release()
	k, err := c.NewKernel(p, "add")
	if err != nil {
		t.Fatal(err)
	}
	defer k.Release()
	m, err := c.NewBuffer(64, true, func() {})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Release()
	if err := c.Fill(m, 0, 64); err != nil {
		t.Fatal(err)
	}
	for range 3 { // the arguments of the later calls are known
		if err := k.Begin().Mem(m).Int(7).Run([3]int{2, 1, 1}, [3]int{8, 1, 1}); err != nil {
			t.Fatal(err)
		}
	}
	bytes, err := c.Map(m, 64)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 16 {
		if v := binary.LittleEndian.Uint32(bytes[4*i:]); v != 21 {
			t.Fatalf("element %d is %d, want 21", i, v)
		}
	}
	if err := c.Unmap(m, bytes); err != nil {
		t.Fatal(err)
	}
}

func TestBuildErrorHasLog(t *testing.T) {
	_, err := anyContext(t).Build("__kernel void f() { undeclared = 1; }", "")
	if err == nil || !errors.Is(err, BuildProgramFailure) || !strings.Contains(err.Error(), "undeclared") {
		t.Errorf("a build of a wrong program: %v", err)
	}
}

func TestOpenNamesTheVariable(t *testing.T) {
	t.Setenv(LibraryVariable, "libDoesNotExist.so")
	_, err := Open()
	if !errors.Is(err, ErrNoLibrary) || !strings.Contains(err.Error(), "libDoesNotExist.so") {
		t.Errorf("a library that is not there: %v", err)
	}
}
