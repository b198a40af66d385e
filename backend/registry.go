package backend

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/antigravity-go/antigravity/tensor"
)

// Options configure a backend that is opened by name.
type Options struct {
	// Threads is how many threads a backend on the host computes with; 0: GOMAXPROCS.
	Threads int
	// Device chooses among several devices, in the backend's own terms; "": the backend's choice.
	Device string
	// Observe, if it is not nil, is told what each thread of a backend on the host computed, as soon as it has: see Share. It is called on
	// these threads, several at a time, perhaps after the operation has ended; the computing waits for it. A backend that computes on a
	// device of its own, such as package opencl's, ignores it.
	Observe func(Share)
}

// Phase is a part of an operation that the threads of a backend share: when its last piece is done, the next one begins.
type Phase struct {
	Operation  string       // such as NormMatMul; "" where that is not known
	Part       string       // which part of the operation; "" where the phase is the whole of it, or the main part
	Rows, Cols int          // N and K of weights, heads and their length, or 0 and the length of a row
	DType      tensor.DType // of the weights, of the cached keys and values, or of the rows; 0: unknown
}

// Share is what one thread computed of a phase. A thread that finds no piece left waits for the others: that is the time between its
// shares.
type Share struct {
	Phase
	Thread     int       // 0 is a goroutine that called the operation, of which there may be several at a time; the others are the backend's
	Pieces, Of int       // pieces that the thread computed, of as many as the phase was cut into
	Began      time.Time // before the first piece
	Took       time.Duration
}

// registry holds what init functions register; nothing changes it afterwards.
var registry struct {
	sync.RWMutex
	open map[string]func(Options) (Backend, error)
}

// Register makes a backend available to Open. Packages call it from init; a second registration of a name replaces the first.
func Register(name string, open func(Options) (Backend, error)) {
	registry.Lock()
	defer registry.Unlock()
	if registry.open == nil {
		registry.open = make(map[string]func(Options) (Backend, error))
	}
	registry.open[name] = open
}

// Names lists the registered backends.
func Names() []string {
	registry.RLock()
	defer registry.RUnlock()
	return slices.Sorted(maps.Keys(registry.open))
}

// Open makes the backend registered under a name.
func Open(name string, o Options) (Backend, error) {
	registry.RLock()
	open := registry.open[name]
	registry.RUnlock()
	if open == nil {
		return nil, fmt.Errorf("backend: no backend %q: this program has %s", name, strings.Join(Names(), ", "))
	}
	b, err := open(o)
	if err != nil {
		return nil, fmt.Errorf("backend: open %s: %w", name, err)
	}
	return b, nil
}
