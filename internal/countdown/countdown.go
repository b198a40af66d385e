// Package countdown helps tests to cancel at a chosen moment, whatever the machine's speed: moments are counted in calls of
// the context's Err.
package countdown

import (
	"context"
	"sync/atomic"
)

// Context is a context that is cancelled after a given number of calls of Err. Done is the parent's, and is not closed by that.
type Context struct {
	context.Context
	left atomic.Int64 // calls of Err that still return nil
}

// New makes a context with an Err that returns nil for the first looks calls.
func New(parent context.Context, looks int) *Context {
	c := &Context{Context: parent}
	c.left.Store(int64(looks))
	return c
}

// Err returns nil for the first looks calls, the argument of New, and then context.Canceled.
func (c *Context) Err() error {
	if c.left.Add(-1) < 0 {
		return context.Canceled
	}
	return nil
}
