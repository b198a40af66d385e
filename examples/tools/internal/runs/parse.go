package runs

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
)

// The bounds of a run's text. A run of a hundred thousand tokens has three megabytes and a few thousand objects.
const (
	MaxFile    = 16 << 20 // bytes
	maxObjects = 1 << 18  // an empty one has two bytes in a file, and a hundred in memory
	maxLabels  = 64 << 10 // bytes of a Config, and of a Machine, which are held of every run at once
	maxSeconds = 1e9      // thirty years: of any time
)

// Parse reads a run from JSON of at most MaxFile bytes. It refuses what no suite writes: values too large to hold, and times that go
// backwards, which give no rate. Its memory is bounded whatever the text is.
func Parse(text []byte) (*Run, error) {
	if len(text) > MaxFile {
		return nil, fmt.Errorf("a run is no longer than %d bytes", MaxFile)
	}
	if bytes.Count(text, []byte("{")) > maxObjects {
		return nil, fmt.Errorf("a run has no more than %d objects", maxObjects)
	}
	r := new(Run)
	if err := json.Unmarshal(text, r); err != nil {
		return nil, err
	}
	return r, r.check()
}

// check says why a run cannot be one.
func (r *Run) check() error {
	if r.Config.Model == "" || r.Repetition < 1 {
		return errors.New("a run has a config with a model, and a repetition: the suite did not write this")
	}
	for _, v := range []any{&r.Config, &r.Machine} {
		if text, err := json.Marshal(v); err != nil || len(text) > maxLabels {
			return fmt.Errorf("its config or its machine is longer than %d bytes", maxLabels)
		}
	}
	for _, t := range []float64{r.Seconds, r.Load, r.Reading[0], r.Reading[1], r.Yardsticks[0], r.Yardsticks[1]} {
		if !(math.Abs(t) <= maxSeconds) {
			return fmt.Errorf("a time of %g is none", t)
		}
	}
	before := -maxSeconds
	for i, t := range r.Tokens {
		if !(t >= before && t <= maxSeconds) {
			return fmt.Errorf("token %d came at %g, and the one before it at %g: times do not go backwards", i+1, t, before)
		}
		before = t
	}
	for _, a := range r.Accuracy {
		if a.Right < 0 || a.Right > a.Asked || a.Asked > math.MaxInt32 {
			return fmt.Errorf("%d right answers to %d questions cannot be", a.Right, a.Asked)
		}
	}
	return nil
}
