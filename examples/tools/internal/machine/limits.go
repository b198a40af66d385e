// Package machine measures what the processor can do at most, and says how near to that a piece of work came.
//
// It is a roofline model (Williams, Waterman, Patterson, "Roofline", CACM 52(4), 2009) with four roofs. Two are for bytes: weights and
// cached keys and values are read from memory, activations stay in the caches. Two are for multiply-accumulates: of 8-bit integers, which
// quantised weights are multiplied with, and of 32-bit floats. They are what the instructions of the tier in use can do, not what any
// kernel does: a kernel also loads, unpacks and scales its operands, so no kernel comes near 100 %. A Work counts what an operation must do
// of each; the Limits say how long that takes at least, and which of the roofs is the lowest.
package machine

import (
	"fmt"
	"math"
	"runtime"
	"time"

	"github.com/antigravity-go/antigravity/asm"
)

// Resource is what an operation waits for.
type Resource string

// The resources.
const (
	Memory  Resource = "memory" // reading from memory
	Cache   Resource = "cache"  // moving data within the caches
	Integer Resource = "int8"   // multiply-accumulates of 8-bit integers
	Float   Resource = "f32"    // multiply-accumulates of 32-bit floats
)

// Limits are the rates that a number of threads reach together, in bytes and multiply-accumulates per second. The zero value
// stands for limits that were not measured.
type Limits struct {
	Threads int
	Tier    string  // the tier that multiplies: a name that asm.Tier returns
	Span    int     // bytes read in turn to measure Memory: more than the caches hold
	Memory  float64 // bytes read from memory, by the faster of a plain loop and the kernel of f32 weights
	Cache   float64 // bytes read and written by x += y on vectors in the second-level cache, the simplest of the kernels
	Integer float64 // multiply-accumulates of 8-bit integers by the tier's instructions, with nothing to load or to convert
	Float   float64 // the same of f32
}

// The usual arguments of Measure: enough memory that most of it is in no cache, not even in one that many processors share; and a window of
// time in which a scheduler has many turns.
const (
	DefaultSpan   = 512 << 20
	DefaultWindow = 25 * time.Millisecond
)

// The least and the greatest span, in MiB: the least has a stretch for each of 64 threads, and no machine spares more than
// the greatest.
const minSpan, maxSpan = 64, min(16<<10, math.MaxInt>>20)

// CheckSpan returns an error for a span, in MiB, that Measure should not be asked for.
func CheckSpan(mib int) error {
	if mib < minSpan || mib > maxSpan {
		return fmt.Errorf("%d MiB are no span to read: it is between %d and %d", mib, minSpan, maxSpan)
	}
	return nil
}

// rounds is how often each limit is measured, the limits taking turns. The best measurement counts, since other programs may
// use the machine for a while.
const rounds = 8

// Measure finds the limits for a number of threads (below 1, and at most: GOMAXPROCS) with the kernels in use. It reads
// through span bytes, which it allocates, and spends some tens of windows.
func Measure(threads, span int, window time.Duration) (Limits, error) {
	if n := runtime.GOMAXPROCS(0); threads < 1 || threads > n {
		threads = n
	}
	data, free, err := memoryParts(threads, span)
	if err != nil {
		return Limits{}, fmt.Errorf("measure the memory's limit: %w", err)
	}
	defer free()
	l, kernels := Limits{Threads: threads, Tier: asm.Tier(), Span: span}, asm.Best()
	meters := []meter{newMeter(&l.Cache, threads, func(int) step { return addStep(kernels) })}
	for _, r := range readers(kernels) {
		meters = append(meters, newMeter(&l.Memory, threads, func(thread int) step { return readStep(data[thread], r()) }))
	}
	meters = append(meters,
		newMeter(&l.Integer, threads, func(int) step { return repeatStep(kernels.MultiplyIntegers) }),
		newMeter(&l.Float, threads, func(int) step { return repeatStep(kernels.MultiplyFloats) }))
	for range rounds {
		for _, m := range meters {
			m.measure(window)
		}
	}
	return l, nil
}

// repeatStep returns a step of several calls of do, which are short compared with reading the clock.
func repeatStep(do func() int) step {
	const calls = 8
	return func() (done int) {
		for range calls {
			done += do()
		}
		return done
	}
}

// Floor returns the least time that a Work can take by the limits, and the resource that bounds it. Data are moved while the
// processor computes, so that the longest of these times counts; but the two kinds of multiply-accumulates take turns, so
// that their times are added. Without work, or without limits, the time is 0 and the resource "".
func (l Limits) Floor(w Work) (floor time.Duration, bound Resource) {
	if l == (Limits{}) || w == (Work{}) {
		return 0, ""
	}
	seconds := func(amount int64, rate float64) float64 { return float64(amount) / rate }
	integer, float := seconds(w.Integer, l.Integer), seconds(w.Float, l.Float)
	longest, bound := integer+float, Integer
	if float > integer {
		bound = Float
	}
	if t := seconds(w.Memory, l.Memory); t > longest {
		longest, bound = t, Memory
	}
	if t := seconds(w.Cache, l.Cache); t > longest {
		longest, bound = t, Cache
	}
	return time.Duration(longest * float64(time.Second)), bound
}

// Legend explains the figures of a table, for its foot.
func (l Limits) Legend() string {
	return fmt.Sprintf(`GB/s counts each operand once, GMAC/s multiply-accumulates. "of limit" is the least time that this machine
needs, divided by the time taken, by its limits measured in this run with %d threads:
  memory  %6s GB/s     reading %d MiB in turn: for weights, embeddings, cached keys and values
  cache   %6s GB/s     x += y within the second-level cache: for activations
  int8    %6s GMAC/s   the most that %s kernels could multiply with nothing to load or to convert: for quantised weights
  f32     %6s GMAC/s   the same of floating-point numbers: for other weights and caches
Products also have to load, unpack and scale their numbers, which keeps them well below 100 %% of the int8 and f32 limits.
More than 100 %%: the data were nearer than the limit assumes, or the machine was slower while it was measured.
`, l.Threads, Digits(l.Memory/1e9), l.Span>>20, Digits(l.Cache/1e9), Digits(l.Integer/1e9), l.Tier, Digits(l.Float/1e9))
}
