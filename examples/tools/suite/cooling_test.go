package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/antigravity-go/antigravity/examples/tools/internal/runs"
)

// TestRest waits on a machine with a temperature that is a function of time.
func TestRest(t *testing.T) {
	cooling := func(at time.Duration) float64 { return 60 - at.Seconds() }
	for _, c := range []struct {
		name    string
		rest    cooler
		first   bool
		celsius func(at time.Duration) float64
		took    time.Duration
		said    []string
	}{
		{"nothing is asked for", cooler{}, false, nil, 0, nil},
		{"a pause", cooler{pause: 7 * time.Second}, false, nil, 7 * time.Second, nil},
		{"no pause before the first run", cooler{pause: 7 * time.Second}, true, nil, 0, nil},
		{"cool enough", cooler{celsius: 70, patience: time.Minute}, true, cooling, 0, nil},
		{"cooling down", cooler{celsius: 42, patience: time.Minute}, true, cooling, 20 * time.Second,
			[]string{"60 °C: waiting for 42 °C, at most 60 s", "cooled down to 40 °C in 20 s"}},
		{"after a pause", cooler{celsius: 42, pause: 15 * time.Second, patience: time.Minute}, false, cooling, 20 * time.Second,
			[]string{"45 °C: waiting for 42 °C, at most 60 s", "cooled down to 40 °C in 5.0 s"}},
		{"never cool", cooler{celsius: 10, patience: 12 * time.Second}, false, cooling, 15 * time.Second,
			[]string{"60 °C: waiting for 10 °C, at most 12 s", "still 45 °C after 15 s: going on"}},
		{"no thermometer", cooler{celsius: 10, patience: time.Minute}, false, func(time.Duration) float64 { return 0 }, 0,
			[]string{"the machine does not tell its temperature: -cool waits for nothing"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				var said []string
				c.rest.say = func(format string, a ...any) { said = append(said, fmt.Sprintf(format, a...)) }
				c.rest.conditions = func(context.Context) (runs.Condition, error) {
					return runs.Condition{Celsius: c.celsius(time.Since(began))}, nil
				}
				if err := c.rest.wait(t.Context(), c.first); err != nil {
					t.Fatal(err)
				}
				if took := time.Since(began); took != c.took || !slices.Equal(said, c.said) {
					t.Errorf("took %v and said %q, want %v and %q", took, said, c.took, c.said)
				}
			})
		})
	}
}

func TestRestEnds(t *testing.T) {
	charge := 21.0
	r := cooler{battery: 20, conditions: func(context.Context) (runs.Condition, error) { return runs.Condition{Battery: charge}, nil }}
	if err := r.wait(t.Context(), true); err != nil {
		t.Error(err)
	}
	charge = 19
	var low *batteryLowError
	if err := r.wait(t.Context(), true); !errors.As(err, &low) || !strings.Contains(err.Error(), "19 %") {
		t.Errorf("battery low: error %v", err)
	}
	charge = 0 // the machine reports no charge
	if err := r.wait(t.Context(), true); err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := (&cooler{pause: time.Hour}).wait(ctx, false); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: error %v", err)
	}
	gone := errors.New("the device is gone")
	r.conditions = func(context.Context) (runs.Condition, error) { return runs.Condition{}, gone }
	if err := r.wait(t.Context(), true); !errors.Is(err, gone) {
		t.Errorf("error %v", err)
	}
}
