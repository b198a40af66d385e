package engine

import "sync/atomic"

// sizes are the bytes of a model's tensors, counted while they are set and freed.
type sizes struct {
	set    atomic.Int64 // of the tensors that are set, and of adapters
	mapped atomic.Int64 // of those tensors that lie in mapped files
}

// Usage is what a model takes, in bytes.
type Usage struct {
	Weights int64      // the tensors that are set, and those of adapters
	Mapped  int64      // of Weights, those in mapped files
	Caches  CacheBytes // of all conversations, what several share counted once; without the records of policies
	Scratch int64      // what the caches' operations keep to work in
}

// Usage counts.
func (w *Weights) Usage() Usage {
	return Usage{
		Weights: w.sizes.set.Load(), Mapped: w.sizes.mapped.Load(), Scratch: w.store.ScratchBytes(),
		Caches: CacheBytes{
			Whole: w.store.BytesOf(wholeCache), Windows: w.store.BytesOf(windowCache), Shared: w.store.BytesOf(sharedCache), States: w.store.StateBytes(),
		},
	}
}
