package asmtest

import (
	"os"
	"sync"
	"testing"
)

// keptFences is how many bytes of fences may wait for the next test.
const keptFences = 64 << 20

// fences are what ended tests had, by size: the system takes longer to map, to protect and to unmap memory than most tests take to compute.
var fences struct {
	sync.Mutex
	free  map[int][][]byte
	bytes int
}

// Fenced returns n bytes, all 0, that end at a page that can neither be read nor written; some systems have no portable way to protect it.
func Fenced(t testing.TB, n int) []byte {
	t.Helper()
	page := os.Getpagesize()
	size := (n + page - 1) / page * page
	memory := takeFence(size)
	if memory == nil {
		memory = mapFence(t, size, page)
	}
	t.Cleanup(func() { giveFence(memory) })
	return memory[size-n : size : size]
}

// takeFence returns a fence that a test has left, cleared, or nil.
func takeFence(size int) []byte {
	fences.Lock()
	defer fences.Unlock()
	free := fences.free[size]
	if len(free) == 0 {
		return nil
	}
	memory := free[len(free)-1]
	fences.free[size] = free[:len(free)-1]
	fences.bytes -= size
	clear(memory)
	return memory
}

// giveFence keeps a fence for the next test, or gives it back to the system.
func giveFence(memory []byte) {
	fences.Lock()
	defer fences.Unlock()
	if fences.bytes+len(memory) > keptFences {
		unmapFence(memory)
		return
	}
	if fences.free == nil {
		fences.free = map[int][][]byte{}
	}
	fences.free[len(memory)] = append(fences.free[len(memory)], memory)
	fences.bytes += len(memory)
}
