package chat

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nikolalohinski/gonja/v2/exec"
)

// Bounds on one rendering.
const (
	maxOutput    = 16 << 20 // bytes of the result
	maxWork      = 2 << 20  // steps, besides one for each byte of the conversation: an operation, an item of a loop times the nodes in its body, 16 bytes of a new string
	maxMacros    = 32       // macros within macros
	macroSteps   = 16       // of work to call a macro
	bytesPerStep = 16
)

var (
	errTooLong = fmt.Errorf("more than %d bytes of text", maxOutput)
	errTooMuch = fmt.Errorf("more work than %d steps", maxWork)
)

// The names under which the context holds what this package needs.
const (
	runName  = reserved + "run"
	callName = reserved + "call"
)

// run is one rendering.
type run struct {
	fence      fence
	date       time.Time
	operations map[string]operation // for filters that run others by name
	work       int                  // steps left
	macros     int                  // open macro calls
	err        error                // the first error
}

// fail notes the first error and returns a value that ends the rendering.
func (r *run) fail(err error) *exec.Value {
	if r.err == nil {
		r.err = err
	}
	return exec.AsValue(err)
}

// spend takes steps from the budget.
func (r *run) spend(steps int) error {
	if steps < 0 || steps > r.work {
		r.work = 0
		return errTooMuch
	}
	r.work -= steps
	return nil
}

// spendText takes what a new string of n bytes costs.
func (r *run) spendText(n int) error {
	if n > maxOutput {
		return errTooLong
	}
	return r.spend(n / bytesPerStep)
}

// output is where a template writes to, within the budget.
type output struct {
	strings.Builder
	run *run
}

func (o *output) Write(p []byte) (int, error) { return o.WriteString(string(p)) }

func (o *output) WriteString(s string) (int, error) {
	err := o.run.spendText(len(s))
	if o.Len()+len(s) > maxOutput {
		err = errTooLong
	}
	if err != nil {
		o.run.fail(err)
		return 0, err
	}
	return o.Builder.WriteString(s)
}

// An operation is what an operator, filter, test, method or function of a template does. args[0] is what it is applied
// to.
type operation func(r *run, args []any, named map[string]any) (any, error)

// call is the function behind every operation: see hardener. Its first argument names one.
func (r *run) call(p *exec.VarArgs) *exec.Value {
	name, _ := p.Args[0].Interface().(string)
	op, ok := operations[name]
	if !ok {
		return r.fail(fmt.Errorf("unknown operation %q", name))
	}
	return r.apply(op, p.Args[1:], p.KwArgs)
}

// native makes an operation callable by name.
func (r *run) native(op operation) func(*exec.VarArgs) *exec.Value {
	return func(p *exec.VarArgs) *exec.Value { return r.apply(op, p.Args, p.KwArgs) }
}

func (r *run) apply(op operation, values []*exec.Value, namedValues map[string]*exec.Value) *exec.Value {
	cost := 1
	args := make([]any, len(values))
	for i, v := range values {
		args[i] = v.Interface()
		cost += size(args[i])
	}
	var named map[string]any
	if len(namedValues) > 0 {
		named = make(map[string]any, len(namedValues))
		for k, v := range namedValues {
			named[k] = v.Interface()
		}
	}
	if err := r.spend(cost); err != nil {
		return r.fail(err)
	}
	result, err := op(r, args, named)
	if s, ok := result.(string); ok && err == nil {
		err = r.spendText(len(s))
	}
	if err != nil {
		return r.fail(err)
	}
	return exec.AsValue(result)
}

// size is what looking at a value costs.
func size(v any) int {
	switch v := v.(type) {
	case string:
		return len(v) / (16 * bytesPerStep)
	case list:
		return len(v) / bytesPerStep
	case object:
		return len(v) / bytesPerStep
	}
	return 0
}

// runOf returns the rendering that a statement belongs to.
func runOf(c *exec.Context) (*run, error) {
	v, _ := c.Get(runName)
	r, ok := v.(*run)
	if !ok {
		return nil, errors.New("statement outside of a rendering")
	}
	return r, nil
}
