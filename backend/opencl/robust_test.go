//go:build opencl && (amd64 || arm64)

package opencl

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/backend/opencl/internal/cl"
	"github.com/antigravity-go/antigravity/backend/opencl/internal/compiler"
	"github.com/antigravity-go/antigravity/tensor"
)

func writeFile(t *testing.T, folder, name, text string) {
	t.Helper()
	must(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600))
}

func TestOpenByName(t *testing.T) {
	openTest(t, Options{})
	b, err := backend.Open("opencl", backend.Options{Device: "0"})
	must(t, err)
	must(t, b.Close())
	_, err = New(Options{Device: "no such device"})
	if !errors.Is(err, ErrNoDevice) || !strings.Contains(err.Error(), "0: ") {
		t.Errorf("a device that is not there: %v", err)
	}
	devices, err := Devices()
	must(t, err)
	if len(devices) == 0 || devices[0].Name == "" || devices[0].GlobalBytes == 0 {
		t.Errorf("devices are %+v", devices)
	}
	t.Setenv(deviceVariable, strings.ToUpper(devices[0].Platform))
	b, err = New(Options{})
	must(t, err)
	must(t, b.Close())
}

// TestMemory checks the accounting, and that forgotten buffers are given back.
func TestMemory(t *testing.T) {
	b := openTest(t, Options{})
	before := b.Memory().Used()
	x, err := tensor.New(b, tensor.F32, tensor.ShapeOf(1000))
	must(t, err)
	if used := b.Memory().Used() - before; used < 4000 || used > 4200 {
		t.Errorf("4000 bytes count as %d", used)
	}
	must(t, x.Buffer().Map())
	values, err := tensor.Mut[float32](x)
	must(t, err)
	for i, v := range values {
		if v != 0 {
			t.Fatalf("element %d of new memory is %g", i, v)
		}
	}
	must(t, x.Buffer().Unmap())
	if x.Data() != nil {
		t.Error("the host sees an unmapped buffer")
	}
	must(t, x.Free())
	must(t, x.Free())
	if err := x.Buffer().Map(); err == nil {
		t.Error("mapped a freed buffer")
	}
	if err := b.Run(&backend.Scale{X: x, By: 1}); err == nil {
		t.Error("computed with a freed buffer")
	}
	if used := b.Memory().Used(); used != before {
		t.Errorf("after Free %d bytes are in use", used-before)
	}
	for range 10 {
		_, err := tensor.New(b, tensor.F32, tensor.ShapeOf(1000))
		must(t, err)
	}
	for range 20 {
		runtime.GC()
		if b.Memory().Used() == before {
			break
		}
	}
	if used := b.Memory().Used(); used != before {
		t.Errorf("of forgotten buffers %d bytes are in use", used-before)
	}
	for name, size := range map[string]int{"negative": -1, "too large": math.MaxInt - 1000} {
		if _, err := b.Memory().Alloc(size, tensor.F32); err == nil {
			t.Errorf("allocated a %s size", name)
		}
	}
}

// TestCacheSurvivesDamage opens the device with caches that are good, damaged, and not writable.
func TestCacheSurvivesDamage(t *testing.T) {
	openTest(t, Options{})
	folder := t.TempDir()
	for _, damage := range []func(name string) error{
		func(string) error { return nil },
		func(string) error { return nil }, // used
		func(name string) error { return os.Truncate(name, 10) },
		func(name string) error {
			data, err := os.ReadFile(name)
			if err == nil {
				data[len(data)/2] ^= 1
				err = os.WriteFile(name, data, 0o600)
			}
			return err
		},
		func(name string) error { return errors.Join(os.Remove(name), os.Mkdir(name, 0o700)) },
	} {
		b, err := New(Options{Cache: folder})
		must(t, err)
		must(t, b.Close())
		files, err := filepath.Glob(filepath.Join(folder, "*"))
		must(t, err)
		if len(files) == 0 {
			t.Error("nothing is cached")
		}
		for _, name := range files {
			must(t, damage(name))
		}
	}
	writeFile(t, folder, "file", "")
	b, err := New(Options{Cache: filepath.Join(folder, "file", "below")})
	must(t, err)
	must(t, b.Close())
}

// TestCacheBesideTheDrivers looks where compiled kernels are kept if nobody says so: for pocl nowhere, since it has a cache of its own and
// compiles all kernels of a program anew for the binary.
func TestCacheBesideTheDrivers(t *testing.T) {
	t.Setenv(cacheVariable, "")
	named := t.TempDir()
	user, err := os.UserCacheDir()
	must(t, err)
	for _, c := range []struct{ platform, wanted, folder string }{
		{poclPlatform, "", ""}, {poclPlatform, named, named}, {poclPlatform, "off", ""},
		{"NVIDIA CUDA", "", filepath.Join(user, "antigravity", "opencl")}, {"NVIDIA CUDA", named, named}, {"NVIDIA CUDA", "off", ""},
	} {
		if got := cacheFolder(c.wanted, &cl.Device{Platform: c.platform}); got != c.folder {
			t.Errorf("%s, %q: %q, want %q", c.platform, c.wanted, got, c.folder)
		}
	}
	if b := openTest(t, Options{}); b.device.Platform == poclPlatform && b.queue.cache.Folder != "" {
		t.Errorf("pocl's binaries are kept in %s", b.queue.cache.Folder)
	}
}

// TestDot probes the way to multiply bytes that every device has.
func TestDot(t *testing.T) {
	b := openTest(t, Options{})
	works := func(option string) (bool, error) {
		return wayWorks(b.queue, compiler.Of("common dot probe", "-DGROUP=128"+option), "probe_dot", groupSize, 256)
	}
	if works, err := works(""); err != nil || !works {
		t.Errorf("spelled out, products of bytes are wrong: %v", err)
	}
	if works, err := works(" -DDOT_NV -Dasm=nonsense"); err != nil || works {
		t.Errorf("what does not compile works: %v", err)
	}
}

// TestConcurrent computes from several goroutines, on the device and on mapped buffers.
func TestConcurrent(t *testing.T) {
	b := openTest(t, Options{})
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			x, err := tensor.New(b, tensor.F32, tensor.ShapeOf(64))
			if err != nil {
				t.Error(err)
				return
			}
			defer x.Free()
			ones, err := tensor.FromFloats(make([]float32, 64), 64)
			if err != nil {
				t.Error(err)
				return
			}
			values, _ := tensor.Mut[float32](ones)
			for i := range values {
				values[i] = 1
			}
			device, err := ones.ToDevice(b)
			if err != nil {
				t.Error(err)
				return
			}
			for i := range 50 {
				y := device
				if i%2 == 1 {
					y = ones // on the host
				}
				if err := b.Run(&backend.AddAssign{A: x, B: y}); err != nil {
					t.Error(err)
					return
				}
			}
			out := make([]float32, 64)
			if err := b.ReadBuffer(x, unsafe.Slice((*byte)(unsafe.Pointer(&out[0])), 256)); err != nil || out[5] != 50 {
				t.Errorf("the sum is %g, want 50 (%v)", out[5], err)
			}
		})
	}
	all.Wait()
}
