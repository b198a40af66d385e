package timing

import "sync"

// Lane keeps a thread's shares.
type Lane struct {
	record *Record
	thread int
	began  moment // before the first share
	_      [64]byte

	mu     sync.Mutex // guards the fields below
	n      int        // shares in latest
	latest [stage]share
	chunks []*chunk // those before. All but the last chunk are full

	_ [64]byte // lanes that are filled at the same time do not share a line of the processor's cache
}

// stage is how many shares come to the others at once. Memory that was not used lately is slow to reach, which a thread would wait for with
// each share.
const stage = 30

// chunk is some shares, and a moment: those of a lane's chunks are so near to each other that the ticks' rate is the same in between.
type chunk struct {
	moment
	n      int
	shares [chunkShares]share
}

// share is a Share. It has no pointers, so that the garbage collector need not look through what may be many megabytes.
type share struct {
	phase        int32 // its number
	pieces, of   int32
	began, ended Ticks
}

// Add keeps a share of a phase that has a number. It may be called by several goroutines, though one that is the only one waits for nobody.
func (l *Lane) Add(phase int32, pieces, of int, began, ended Ticks) {
	l.mu.Lock()
	s := &l.latest[l.n]
	s.phase, s.pieces, s.of, s.began, s.ended = phase, int32(pieces), int32(of), began, ended
	if l.n++; l.n == stage {
		l.store()
	}
	l.mu.Unlock()
}

// store puts the latest shares to those before. mu is held.
func (l *Lane) store() {
	n := len(l.chunks)
	if n == 0 || l.chunks[n-1].n == chunkShares {
		if n > 0 && !l.record.more(chunkShares) {
			l.n = 0
			return
		}
		l.chunks = append(l.chunks, &chunk{moment: readClocks()})
		n++
	}
	last := l.chunks[n-1]
	last.n += copy(last.shares[last.n:], l.latest[:l.n])
	l.n = 0
}

// count returns how many shares were kept.
func (l *Lane) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := l.n
	for _, c := range l.chunks {
		n += c.n
	}
	return n
}

// appendTo appends the shares.
func (l *Lane) appendTo(shares []Share) []Share {
	l.mu.Lock()
	defer l.mu.Unlock()
	clock := clock{l.began}
	for _, c := range l.chunks {
		clock = append(clock, c.moment)
	}
	clock = append(clock, readClocks())
	at := 0
	add := func(list []share) {
		for _, s := range list {
			began := clock.time(s.began, &at)
			took := max(clock.time(s.ended, &at).Sub(began), 0)
			shares = append(shares, Share{l.record.phases.phase(s.phase), l.thread, int(s.pieces), int(s.of), began, took})
		}
	}
	for _, c := range l.chunks {
		add(c.shares[:c.n])
	}
	add(l.latest[:l.n])
	return shares
}
