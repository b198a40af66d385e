package mmap

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// FaultError reports that touching memory raised a fault. For mapped weights the usual cause is a file that was truncated,
// or a disk or network share that went away, while the program used it.
type FaultError struct {
	Addr uintptr // the address that could not be touched
}

// Error says what happened and what to look for.
func (e *FaultError) Error() string {
	return fmt.Sprintf("mmap: cannot read mapped memory at %#x: was the file truncated, or its disk removed, while in use?",
		e.Addr)
}

// Catch turns a memory fault in the calling function, or in what it calls on the same goroutine, into a *FaultError
// stored in *err. Its use is one line at the top of the function, mind the second pair of parentheses:
//
//	defer mmap.Catch(&err)()
//
// It costs some nanoseconds and, unless instrumented by the race detector, no allocation. Guards nest; the innermost
// catches. Every other panic continues, dereferencing a nil pointer among them. A new goroutine needs its own guard.
func Catch(err *error) func() {
	armed := arm()
	return func() { disarm(recover(), err, armed) }
}

// arm is kept apart so that Catch is just cheap enough to be inlined: only then do its closure and the caller's error
// stay on the stack.
//
//go:noinline
func arm() bool { return debug.SetPanicOnFault(true) }

func disarm(panicked any, err *error, armed bool) {
	debug.SetPanicOnFault(armed)
	if panicked == nil {
		return
	}
	fault := Fault(panicked)
	if fault == nil {
		panic(panicked)
	}
	*err = fault
}

// Fault returns the error for what recover gave: a *FaultError for a memory fault, nil for every other panic.
func Fault(panicked any) error {
	if f, ok := panicked.(fault); ok {
		return &FaultError{Addr: f.Addr()}
	}
	return nil
}

// fault is what the runtime panics with on a fault at an address that is no nil pointer's, see debug.SetPanicOnFault.
type fault interface {
	runtime.Error
	Addr() uintptr
}
