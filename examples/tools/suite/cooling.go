package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/antigravity-go/antigravity/examples/internal/cli"
	"github.com/antigravity-go/antigravity/examples/tools/internal/runs"
	"github.com/antigravity-go/antigravity/examples/tools/internal/sysinfo"
	"github.com/antigravity-go/antigravity/examples/tools/suite/internal/target"
)

// cooler is what happens between two runs, so that the heat of one does not slow the next down.
type cooler struct {
	pause    time.Duration // always
	celsius  float64       // wait until the machine is no hotter; 0: do not ask
	patience time.Duration // but no longer than this
	battery  float64       // percent of the battery below which the suite ends; 0: do not ask

	conditions func(ctx context.Context) (runs.Condition, error)
	say        func(format string, a ...any)
	unknown    bool // it has been said that the machine reports no temperature
}

// lookInterval is how often the temperature is looked at.
const lookInterval = 5 * time.Second

// batteryLowError says that the battery is too low to go on.
type batteryLowError struct{ percent, least float64 }

func (e *batteryLowError) Error() string {
	return fmt.Sprintf("the battery is at %.0f %%, below -battery %.0f: charge the device, and the same command goes on", e.percent, e.least)
}

// wait waits until the next run may begin. first: no run came before.
func (r *cooler) wait(ctx context.Context, first bool) error {
	if !first && r.pause > 0 {
		if err := sleep(ctx, r.pause); err != nil {
			return err
		}
	}
	if r.celsius == 0 && r.battery == 0 {
		return nil
	}
	began, waited := time.Now(), false
	for {
		c, err := r.conditions(ctx)
		if err != nil {
			return err
		}
		switch {
		case c.Battery > 0 && c.Battery < r.battery:
			return &batteryLowError{c.Battery, r.battery}
		case r.celsius > 0 && c.Celsius == 0 && !r.unknown:
			r.unknown = true
			r.say("the machine does not tell its temperature: -cool waits for nothing")
		}
		if r.celsius == 0 || c.Celsius <= r.celsius {
			if waited {
				r.say("cooled down to %.0f °C in %s", c.Celsius, duration(time.Since(began).Seconds()))
			}
			return nil
		}
		if time.Since(began) >= r.patience {
			r.say("still %.0f °C after %s: going on", c.Celsius, duration(time.Since(began).Seconds()))
			return nil
		}
		if !waited {
			r.say("%.0f °C: waiting for %.0f °C, at most %s", c.Celsius, r.celsius, duration(r.patience.Seconds()))
		}
		waited = true
		if err := sleep(ctx, lookInterval); err != nil {
			return err
		}
	}
}

// sleep waits, or returns the context's error.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// conditionsOf returns a target's condition, from a program on it and, if it has one, from the target's own way.
func conditionsOf(ctx context.Context, t target.Target, program string) (c runs.Condition, err error) {
	var out, said bytes.Buffer
	if err := t.Run(ctx, program, []string{"conditions"}, nil, &out, &said); err != nil {
		return c, fmt.Errorf("ask the machine for its temperature and battery: %w %s", err, bytes.TrimSpace(said.Bytes()))
	}
	if err := json.Unmarshal(out.Bytes(), &c); err != nil {
		return c, fmt.Errorf("ask the machine for its temperature and battery: %w", err)
	}
	if s, ok := t.(target.Sensor); ok {
		own, err := s.Conditions(ctx)
		if err != nil {
			return c, err
		}
		if c.Celsius == 0 {
			c.Celsius = own.Celsius
		}
		if c.Battery == 0 {
			c.Battery = own.Battery
		}
	}
	return c, nil
}

// conditions prints how this machine is.
func conditions(_ context.Context, args []string, _ io.Reader, stdout, _ io.Writer) error {
	if len(args) > 0 {
		return cli.Usagef("conditions has no arguments: a suite asks for it")
	}
	return cli.PrintJSON(stdout, sysinfo.Here().Sensors().Condition())
}
