package parallel

import (
	"fmt"
	"runtime/debug"
	"strings"

	"github.com/antigravity-go/antigravity/internal/mmap"
)

// PanicError is a panic as an error. A panic is a mistake of this module, and must not end the process that the module
// computes in. No caller can recover a panic on another goroutine, so each goroutine that this module starts turns its own
// panics into errors, by Catch, Call or a Pool.
type PanicError struct {
	Value any    // the argument of panic
	Stack []byte // of the goroutine, as debug.Stack formats it
}

// Error gives the value and, if it is known, the function that panicked.
func (e *PanicError) Error() string {
	if place := e.place(); place != "" {
		return fmt.Sprintf("internal error: %v (in %s)", e.Value, place)
	}
	return fmt.Sprintf("internal error: %v", e.Value)
}

// Unwrap returns the value if it is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// place returns the function that panicked: in the stack, the first one below the last call of panic that does not belong to
// the runtime.
func (e *PanicError) place() string {
	lines := strings.Split(string(e.Stack), "\n")
	for i := len(lines) - 1; i >= 0; i-- {
		if !strings.HasPrefix(lines[i], "panic(") {
			continue
		}
		for i += 2; i < len(lines); i += 2 { // lines with a function and lines with its file take turns
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

// arm makes a memory fault a panic on this goroutine, and returns whether it was one before. It is a function of its own so
// that Catch is small enough to be inlined: only then do its closure and the caller's error stay on the stack.
//
//go:noinline
func arm() bool { return debug.SetPanicOnFault(true) }

func disarm(panicked any, err *error, armed bool) {
	debug.SetPanicOnFault(armed)
	if panicked != nil {
		*err = panicError(panicked)
	}
}

// panicError returns the error for what recover returned. The deferred function that recovers must call it before it
// returns, while the frames that panicked are still on the stack.
func panicError(panicked any) error {
	if fault := mmap.Fault(panicked); fault != nil {
		return fault
	}
	return &PanicError{Value: panicked, Stack: debug.Stack()}
}

// Call runs f and returns its error, or its panic as an error: for what a goroutine of its own does.
func Call(f func() error) (err error) {
	defer Catch(&err)()
	return f()
}
