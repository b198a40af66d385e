package backendtest_test

import (
	"errors"
	"testing"
	"time"

	"github.com/antigravity-go/antigravity/backend/backendtest"
	"github.com/antigravity-go/antigravity/backend/host"
	"github.com/antigravity-go/antigravity/internal/effort"
	"github.com/antigravity-go/antigravity/tensor"
)

// TestToy runs the suite on the example. Its memory shows an operation of host.Base that does not map an operand, for which one check of each
// operation and type is enough. If the tests are long, all are done.
func TestToy(t *testing.T) {
	t.Parallel()
	checks := backendtest.Checks(true)
	if !effort.Long() {
		checks = backendtest.FirstOfEach(checks)
	}
	backendtest.RunChecks(t, newToy(), checks)
}

// TestDevicePassesOn runs checks on a device that lets everything succeed, around a backend without optional interfaces: the first of each
// operation and type, and with prepared weights.
func TestDevicePassesOn(t *testing.T) {
	effort.Turn(t, 8)
	t.Parallel()
	calls := map[string]bool{}
	d := backendtest.NewDevice(host.NewReference(), func(call string, _ *tensor.Tensor) error {
		calls[call] = true
		return nil
	})
	for _, c := range backendtest.FirstOfEach(backendtest.Checks(true)) {
		s := &backendtest.Suite{Backend: d, Exact: true, Seed: 2, Timeout: time.Minute}
		if r, err := s.Do(t.Context(), c); err != nil || r.Verdict.Bad() {
			t.Errorf("%v: %+v, %v", c, r, err)
		}
	}
	if x, err := tensor.New(d, tensor.F32, tensor.ShapeOf(3)); err != nil || x.Free() != nil {
		t.Error(err)
	}
	for _, call := range []string{"NormSwiGLU", "MatMulTransposed", "Attend", "WriteSlots", "Largest", "Alloc", "CopyFrom", "Prepare"} {
		if !calls[call] {
			t.Errorf("%s was not asked about", call)
		}
	}
}

// TestFault fails calls in each of the ways that a Fault knows.
func TestFault(t *testing.T) {
	lost := errors.New("the device is lost")
	for name, c := range map[string]struct {
		fault *backendtest.Fault
		after int
		fails string // for each of the calls a b a a b: whether it fails
	}{
		"all":      {&backendtest.Fault{}, 2, "..xxx"},
		"one kind": {&backendtest.Fault{In: []string{"a"}}, 1, "..xx."},
		"once":     {&backendtest.Fault{In: []string{"a"}, Once: true}, 1, "..x.."},
		"lost":     {&backendtest.Fault{In: []string{"a"}, Lost: true}, 1, "..xxx"},
		"spared":   {&backendtest.Fault{Spared: []string{"b"}}, 1, "..xx."},
		"at once":  {&backendtest.Fault{In: []string{"b"}}, 0, ".x..x"},
		"too late": {&backendtest.Fault{}, 5, "....."},
	} {
		c.fault.Err = lost
		f := c.fault
		f.Arm(c.after)
		got := ""
		for _, call := range []string{"a", "b", "a", "a", "b"} {
			switch err := f.Before(call, nil); err {
			case nil:
				got += "."
			case lost:
				got += "x"
			default:
				t.Errorf("%s: %v", name, err)
			}
		}
		if got != c.fails || f.Struck() != (got != ".....") {
			t.Errorf("%s: %s, want %s; struck is %v", name, got, c.fails, f.Struck())
		}
		f.Disarm()
		if err := f.Before("a", nil); err != nil {
			t.Errorf("%s: disarmed: %v", name, err)
		}
	}
}
