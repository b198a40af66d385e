package llama

import (
	"time"

	"github.com/antigravity-go/antigravity/eviction"
)

// Trace is a set of functions that a model calls when it has done something, with when it began and how long it took: for programs
// that show or record where the time of a token goes. Any of them may be nil. LoadOptions.Trace sets it.
//
// The functions are called on the goroutines that do the work, several at a time where sessions run beside each other, and the work waits
// for them: they must be quick and safe for concurrent use, and must not call methods of the model or of a session. A model without a
// Trace looks at no clock for it.
type Trace struct {
	// Evict is called when a session has given up slots of its cache.
	Evict func(EvictInfo)
}

// EvictInfo tells of an eviction.
type EvictInfo struct {
	Session uint64 // which of the model's sessions: 1, 2, … in the order in which they were opened
	Token   int    // tokens of the conversation by then
	Began   time.Time
	eviction.Result
}
