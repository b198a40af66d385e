//go:build opencl && (amd64 || arm64)

package compiler

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/antigravity-go/antigravity/backend/opencl/internal/cl"
)

// Program is the source of kernels: files, one after the other, and options. It is comparable, so that it can be a key; programs are made once and
// not in the decode loop, where making the options would allocate.
type Program struct{ Files, Options string }

// Of returns a program.
func Of(files, options string) Program { return Program{files, options} }

// commonOptions begin every program's options. Nothing is assumed of infinities, NaNs and zeros' signs.
const commonOptions = "-cl-std=CL1.2 "

// roundOption is for devices that can.
const roundOption = "-cl-fp32-correctly-rounded-divide-sqrt "

var errClosed = errors.New("the device has been closed")

// Compiler compiles programs, or loads them from its cache: when a kernel is wanted, or before, while the device computes.
//
// A GPU's compiler takes a tenth of a second to several seconds for a program, and NVIDIA's compiles one after the other, from however many
// threads. So there each kernel is a program of its own, without the kernels that lie in the same files, and who has another way to compute
// asks Ready first. A prompt of 100 tokens, with a model that was just loaded:
//
//	Ready(flash)      false: it is compiled from now on; attend takes the prompt
//	Kernel(attend)    waits for the compiler, if the program was not begun before
//	Ready(flash)      true, for the next prompt
//
// All ways give the same bits. Callers have a lock of their own around all calls but Hold and Busy, which may come at any time.
type Compiler struct {
	device  *cl.Device
	context *cl.Context
	sources func(name string) ([]byte, error)
	cache   *Cache
	kernels map[kernelKey]*cl.Kernel
	apart   bool // each kernel is a program of its own: processors' compilers compile kernels when they are first enqueued

	// Patient lets Ready say no while a program is compiled; else a program is compiled when its kernel is wanted, and all are ready. It is false at
	// first: trials of a device see the kernels that compute in the end.
	Patient bool
	// Refuses lets only wanted kernels be compiled, as a test wishes: no other becomes ready.
	Refuses bool

	mu      sync.Mutex // guards the rest
	made    map[kernelKey]*compilation
	waiting []*compilation // that nobody has begun
	held    bool           // programs that Ready has asked for wait
	loaded  bool           // models are loaded, and answers computed: see lull
	workers sync.WaitGroup
	working int // workers

	used    atomic.Bool   // a kernel was wanted since a worker looked
	closing chan struct{} // closed by Release
}

// kernelKey is a kernel of a program.
type kernelKey struct {
	program Program
	name    string
}

// compilation is a program that is, or will be, compiled for a kernel.
type compilation struct {
	key     kernelKey
	begun   bool          // Compiler.mu guards it, and asked
	asked   int           // how often Ready was asked: how much time the program would save
	done    chan struct{} // closed when the rest is there
	program *cl.Program
	err     error
}

// mostWorkers bounds the programs that are compiled at the same time while a model is loaded: afterwards it is one.
const mostWorkers = 4

// NVIDIA's driver enqueues nothing while it compiles, for up to three seconds a program. So once models are loaded a worker waits until no kernel was
// wanted for as long as lull says, but no longer than longest. A program that the cache has takes no such time, and waits for nothing.
const (
	lull    = 50 * time.Millisecond
	longest = 300 * time.Millisecond
)

// New makes a compiler for a device. The sources are read by files' names.
func New(device *cl.Device, context *cl.Context, sources func(name string) ([]byte, error), cache *Cache) *Compiler {
	p := &Compiler{
		device: device, context: context, sources: sources, cache: cache,
		made: map[kernelKey]*compilation{}, kernels: map[kernelKey]*cl.Kernel{}, closing: make(chan struct{}),
	}
	p.apart = device.Kind&cl.CPU == 0
	return p
}

// Expect lets a kernel's program be compiled, which will be wanted soon. Processors compile theirs late enough.
func (p *Compiler) Expect(of Program, name string) {
	if p.apart && !p.Refuses && p.kernels[kernelKey{of, name}] == nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.ask(p.compilation(kernelKey{of, name}))
	}
}

// ask lets a program wait for a worker, unless it does or is being compiled: in front of those that have more files, and so take longer. The caller
// holds p.mu.
func (p *Compiler) ask(c *compilation) {
	if c.begun || slices.Contains(p.waiting, c) {
		return
	}
	at := slices.IndexFunc(p.waiting, func(w *compilation) bool { return len(w.key.program.Files) > len(c.key.program.Files) })
	if at < 0 {
		at = len(p.waiting)
	}
	p.waiting = slices.Insert(p.waiting, at, c)
	p.work()
}

// Release gives all kernels up, after the programs that are being compiled.
func (p *Compiler) Release() {
	p.mu.Lock()
	for _, c := range p.waiting {
		c.err = errClosed
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

// Kernel returns a kernel of a program, made now or earlier.
func (p *Compiler) Kernel(of Program, name string) (*cl.Kernel, error) {
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
		p.compile(c, false)
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

// Ready reports whether a kernel can be had without waiting for a compiler. If not, it will be compiled.
func (p *Compiler) Ready(of Program, name string) bool {
	key := kernelKey{of, name}
	if !p.Patient || p.kernels[key] != nil {
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
	if c.asked++; !p.Refuses {
		p.ask(c)
	}
	return false
}

// Has reports whether a kernel is ready, and asks for nothing.
func (p *Compiler) Has(of Program, name string) bool {
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

// Busy returns how many programs are being compiled, or wait to be.
func (p *Compiler) Busy() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.waiting) + p.working
}

// Kernels lists the kernels that were made, each with its program.
func (p *Compiler) Kernels() (list []string) {
	for key := range p.kernels {
		list = append(list, fmt.Sprint(key.name, " of ", key.program))
	}
	return list
}

// Hold lets the programs that Ready asks for wait until Hold is called again with false. From then on they are compiled between answers.
func (p *Compiler) Hold(held bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.held, p.loaded = held, true
	p.work()
}

// compilation returns a program's, made now or earlier. The caller holds p.mu.
func (p *Compiler) compilation(key kernelKey) *compilation {
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
func (p *Compiler) work() {
	most := mostWorkers
	if p.loaded {
		most = 1
	}
	for ; !p.held && p.working < min(most, len(p.waiting)); p.working++ {
		p.workers.Go(func() {
			for c := p.next(); c != nil; c = p.next() {
				p.compile(c, true)
			}
		})
	}
}

// pause waits for a moment in which the device is not used, or long longest.
func (p *Compiler) pause() {
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

// next returns the program for a worker: the one that Ready was asked for most often, as a product is for each layer of each pass; nil: nothing, and the
// worker ends.
func (p *Compiler) next() *compilation {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.held || len(p.waiting) == 0 {
		p.working--
		return nil
	}
	at := 0
	for i, c := range p.waiting {
		if c.asked > p.waiting[at].asked {
			at = i
		}
	}
	c := p.waiting[at]
	p.waiting, c.begun = slices.Delete(p.waiting, at, at+1), true
	return c
}

// compile takes a program that nobody else compiles from the cache, or compiles it: after a pause, if it has time.
func (p *Compiler) compile(c *compilation, hasTime bool) {
	defer close(c.done)
	source, err := p.source(c.key)
	if err != nil {
		c.err = err
		return
	}
	which := c.key.program
	options := commonOptions + which.Options
	if p.device.Rounds {
		options = roundOption + options
	}
	c.program, err = p.cache.load(p.context, source, options)
	if err == nil {
		return
	}
	if hasTime {
		p.pause()
	}
	if c.program, err = p.context.Build(source, options); err != nil { // there is no binary that works
		c.err = fmt.Errorf("%s with %s: %w", which.Files, which.Options, err)
		return
	}
	p.cache.store(c.program, source, options)
}

// source joins a program's files, without the kernels that are not wanted.
func (p *Compiler) source(key kernelKey) (string, error) {
	var b strings.Builder
	for _, name := range strings.Fields(key.program.Files) {
		text, err := p.sources(name + ".cl")
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
