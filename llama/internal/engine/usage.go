package engine

import (
	"sync/atomic"

	"github.com/antigravity-go/antigravity/backend"
)

// sizes are the bytes of a model's tensors, counted while they are set and freed.
type sizes struct {
	set    atomic.Int64 // of the tensors that are set, and of adapters
	mapped atomic.Int64 // of those tensors that lie in mapped files
}

// Usage is what a stage of a model takes, in bytes, or all stages together.
type Usage struct {
	Weights int64      // the tensors that are set, and those of adapters
	Mapped  int64      // of Weights, those in mapped files
	Caches  CacheBytes // of all conversations, what several share counted once; without the records of policies
	Scratch int64      // what the caches' operations keep to work in
}

// usage counts.
func (s *stage) usage() Usage {
	return Usage{
		Weights: s.sizes.set.Load(), Mapped: s.sizes.mapped.Load(), Scratch: s.store.ScratchBytes(),
		Caches: CacheBytes{
			Whole: s.store.BytesOf(wholeCache), Windows: s.store.BytesOf(windowCache), Shared: s.store.BytesOf(sharedCache), States: s.store.StateBytes(),
		},
	}
}

// add adds what another stage takes.
func (u *Usage) add(o Usage) {
	for _, n := range []struct {
		to *int64
		by int64
	}{{&u.Weights, o.Weights}, {&u.Mapped, o.Mapped}, {&u.Scratch, o.Scratch}, {&u.Caches.Whole, o.Caches.Whole}, {&u.Caches.Windows, o.Caches.Windows},
		{&u.Caches.Shared, o.Caches.Shared}, {&u.Caches.States, o.Caches.States}} {
		*n.to += n.by
	}
}

// Usage counts what all stages take together, and the head that predicts further tokens.
func (w *Weights) Usage() (u Usage) {
	for _, s := range w.list {
		u.add(s.usage())
	}
	if w.ahead != nil {
		u.add(w.ahead.Usage())
	}
	return u
}

// StageUsage is what one stage takes.
type StageUsage struct {
	Device        backend.Backend
	First, Layers int
	Usage
}

// Stages counts what each stage takes.
func (s *stages) Stages() []StageUsage {
	list := make([]StageUsage, len(s.list))
	for i, of := range s.list {
		list[i] = StageUsage{of.device, of.first, of.end - of.first, of.usage()}
	}
	return list
}
