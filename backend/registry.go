package backend

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/antigravity-go/antigravity/internal/timing"
)

// Options configure a backend that is opened by name.
type Options struct {
	// Threads is how many threads a backend on the host computes with; 0: GOMAXPROCS. Fewer than 0 are an error.
	Threads int
	// Device chooses among several devices, in the backend's own terms; "": the backend's choice.
	Device string
	// Record, if it is not nil, keeps what each thread of a backend on the host computes. A backend that computes on a device of its own, such
	// as package opencl's, ignores it. Several backends may fill one Record.
	Record *Record
}

// Record keeps what the threads of a backend on the host compute, and when. Shares(i) returns the shares of thread i, for i below Threads;
// Count is the number of all shares. A thread adds its share when it finds no piece of a phase left, perhaps after the operation has ended.
// It costs a thread some tenths of a microsecond a phase. The methods are safe for concurrent use, also while a backend computes.
type Record = timing.Record

// Share: one Thread computed Pieces of a Phase's Of pieces, starting at Began, in Took. Between its shares a thread waits for the others.
// Thread 0 is a goroutine that called the operation; several may call operations at once. The other threads are the backend's.
type Share = timing.Share

// Phase is a part of an operation that the threads of a backend share: when its last piece is done, the next phase begins. Operation is the
// operation's name, such as NormMatMul. Part is "" for the whole operation or the main part of it. Rows and Cols are N and K of weights,
// heads and HeadDim, or 0 and the length of a row. DType is that of the weights, of the cached keys and values, or of the rows. Unknown
// fields are "" or 0.
type Phase = timing.Phase

// NewRecord makes a Record. wanted is called at the beginning of each phase and reports whether its shares are to be kept. more reports whether a
// thread may take memory for a number of shares more, of 32 bytes each; for its first ones it is not called. Shares without memory are lost.
// Both functions are called on threads that compute, several at a time: they must be quick, and safe for concurrent use.
func NewRecord(wanted func() bool, more func(shares int) bool) *Record {
	return timing.NewRecord(wanted, more)
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
	if o.Threads < 0 {
		return nil, fmt.Errorf("backend: open %s: Options.Threads is %d: it must be 0 or more", name, o.Threads)
	}
	b, err := open(o)
	if err != nil {
		return nil, fmt.Errorf("backend: open %s: %w", name, err)
	}
	return b, nil
}
