package parallel

import (
	"fmt"
	"runtime/debug"
	"strings"
	"sync"

	"github.com/antigravity-go/antigravity/internal/mmap"
)

// PanicError is a panic as an error: a mistake of this module, which must not end the process that it computes in. Since a
// panic on a goroutine that nobody waits for cannot be recovered by a caller, whatever goroutine this module starts turns
// its panics into errors, by Catch, Call, a Group or a Pool.
type PanicError struct {
	Value any    // what was panicked with
	Stack []byte // of the goroutine, as debug.Stack formats it
}

// Error gives the value and the place.
func (e *PanicError) Error() string {
	if place := e.place(); place != "" {
		return fmt.Sprintf("internal error: %v (in %s)", e.Value, place)
	}
	return fmt.Sprintf("internal error: %v", e.Value)
}

// Unwrap returns the value where it is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// place returns the function that panicked: the first after the last line of the stack that says panic, the runtime's own
// aside.
func (e *PanicError) place() string {
	lines := strings.Split(string(e.Stack), "\n")
	for i := len(lines) - 1; i >= 0; i-- {
		if !strings.HasPrefix(lines[i], "panic(") {
			continue
		}
		for i += 2; i < len(lines); i += 2 { // a function and its file by turns
			if function, _, _ := strings.Cut(lines[i], "("); !strings.HasPrefix(function, "runtime.") && !strings.HasPrefix(function, "internal/runtime/") {
				return lines[i]
			}
		}
	}
	return ""
}

// Catch turns a panic of the calling function, or of what it calls on the same goroutine, into an error stored in *err: a
// memory fault into a *mmap.FaultError, any other into a *PanicError. Its use is one line, as mmap.Catch's is:
//
//	defer parallel.Catch(&err)()
func Catch(err *error) func() {
	armed := arm()
	return func() { disarm(recover(), err, armed) }
}

// arm is kept apart, so that Catch can be inlined and nothing escapes to the heap.
//
//go:noinline
func arm() bool { return debug.SetPanicOnFault(true) }

func disarm(panicked any, err *error, armed bool) {
	debug.SetPanicOnFault(armed)
	if panicked != nil {
		*err = panicError(panicked)
	}
}

// panicError returns the error for what recover gave. It must be called while the panicking frames are on the stack: by the
// deferred function that recovers, or from it.
func panicError(panicked any) error {
	if fault := mmap.Fault(panicked); fault != nil {
		return fault
	}
	return &PanicError{Value: panicked, Stack: debug.Stack()}
}

// Group runs functions on goroutines of their own. The zero value is ready.
type Group struct {
	running sync.WaitGroup
	mu      sync.Mutex
	errs    []error
}

// Go runs f on a new goroutine. Its error, which a panic becomes too, is one of Wait's.
func (g *Group) Go(f func() error) {
	g.running.Go(func() {
		if err := Call(f); err != nil {
			g.mu.Lock()
			defer g.mu.Unlock()
			g.errs = append(g.errs, err)
		}
	})
}

// Wait returns when all functions have, with their errors in the order in which they came.
func (g *Group) Wait() []error {
	g.running.Wait()
	return g.errs
}

// Call runs f and turns its panic into its error: for what a goroutine of its own does.
func Call(f func() error) (err error) {
	defer Catch(&err)()
	return f()
}
