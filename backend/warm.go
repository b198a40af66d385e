package backend

import (
	"context"
	"time"
)

// Warmer is a backend on which operations take long when they are called for the first time: it compiles their kernels, and tries which of
// several ways is the fastest for a shape. Who loads a model lets it do that before anyone waits for an answer.
type Warmer interface {
	// Warm calls w.Compute for numbers of sequences and tokens that need different kernels, the most frequent numbers first. Meanwhile it
	// tries ways to compute these operations, for w.Within at most, and may keep the results for the next time. An operation for which no
	// time was left is computed as similar ones are, and nothing is tried at another time. When the context ends, the error wraps the
	// context's.
	Warm(ctx context.Context, w Warming) error
}

// Warming is what a Warmer needs to know of a model.
type Warming struct {
	// Within is how long ways are tried.
	Within time.Duration
	// Compute calls the operations of a pass in which each of some sequences has some tokens, on operands that are of no further use. It
	// may compute fewer if the model takes fewer.
	Compute func(sequences, tokens int) error
	// Progress is called with how many of the calls of Compute are done, of at most total; nil: nobody wants to know.
	Progress func(done, total int)
}

// Warm lets a backend that is a Warmer warm up. On others nothing happens.
func Warm(ctx context.Context, b Backend, w Warming) error {
	if warmer, ok := b.(Warmer); ok {
		return warmer.Warm(ctx, w)
	}
	return nil
}
