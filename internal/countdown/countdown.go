// Package countdown helps tests to cancel at a chosen moment, whatever the machine's speed: a moment is a look at the context.
package countdown

import (
	"context"
	"sync/atomic"
)

// Context is cancelled after it was looked at so many times. Only Err tells: Done is the parent's.
type Context struct {
	context.Context
	left atomic.Int64
}

// New makes a context that allows so many looks.
func New(parent context.Context, looks int) *Context {
	c := &Context{Context: parent}
	c.left.Store(int64(looks))
	return c
}

// Err returns nil so many times, and then context.Canceled.
func (c *Context) Err() error {
	if c.left.Add(-1) < 0 {
		return context.Canceled
	}
	return nil
}
