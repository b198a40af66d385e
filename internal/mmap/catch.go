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
// A call takes some nanoseconds and, without the race detector, allocates nothing. Calls may nest; the innermost catches the
// fault. Every other panic continues, dereferencing a nil pointer among them. Each goroutine needs a call of its own.
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
	if panicked == nil {
		return
	}
	fault := Fault(panicked)
	if fault == nil {
		panic(panicked)
	}
	*err = fault
}

// Fault returns the error for what recover returned: a *FaultError for a memory fault, nil for every other panic.
func Fault(panicked any) error {
	if f, ok := panicked.(fault); ok {
		return &FaultError{Addr: f.Addr()}
	}
	return nil
}

// fault is what the runtime panics with when a fault is not that of a nil pointer; see debug.SetPanicOnFault.
type fault interface {
	runtime.Error
	Addr() uintptr
}
