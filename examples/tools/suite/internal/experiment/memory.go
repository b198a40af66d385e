package experiment

import (
	"time"

	"github.com/antigravity-go/antigravity/examples/tools/internal/runs"
	"github.com/antigravity-go/antigravity/llama"
)

const (
	memoryEvery = 10 * time.Millisecond // between two samples, in a run that is not long
	maxMemory   = 2000                  // samples
)

// memorySamples are samples of memory. When there are too many, each two become one, which has the most of both, and only half as many are
// taken from then on: the peak stays what it was. The zero value is ready.
type memorySamples struct {
	list  []runs.Memory
	every time.Duration // 0: memoryEvery
	last  time.Time     // when the last sample was taken
	cache int64         // the most bytes of the cache in any sample, or before the first
}

// due reports whether it is time for a sample.
func (m *memorySamples) due(now time.Time) bool { return now.Sub(m.last) >= max(m.every, memoryEvery) }

// add adds a sample.
func (m *memorySamples) add(now time.Time, sample runs.Memory) {
	m.list, m.last, m.cache = append(m.list, sample), now, max(m.cache, sample.Cache)
	if len(m.list) < maxMemory {
		return
	}
	half := m.list[:0]
	for i := 0; i < len(m.list); i += 2 {
		a := m.list[i]
		if i+1 < len(m.list) {
			b := m.list[i+1]
			a = runs.Memory{At: b.At, Resident: max(a.Resident, b.Resident), Cache: max(a.Cache, b.Cache), Slots: max(a.Slots, b.Slots)}
		}
		half = append(half, a)
	}
	m.list, m.every = half, 2*max(m.every, memoryEvery)
}

// sample notes the memory that the process and the session's cache hold. If the cache has held more than in any sample, as it does just
// before an eviction, that peak is noted too, with the same time.
func (e *experiment) sample(session *llama.Session, now time.Time) {
	if e.options.unwatched {
		return
	}
	usage := session.CacheUsage()
	s := runs.Memory{At: e.at(now), Resident: e.resident.Bytes(), Cache: usage.Bytes, Slots: session.CacheLen()}
	if usage.PeakBytes > max(e.memory.cache, s.Cache) {
		peak := s
		if s.Cache > 0 { // slots are of one size; this is inexact only if layers or heads have different shares
			peak.Slots = int(int64(s.Slots) * usage.PeakBytes / s.Cache)
		}
		peak.Cache = usage.PeakBytes
		e.memory.add(now, peak)
	}
	e.memory.add(now, s)
}
