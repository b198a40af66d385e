package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"testing"

	"github.com/antigravity-go/antigravity/examples/tools/internal/runs"
	"github.com/antigravity-go/antigravity/examples/tools/suite/internal/target"
)

// thermometer is a target that answers with a run of 2 s, and reports its own condition as long as the list lasts.
type thermometer struct {
	target.Target
	tells []runs.Condition
}

func (th *thermometer) Run(_ context.Context, _ string, _ []string, stdin io.Reader, stdout, _ io.Writer) error {
	var q request
	if err := json.NewDecoder(stdin).Decode(&q); err != nil {
		return err
	}
	return json.NewEncoder(stdout).Encode(runs.Run{Config: q.Config, Repetition: q.Repetition, Seconds: 2, Conditions: []runs.Condition{{At: 1, MHz: 900}}})
}

func (th *thermometer) Conditions(context.Context) (c runs.Condition, err error) {
	if len(th.tells) == 0 {
		return c, errors.New("the cable is out")
	}
	c, th.tells = th.tells[0], th.tells[1:]
	return c, nil
}

func TestConditionsOfTheTargetAroundARun(t *testing.T) {
	for _, c := range []struct {
		name  string
		tells []runs.Condition
		want  []runs.Condition
	}{
		{"before and after", []runs.Condition{{Celsius: 30, Battery: 80}, {Celsius: 41, Battery: 79}},
			[]runs.Condition{{Celsius: 30, Battery: 80}, {At: 1, MHz: 900}, {At: 2, Celsius: 41, Battery: 79}}},
		{"gone after the run", []runs.Condition{{Celsius: 30}}, []runs.Condition{{Celsius: 30}, {At: 1, MHz: 900}}},
		{"nothing to tell", []runs.Condition{{}, {}}, []runs.Condition{{At: 1, MHz: 900}}},
	} {
		l := &launcher{target: &thermometer{tells: c.tells}}
		r, err := l.measure(t.Context(), runs.Config{Model: "pebble"}, 1)
		if err != nil || r.Error != "" || !slices.Equal(r.Conditions, c.want) {
			t.Errorf("%s: %+v, %v", c.name, r, err)
		}
	}
}
