package host

import "sync"

// pool lends tasks of one kind with the memory that they have gathered, so that operations need not allocate once a few calls
// have been made.
type pool[T any, P lent[T]] struct {
	mu   sync.Mutex
	free []P
}

// lent is a task that can be used again after reset. A task that has been reset keeps its own memory and no reference to the tensors of its
// last operation, so that they may be collected.
type lent[T any] interface {
	*T
	reset()
}

// get returns a task that has been reset.
func (p *pool[T, P]) get() P {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := len(p.free); n > 0 {
		t := p.free[n-1]
		p.free = p.free[:n-1]
		return t
	}
	return new(T)
}

// put takes a task back.
func (p *pool[T, P]) put(t P) {
	t.reset()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.free = append(p.free, t)
}

// workerMemory is memory that each worker of a task has for itself, kept from one operation to the next.
type workerMemory[T any] [][]T

// reserve makes room for a number of workers. It is called before they begin.
func (m *workerMemory[T]) reserve(workers int) {
	for len(*m) < workers {
		*m = append(*m, nil)
	}
}

// size returns how many elements all workers have.
func (m workerMemory[T]) size() (n int) {
	for _, own := range m {
		n += len(own)
	}
	return n
}

// of returns n elements of a worker's memory. They hold leftovers of earlier use.
func (m workerMemory[T]) of(worker, n int) []T {
	if len(m[worker]) < n {
		m[worker] = make([]T, n)
	}
	return m[worker][:n]
}
