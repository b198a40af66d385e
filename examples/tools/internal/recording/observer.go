package recording

import (
	"strconv"
	"time"

	"github.com/antigravity-go/antigravity/examples/tools/internal/machine"
	"github.com/antigravity-go/antigravity/tensor"
)

// Observer chooses how much is recorded of each operation that a backend of New computes, and receives it. Both methods are called on the
// goroutine that wants the operation, which waits for them; they must be safe for concurrent use.
type Observer interface {
	// Watch is called before each operation.
	Watch() Mode
	// Observe is called after an operation that succeeded, if Watch wanted to know of it.
	Observe(c Call)
}

// Mode says how an operation is computed.
type Mode int

const (
	Compute Mode = iota // compute it, and no more: no clock is read
	Time                // take the time of the call, after which a device may still be computing
	Wait                // wait for the device, and take the time until it has computed it
)

// Always is an Observer that lets all operations be computed in one mode and keeps nothing. With Wait the device is waited for after each
// operation: what it then takes longer is what deferring that is worth.
type Always Mode

// Watch returns the mode.
func (a Always) Watch() Mode { return Mode(a) }

// Observe does nothing.
func (a Always) Observe(Call) {}

// Call is one operation that was computed.
type Call struct {
	Operation
	Began time.Time
	Took  time.Duration
	Work  machine.Work
}

// Operation is a kind of operation: its name, and the shape and the type of the weights or heads that it works on.
type Operation struct {
	Name       string
	Rows, Cols int          // N and K of weights, the number of heads and their length, or 0 and the length of a row
	DType      tensor.DType // of the weights, of the cached keys and values, or of the rows
}

// Shape writes the shape, with a sign for times.
func (o Operation) Shape(times string) string {
	if o.Rows == 0 {
		return strconv.Itoa(o.Cols)
	}
	return strconv.Itoa(o.Rows) + times + strconv.Itoa(o.Cols)
}
