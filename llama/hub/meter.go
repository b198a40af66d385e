package hub

import (
	"sync"
	"time"
)

// meter reports the progress of fetching.
type meter struct {
	tell  func(done, total int64) // may be nil
	every time.Duration           // least time between two calls of tell before the end

	mu          sync.Mutex
	done, total int64
	told        time.Time
}

// start sets how many bytes there will be.
func (m *meter) start(total int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.done, m.total, m.told = 0, total, time.Time{}
}

// add counts n bytes that have arrived. A negative n counts bytes that were lost.
func (m *meter) add(n int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.done += n
	if m.tell == nil || m.total == 0 || m.done < m.total && time.Since(m.told) < m.every {
		return
	}
	m.told = time.Now()
	m.tell(m.done, m.total)
}
