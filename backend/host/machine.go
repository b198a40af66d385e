package host

import (
	"sync/atomic"

	"github.com/antigravity-go/antigravity/asm"
	"github.com/antigravity-go/antigravity/internal/mmap"
	"github.com/antigravity-go/antigravity/internal/parallel"
)

// Runner computes the pieces of a task, perhaps several at a time.
type Runner interface {
	// Run computes pieces 0 … n-1 of the task and returns when all are done.
	Run(task parallel.Task, n int) error
	// Size returns how many pieces can be computed at once.
	Size() int
}

// machine is what computes: the kernels of a tier, and who runs them. All kinds of operations share one.
type machine struct {
	kernels *asm.Kernels
	pages   asm.Pages // how keys and values lie in pages
	runner  Runner
	held    atomic.Int64 // bytes that lent tasks keep to work in, as far as they grow with a model's sizes
}

// serial is the Runner without threads.
type serial struct{}

func (serial) Size() int { return 1 }

// Run turns a memory fault, such as a mapped file that was cut short, into an error.
func (serial) Run(task parallel.Task, n int) (err error) {
	defer mmap.Catch(&err)()
	for piece := range n {
		task.Do(0, piece)
	}
	return nil
}
