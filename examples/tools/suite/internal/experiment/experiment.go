// Package experiment measures one run of a suite in this process: how fast a model reads a prompt and writes an answer, in which memory, on
// which machine; and, if the Config asks for it, which operations took the time and how many questions are answered rightly.
//
// A run's parts come one after the other. The yardstick, a fixed piece of work, shows before and after whether the machine's clock wanders.
// The model is loaded, and a part of the work is done once without a clock: memory is slow when it is touched for the first time, and some
// devices compile programs before they run them. The prompt of arbitrary tokens is read, and the answer is written, the likeliest token
// each time. If the model ends its answer early, the rest comes with the end forbidden. So any model will do, one of random weights too.
// The profile repeats prompt and answer, since timing each operation makes them slower, and the questions come last.
package experiment

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/examples/internal/cli"
	"github.com/antigravity-go/antigravity/examples/tools/internal/questions"
	"github.com/antigravity-go/antigravity/examples/tools/internal/recording"
	"github.com/antigravity-go/antigravity/examples/tools/internal/runs"
	"github.com/antigravity-go/antigravity/examples/tools/internal/sysinfo"
	"github.com/antigravity-go/antigravity/internal/precise"
	"github.com/antigravity-go/antigravity/llama"
)

// Options are the settings of a run that its Config does not have. The zero value is good.
type Options struct {
	Repetition int       // which one of the Config's runs this is; 0: the first, 1
	Commit     string    // that the program was built from; "": the build's
	Committed  time.Time // when Commit was made; zero: the build's time, if it has the same Commit
	// Progress, if not nil, is called with each part of the run and how much of it is done, at most a few times a second. The run waits for
	// it.
	Progress func(part string, done, total int)

	unwatched bool // nothing is sampled: for measuring what that costs
	yardstick int  // steps, for tests; 0: yardstickSteps
}

// The parts of a run, as Progress gets them.
const (
	Loading    = "loading"
	Warming    = "warming up"
	Reading    = "reading"    // of the prompt, in tokens
	Generating = "generating" // of the answer, in tokens
	Profiling  = "profiling"
	Asking     = "asking" // questions
)

// Run measures a run. It must be the only thing that the process does meanwhile. When the context ends, so does the run, with the context's
// error. Other errors name the part of the Config that does not work.
func Run(ctx context.Context, c runs.Config, o Options) (*runs.Run, error) {
	s, err := newSettings(&c)
	if err != nil {
		return nil, err
	}
	e := &experiment{settings: s, options: o, began: precise.Now(), resident: sysinfo.OpenResident()}
	defer e.resident.Close()
	if c.Questions != "" {
		if e.asked, err = questions.Read(c.Questions, s.skills, c.Asked); err != nil { // before anybody has waited
			return nil, err
		}
	}
	e.run = &runs.Run{Config: c, Repetition: max(o.Repetition, 1), Began: e.began.Round(0).UTC()}
	if err := e.execute(ctx); err != nil {
		return nil, err
	}
	e.run.Seconds = e.at(precise.Now())
	return e.run, nil
}

// experiment is a run under way.
type experiment struct {
	*settings
	options  Options
	run      *runs.Run
	began    time.Time // with the monotonic clock, which run.Began has not
	resident *sysinfo.Resident
	shown    time.Time // the time of the last call of Progress
	model    *llama.Model
	recorder recording.Recorder
	evicted  evictions
	memory   memorySamples
	asked    []questions.Skill // empty: accuracy is not measured
}

// at returns a time in seconds since the run began, to the microsecond.
func (e *experiment) at(t time.Time) float64 { return math.Round(t.Sub(e.began).Seconds()*1e6) / 1e6 }

func (e *experiment) execute(ctx context.Context) (err error) {
	here := sysinfo.Here()
	e.run.Machine = here.Machine()
	if e.options.Commit != "" && e.options.Commit != e.run.Machine.Commit {
		e.run.Machine.Commit, e.run.Machine.Committed = e.options.Commit, e.options.Committed
	}
	if !e.options.unwatched {
		stop := watch(e.began, here.Sensors().Condition)
		defer func() { e.run.Conditions = stop() }()
	}
	e.run.Yardsticks[0] = yardstick(cmp.Or(e.options.yardstick, yardstickSteps))

	closeModel, err := e.load(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeModel()) }()
	if err := e.fits(e.model.Config()); err != nil {
		return err
	}
	if err := e.measure(ctx); err != nil {
		return err
	}
	e.run.Yardsticks[1] = yardstick(cmp.Or(e.options.yardstick, yardstickSteps))
	if e.config.Profile {
		if err := e.profile(ctx); err != nil {
			return err
		}
	}
	return e.ask(ctx)
}

// load opens the backend and loads the model. The function that it returns closes both.
func (e *experiment) load(ctx context.Context) (closeModel func() error, err error) {
	e.progress(Loading, 0, 1)
	c := e.config
	choice := cli.Model{Path: c.Model, Backend: c.Backend, Threads: c.Threads, Weights: e.weights, Wrap: e.recorded(), Trace: &llama.Trace{Evict: e.evicted.note}}
	began := precise.Now()
	d, err := choice.OpenDevices()
	if err != nil {
		return nil, err // it begins with backend
	}
	if e.model, err = choice.LoadOn(ctx, d, io.Discard); err != nil {
		return nil, errors.Join(fmt.Errorf("model: %w", err), d.Close())
	}
	e.run.Load = precise.Since(began).Seconds()
	e.run.Weights = e.model.MemoryUsage().Weights
	e.run.Machine.Device = device(d.Last())
	e.progress(Loading, 1, 1)
	return func() error { return errors.Join(e.model.Close(), d.Close()) }, nil
}

// device describes what computes, unless that is the processor.
func device(b backend.Backend) string {
	if b.Name() == "cpu" {
		return ""
	}
	return b.Describe()
}

// showEvery is how often Progress is called at most, unless a part begins or ends.
const showEvery = 200 * time.Millisecond

// progress says how much of a part is done.
func (e *experiment) progress(part string, done, total int) {
	if e.options.Progress == nil {
		return
	}
	if now := precise.Now(); done == 0 || done == total || now.Sub(e.shown) >= showEvery {
		e.shown = now
		e.options.Progress(part, done, total)
	}
}
