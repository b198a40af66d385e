package foreground

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/antigravity-go/antigravity/examples/tools/internal/runs"
	"github.com/antigravity-go/antigravity/examples/tools/internal/sysinfo"
)

// An experiment starts two kinds of processes and talks to both in lines of JSON: one works in frames, the other generates. The frames are
// measured alone first, and then with generation by each number of threads with each niceness. A rate is the difference of two counts of
// tokens, divided by the time between them. For example, 598 frames with 2 threads of niceness 19:
//
//	to generate   {"model":"pebble","backend":"cpu","threads":2,"nice":19}
//	from it       {"began":true}
//	to generate   true                             count 0: {"tokens":10,"seconds":0.1}
//	              … as long as 598 frames take, 10 seconds
//	to generate   true                             count 1: {"tokens":1810,"seconds":10.1}, so RateAlone is 180
//	to frames     {"frame":16700000,"work":8000000,"frames":598,"units":400}
//	from it       {"began":true}
//	to generate   true                             count 2
//	from frames   {"frames":598,"missed":9,…}
//	to generate   true                             count 3; Rate is from counts 2 and 3

// Options are an experiment's settings.
type Options struct {
	Plan    Plan
	Model   string // pebble, flint or a path
	Backend string
	Threads []int // that generate, one measurement for each; empty: 1, 2, 4, … up to the processors
	Nice    []int // of the generation, one measurement for each number of threads
	// Frames and Generate are the commands that run the functions of these names.
	Frames, Generate []string
	// Progress is called with the name of each measurement as it begins; may be nil.
	Progress func(what string)
}

// Result is what an experiment found.
type Result struct {
	Began   time.Time    `json:"began"`
	Target  string       `json:"target,omitempty"`
	Machine runs.Machine `json:"machine"`
	Model   string       `json:"model"`
	Backend string       `json:"backend"`
	Frame   float64      `json:"frame"` // milliseconds, as Plan has it
	Work    float64      `json:"work"`  // milliseconds, as Plan has it
	Alone   FrameTimes   `json:"alone"` // the frames while nothing else runs
	Beside  []Concurrent `json:"beside"`
}

// Concurrent is how frames and generation went at the same time.
type Concurrent struct {
	Threads   int        `json:"threads"`
	Nice      int        `json:"nice"`
	Frames    FrameTimes `json:"frames"`
	Rate      float64    `json:"rate"`       // tokens/s while the frames run
	RateAlone float64    `json:"rate_alone"` // tokens/s without them
}

// Run carries the experiment out: the frames alone, and then together with generation by each number of threads with each niceness.
func Run(ctx context.Context, o Options) (*Result, error) {
	r, err := o.run(ctx)
	if err != nil && ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return r, err
}

func (o Options) run(ctx context.Context) (*Result, error) {
	if !nicenessKnown && slices.ContainsFunc(o.Nice, func(n int) bool { return n != 0 }) {
		return nil, fmt.Errorf("the test sets the niceness on Linux and Android only, and this is %s: -nice 0 is what it can measure", runtime.GOOS)
	}
	if len(o.Threads) == 0 {
		for n := 1; n < runtime.NumCPU(); n *= 2 {
			o.Threads = append(o.Threads, n)
		}
		o.Threads = append(o.Threads, runtime.NumCPU())
	}
	tell := func(what string) {
		if o.Progress != nil {
			o.Progress(what)
		}
	}
	r := &Result{Began: time.Now(), Machine: sysinfo.Here().Machine(), Model: o.Model, Backend: o.Backend,
		Frame: milliseconds(o.Plan.Frame), Work: milliseconds(o.Plan.Work)}
	tell("the frames alone")
	alone, err := o.measureFrames(ctx, nil)
	if err != nil {
		return nil, err
	}
	r.Alone, o.Plan.Units = *alone, alone.Units
	for _, threads := range o.Threads {
		for _, niceness := range o.Nice {
			tell(fmt.Sprintf("beside generation, threads %d, niceness %d", threads, niceness))
			b, err := o.measureConcurrent(ctx, threads, niceness)
			if err != nil {
				return nil, err
			}
			r.Beside = append(r.Beside, *b)
		}
	}
	return r, nil
}

// measureFrames measures the frames. beginning, if it is not nil, is called when they begin.
func (o *Options) measureFrames(ctx context.Context, beginning func() error) (m *FrameTimes, err error) {
	c, err := startChild(ctx, o.Frames)
	if err != nil {
		return nil, err
	}
	defer func() { err = c.end(err) }()
	var b began
	if err := c.send(o.Plan); err != nil {
		return nil, err
	}
	if err := c.receive(&b); err != nil {
		return nil, err
	}
	if beginning != nil {
		if err := beginning(); err != nil {
			return nil, err
		}
	}
	m = new(FrameTimes)
	return m, c.receive(m)
}

// measureConcurrent measures the generation alone, for as long as there are frames, and then both.
func (o *Options) measureConcurrent(ctx context.Context, threads, niceness int) (b *Concurrent, err error) {
	c, err := startChild(ctx, o.Generate)
	if err != nil {
		return nil, err
	}
	defer func() { err = c.end(err) }()
	var ready began
	if err := c.send(Load{o.Model, o.Backend, threads, niceness}); err != nil {
		return nil, err
	}
	if err := c.receive(&ready); err != nil {
		return nil, err
	}
	var counts [4]count
	at := func(i int) error {
		if err := c.send(true); err != nil {
			return err
		}
		return c.receive(&counts[i])
	}
	if err := at(0); err != nil {
		return nil, err
	}
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-time.After(o.Plan.Frame * time.Duration(o.Plan.Frames)):
	}
	if err := at(1); err != nil {
		return nil, err
	}
	m, err := o.measureFrames(ctx, func() error { return at(2) })
	if err == nil {
		err = at(3)
	}
	if err != nil {
		return nil, err
	}
	rate := func(from, to count) float64 {
		return float64(to.Tokens-from.Tokens) / max(to.Seconds-from.Seconds, 1e-9)
	}
	return &Concurrent{threads, niceness, *m, rate(counts[2], counts[3]), rate(counts[0], counts[1])}, nil
}

// child is a process that answers lines of JSON with lines of JSON.
type child struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
	out   *json.Decoder
	said  bytes.Buffer // its last words
}

func startChild(ctx context.Context, command []string) (*child, error) {
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	c := &child{cmd: cmd}
	cmd.Stderr, cmd.WaitDelay = &c.said, 2*time.Second
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if c.stdin, err = cmd.StdinPipe(); err != nil {
		return nil, err
	}
	c.out = json.NewDecoder(stdout)
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", strings.Join(command, " "), err)
	}
	return c, nil
}

// errChild stands for the end of a child, which end explains.
var errChild = errors.New("a process of the test ended too early")

func (c *child) send(v any) error {
	if err := json.NewEncoder(c.stdin).Encode(v); err != nil {
		return errChild
	}
	return nil
}

func (c *child) receive(v any) error {
	if err := c.out.Decode(v); err != nil {
		return errChild
	}
	return nil
}

// end ends the child. It returns failed, or, if the child's early end is the reason, the child's own words.
func (c *child) end(failed error) error {
	c.stdin.Close()
	early := errors.Is(failed, errChild)
	if failed != nil && !early {
		c.cmd.Process.Kill()
	}
	err := c.cmd.Wait()
	said := strings.TrimSpace(c.said.String())
	switch {
	case early && said != "":
		return errors.New(said[strings.LastIndexByte(said, '\n')+1:])
	case early && err != nil:
		return fmt.Errorf("%w: %w", failed, err)
	}
	return failed
}
