package foreground

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/antigravity-go/antigravity/internal/precise"
)

// work does units units of work, each about a microsecond of arithmetic without memory: a frame's cost is to depend on the processor's time
// alone. The result depends on all of the work, so that the compiler leaves nothing out.
func work(units int, seed uint64) uint64 {
	x := seed | 1
	for range units * 500 {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
	}
	return x
}

// calibrate finds how many units take a time, when nothing else runs. The fastest of several attempts counts: what makes the others
// slower is not the work. now is a clock, best one that stands still while the thread does not run.
func calibrate(now func() time.Duration, want time.Duration, do func(units int)) int {
	const attempts = 7
	units := 64
	for {
		fastest := time.Duration(1<<63 - 1)
		for range attempts {
			began := now()
			do(units)
			fastest = min(fastest, now()-began)
		}
		if fastest >= want || units > 1<<30 {
			return max(1, int(float64(units)*float64(want)/float64(max(fastest, 1))))
		}
		units *= 2
	}
}

// machineClock is the real clock.
type machineClock struct{ began time.Time }

func (c machineClock) now() time.Duration { return precise.Since(c.began) }

func (c machineClock) sleepUntil(t time.Duration) {
	for {
		left := t - c.now()
		if left <= 0 {
			return
		}
		sleep(left)
	}
}

// Frames is the task in the foreground, in a process of its own: it reads a Plan from stdin, writes a line when it begins, and writes
// what it Measured. It ends when stdin does.
func Frames(ctx context.Context, stdin io.Reader, stdout io.Writer) error {
	in := json.NewDecoder(stdin)
	var p Plan
	if err := in.Decode(&p); err != nil {
		return fmt.Errorf("read the plan of the frames: %w", err)
	}
	if p.Frame <= 0 || p.Work <= 0 || p.Frames < 1 || p.Frames > maxFrames || p.Units < 0 {
		return fmt.Errorf("the plan %+v has no frames", p)
	}
	ctx = untilEnd(ctx, in)
	// The rest is one goroutine's, on a thread that has nothing else to do, in a process without collections of garbage.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	seed := uint64(precise.Now().UnixNano())
	do := func(units int) {
		if ctx.Err() == nil { // once ended, all is over soon
			seed = work(units, seed)
		}
	}
	c := machineClock{precise.Now()}
	if p.Units == 0 {
		now := c.now
		if _, ok := ownTime(); ok {
			now = func() time.Duration { t, _ := ownTime(); return t }
		}
		p.Units = calibrate(now, p.Work, do)
	}
	out := json.NewEncoder(stdout)
	if err := out.Encode(began{true}); err != nil {
		return err
	}
	measured := p.run(endingClock{ctx, c}, func() { do(p.Units) })
	if ctx.Err() != nil {
		return ctx.Err()
	}
	runtime.KeepAlive(seed)
	return out.Encode(measured)
}

// maxFrames bounds a plan: a day of frames.
const maxFrames = 24 * 3600 * 60

// began is the line that the tasks write when measuring begins.
type began struct {
	Began bool `json:"began"`
}

// endingClock is a clock on which nobody sleeps once its context has ended.
type endingClock struct {
	ctx context.Context
	clock
}

func (e endingClock) sleepUntil(t time.Duration) {
	if e.ctx.Err() == nil {
		e.clock.sleepUntil(t)
	}
}

// errOrphan is the cause of a context that ended because nobody waits for the process's answer any more.
var errOrphan = errors.New("the experiment ended")

// untilEnd returns a context that ends when the stream does. The process that started this one holds the other end, so it ends with
// that process, on every system, however that ended.
func untilEnd(ctx context.Context, in *json.Decoder) context.Context {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		var more json.RawMessage
		in.Decode(&more)
		cancel(errOrphan)
	}()
	return ctx
}
