//go:build opencl && (amd64 || arm64)

package opencl

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"sync/atomic"

	"github.com/antigravity-go/antigravity/backend/opencl/internal/cl"
	"github.com/antigravity-go/antigravity/internal/precise"
)

// kernelsVariable is the environment variable that names a folder with .cl files that replace the embedded ones.
const kernelsVariable = "ANTIGRAVITY_OPENCL_KERNELS"

//go:embed kernels/*.cl
var embedded embed.FS

// program is what a set of kernels is compiled from: files, one after the other, and options. It is comparable, so that it
// can be a key; programs are made once and not in the decode loop, where making the options would allocate.
type program struct{ files, options string }

// The programs without variants.
var (
	elementwise = program{"common exact elementwise", "-DGROUP=128"}
	rows        = program{"common exact norm rows", "-DGROUP=128"}
	widen       = program{"common formats widen", "-DGROUP=128"}
	narrow      = program{"common exact narrow", "-DGROUP=128"}
	split       = program{"common formats split", "-DGROUP=128"}
	gemm        = program{"common gemm", "-DGROUP=128"}
	routing     = program{"common exact norm keys rows experts", fmt.Sprint("-DGROUP=128 -DMOST_GROUPED=", mostGrouped)}
	rounding    = program{"common exact activations round", "-DGROUP=128"}
)

// groupSize is the GROUP of these programs.
const groupSize = 128

// commonOptions begin every program's options. Nothing is assumed of infinities, NaNs and zeros' signs.
const commonOptions = "-cl-std=CL1.2 "

// roundOption is for devices that can.
const roundOption = "-cl-fp32-correctly-rounded-divide-sqrt "

// programs compiles programs when their first kernel is wanted, or loads them from the cache.
type programs struct {
	device   *cl.Device
	context  *cl.Context
	sources  fs.FS // in place of the embedded ones; nil: the embedded ones
	cache    binaryCache
	compiled map[program]*cl.Program
	kernels  map[kernelKey]*cl.Kernel
	building atomic.Int64 // nanoseconds that compiling has taken
}

type kernelKey struct {
	program program
	name    string
}

func (p *programs) init(device *cl.Device, context *cl.Context, o Options) {
	p.device, p.context = device, context
	p.compiled, p.kernels = map[program]*cl.Program{}, map[kernelKey]*cl.Kernel{}
	folder := o.Kernels
	if folder == "" {
		folder = os.Getenv(kernelsVariable)
	}
	if folder != "" {
		p.sources = os.DirFS(folder)
	}
	p.cache = newBinaryCache(o.Cache, device)
}

// release gives all kernels up.
func (p *programs) release() {
	for _, k := range p.kernels {
		k.Release()
	}
	for _, c := range p.compiled {
		c.Release()
	}
	clear(p.kernels)
	clear(p.compiled)
}

// kernel returns a kernel of a program, made now or earlier.
func (p *programs) kernel(of program, name string) (*cl.Kernel, error) {
	key := kernelKey{of, name}
	if k := p.kernels[key]; k != nil {
		return k, nil
	}
	compiled, err := p.compile(of)
	if err != nil {
		return nil, err
	}
	k, err := p.context.NewKernel(compiled, name)
	if err != nil {
		return nil, err
	}
	p.kernels[key] = k
	return k, nil
}

// compile returns a program, compiled now, or earlier, or taken from the cache.
func (p *programs) compile(which program) (*cl.Program, error) {
	if c := p.compiled[which]; c != nil {
		return c, nil
	}
	source, err := p.source(which)
	if err != nil {
		return nil, err
	}
	options := commonOptions + which.options
	if p.device.Rounds {
		options = roundOption + options
	}
	c, err := p.cache.load(p.context, source, options)
	if err != nil { // there is no binary that works
		began := precise.Now()
		c, err = p.context.Build(source, options)
		p.building.Add(int64(precise.Since(began)))
		if err != nil {
			return nil, fmt.Errorf("%s with %s: %w", which.files, which.options, err)
		}
		p.cache.store(c, source, options)
	}
	p.compiled[which] = c
	return c, nil
}

// source joins a program's files.
func (p *programs) source(which program) (string, error) {
	var b strings.Builder
	for _, name := range strings.Fields(which.files) {
		text, err := p.file(name + ".cl")
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "#line 1 \"%s.cl\"\n%s\n", name, text)
	}
	return b.String(), nil
}

// file reads a source, the replacing folder's before the embedded one.
func (p *programs) file(name string) ([]byte, error) {
	if p.sources != nil {
		if text, err := fs.ReadFile(p.sources, name); err == nil || !errors.Is(err, fs.ErrNotExist) {
			return text, err
		}
	}
	return embedded.ReadFile("kernels/" + name)
}
