package experiment

import (
	"sync"

	"github.com/antigravity-go/antigravity/examples/tools/internal/runs"
	"github.com/antigravity-go/antigravity/llama"
)

// evictions collects the evictions that a model reports. It is safe for concurrent use.
type evictions struct {
	mu     sync.Mutex
	active bool
	list   []llama.EvictInfo
}

// note is llama.Trace's Evict.
func (e *evictions) note(info llama.EvictInfo) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.active {
		e.list = append(e.list, info)
	}
}

// begin collects from now on.
func (e *evictions) begin() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.active = true
}

// end stops collecting, and returns what a run's file says of the evictions.
func (e *evictions) end(x *experiment) (list []runs.Eviction) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.active = false
	for _, i := range e.list {
		list = append(list, runs.Eviction{
			At: x.at(i.Began), Token: i.Token, Reason: i.Reason.String(), Target: i.Target, Slots: i.Slots, Bytes: i.Bytes,
			Took: float64(i.Duration.Microseconds()) / 1e3,
		})
	}
	return list
}
