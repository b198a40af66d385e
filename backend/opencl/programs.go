//go:build opencl && (amd64 || arm64)

package opencl

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/antigravity-go/antigravity/backend/opencl/internal/cl"
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

// programs compiles programs, or loads them from the cache: when a kernel is wanted, or before, while the device computes.
//
// A GPU's compiler takes a tenth of a second to several seconds for a program, and NVIDIA's compiles one after the other, from however many
// threads. So there each kernel is a program of its own, without the kernels that lie in the same files, and who has another way to compute
// asks ready first. A prompt of 100 tokens, with a model that was just loaded:
//
//	ready(flash)      false: it is compiled from now on; attend takes the prompt
//	kernel(attend)    waits for the compiler, if the program was not begun before
//	ready(flash)      true, for the next prompt
//
// All ways give the same bits. The queue's lock guards the fields before mu.
type programs struct {
	device  *cl.Device
	context *cl.Context
	sources fs.FS // in place of the embedded ones; nil: the embedded ones
	cache   binaryCache
	kernels map[kernelKey]*cl.Kernel
	apart   bool // each kernel is a program of its own: processors' compilers compile kernels when they are first enqueued
	patient bool // ready says no while a program is compiled; else it is compiled when its kernel is wanted
	refused bool // only wanted kernels are compiled, as a test wishes: no other becomes ready

	mu      sync.Mutex // guards what follows
	made    map[kernelKey]*compilation
	waiting []*compilation // that nobody has begun
	held    bool           // what ready has asked for waits
	loaded  bool           // models are loaded, and answers computed: see lull
	workers sync.WaitGroup
	working int // workers

	used    atomic.Bool   // a kernel was wanted since a worker looked
	closing chan struct{} // closed by release
}

// kernelKey is a kernel of a program.
type kernelKey struct {
	program program
	name    string
}

// compilation is a program that is, or will be, compiled for a kernel.
type compilation struct {
	key     kernelKey
	begun   bool          // programs.mu guards it
	done    chan struct{} // closed when the rest is there
	program *cl.Program
	err     error
}

// mostWorkers bounds the programs that are compiled at the same time while a model is loaded: afterwards it is one.
const mostWorkers = 4

// NVIDIA's driver enqueues nothing while it compiles, for up to three seconds a program. So once models are loaded a worker waits until no kernel was
// wanted for as long as lull says, but no longer than longest.
const (
	lull    = 50 * time.Millisecond
	longest = 2 * time.Second
)

func (p *programs) init(device *cl.Device, context *cl.Context, o Options) {
	p.device, p.context = device, context
	p.made, p.kernels = map[kernelKey]*compilation{}, map[kernelKey]*cl.Kernel{}
	folder := o.Kernels
	if folder == "" {
		folder = os.Getenv(kernelsVariable)
	}
	if folder != "" {
		p.sources = os.DirFS(folder)
	}
	p.cache = newBinaryCache(o.Cache, device)
	p.closing = make(chan struct{})
	p.apart = device.Kind&cl.CPU == 0
	p.patient = p.apart
}

// release gives all kernels up, after the programs that are being compiled.
func (p *programs) release() {
	p.mu.Lock()
	for _, c := range p.waiting {
		c.err = ErrClosed
		close(c.done)
	}
	p.waiting = nil
	p.mu.Unlock()
	close(p.closing)
	p.workers.Wait()
	for _, k := range p.kernels {
		k.Release()
	}
	for _, c := range p.made {
		if c.program != nil {
			c.program.Release()
		}
	}
	clear(p.kernels)
	clear(p.made)
}

// kernel returns a kernel of a program, made now or earlier.
func (p *programs) kernel(of program, name string) (*cl.Kernel, error) {
	if !p.used.Load() {
		p.used.Store(true)
	}
	key := kernelKey{of, name}
	if k := p.kernels[key]; k != nil {
		return k, nil
	}
	p.mu.Lock()
	c := p.compilation(key)
	mine := !c.begun
	c.begun = true
	p.waiting = slices.DeleteFunc(p.waiting, func(w *compilation) bool { return w == c })
	p.mu.Unlock()
	if mine {
		p.compile(c)
	}
	<-c.done
	if c.err != nil {
		return nil, c.err
	}
	k, err := p.context.NewKernel(c.program, name)
	if err != nil {
		return nil, err
	}
	p.kernels[key] = k
	return k, nil
}

// ready reports whether a kernel can be had without waiting for a compiler. If not, it will be compiled.
func (p *programs) ready(of program, name string) bool {
	key := kernelKey{of, name}
	if !p.patient || p.kernels[key] != nil {
		return true
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.compilation(key)
	select {
	case <-c.done:
		return true // with what failed, if it did
	default:
	}
	if !p.refused && !c.begun && !slices.Contains(p.waiting, c) {
		p.waiting = append(p.waiting, c)
		p.work()
	}
	return false
}

// has reports whether a kernel is ready, and asks for nothing.
func (p *programs) has(of program, name string) bool {
	key := kernelKey{of, name}
	if p.kernels[key] != nil {
		return true
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.made[key]
	if c == nil {
		return false
	}
	select {
	case <-c.done:
		return c.err == nil
	default:
		return false
	}
}

// hold lets the programs that ready asks for wait until hold is called again with false. From then on they are compiled between answers.
func (p *programs) hold(held bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.held, p.loaded = held, true
	p.work()
}

// compilation returns a program's, made now or earlier. The caller holds p.mu.
func (p *programs) compilation(key kernelKey) *compilation {
	if !p.apart {
		key.name = ""
	}
	c := p.made[key]
	if c == nil {
		c = &compilation{key: key, done: make(chan struct{})}
		p.made[key] = c
	}
	return c
}

// work lets workers compile what waits. The caller holds p.mu.
func (p *programs) work() {
	most := mostWorkers
	if p.loaded {
		most = 1
	}
	for ; !p.held && p.working < min(most, len(p.waiting)); p.working++ {
		p.workers.Go(func() {
			for c := p.next(); c != nil; c = p.next() {
				p.compile(c)
			}
		})
	}
}

// pause waits for a moment in which the device is not used, or long longest.
func (p *programs) pause() {
	p.mu.Lock()
	loaded := p.loaded
	p.mu.Unlock()
	for waited := time.Duration(0); loaded && waited < longest && p.used.Swap(false); waited += lull {
		select {
		case <-p.closing:
			return
		case <-time.After(lull):
		}
	}
}

// next returns what a worker compiles next; nil: nothing, and the worker ends.
func (p *programs) next() *compilation {
	p.pause()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.held || len(p.waiting) == 0 {
		p.working--
		return nil
	}
	c := p.waiting[0]
	p.waiting, c.begun = p.waiting[1:], true
	return c
}

// compile compiles a program that nobody else compiles, or takes it from the cache.
func (p *programs) compile(c *compilation) {
	defer close(c.done)
	source, err := p.source(c.key)
	if err != nil {
		c.err = err
		return
	}
	which := c.key.program
	options := commonOptions + which.options
	if p.device.Rounds {
		options = roundOption + options
	}
	c.program, err = p.cache.load(p.context, source, options)
	if err == nil {
		return
	}
	if c.program, err = p.context.Build(source, options); err != nil { // there is no binary that works
		c.err = fmt.Errorf("%s with %s: %w", which.files, which.options, err)
		return
	}
	p.cache.store(c.program, source, options)
}

// source joins a program's files, without the kernels that are not wanted.
func (p *programs) source(key kernelKey) (string, error) {
	var b strings.Builder
	for _, name := range strings.Fields(key.program.files) {
		text, err := p.file(name + ".cl")
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "#line 1 \"%s.cl\"\n%s\n", name, only(string(text), key.name))
	}
	return b.String(), nil
}

// kernelText matches a kernel, from the beginning of a line to a brace that ends that line or is the first in a later one, or the line of a macro that makes one, with its name,
// or what the macro adds to its own.
var kernelText = regexp.MustCompile(`(?ms)^(?:__kernel\b.*?\bvoid|KERNEL)\s+(\w+)\((?:[^\n]*}|.*?^})$|^(SPLIT|WIDEN|WIDEN_SPLIT)\((\w+).*?$`)

// only returns a file's text with empty lines in place of kernels of other names; without a name, the text.
func only(text, name string) string {
	if name == "" {
		return text
	}
	return kernelText.ReplaceAllStringFunc(text, func(kernel string) string {
		m := kernelText.FindStringSubmatch(kernel)
		if m[1] == name || m[2] != "" && strings.ToLower(m[2])+"_"+m[3] == name {
			return kernel
		}
		return strings.Repeat("\n", strings.Count(kernel, "\n"))
	})
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
