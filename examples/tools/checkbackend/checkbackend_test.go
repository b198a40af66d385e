package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/antigravity-go/antigravity/backend/backendtest"
	"github.com/antigravity-go/antigravity/backend/host"
	"github.com/antigravity-go/antigravity/examples/internal/cli"
	"github.com/antigravity-go/antigravity/tensor"
)

// program runs the program and returns what it prints.
func program(args ...string) (string, error) {
	var out bytes.Buffer
	err := run(context.Background(), args, nil, &out, &out)
	return out.String(), err
}

func TestTheCPUIsClean(t *testing.T) {
	out, err := program("-quick", "-threads", "3", "-op", "AddAssign,softmax,Mistakes")
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{"AddAssign", "Softmax", "Mistakes", "bit for bit", "nothing is wrong"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}

// TestWalk counts failures of a device that fails on purpose, and stops when a check hangs.
func TestWalk(t *testing.T) {
	checks, err := chosen(backendtest.Checks(true), "Scale")
	if err != nil {
		t.Fatal(err)
	}
	fault := &backendtest.Fault{Err: errors.New("out of breath"), In: []string{"Scale"}}
	s := &backendtest.Suite{Backend: backendtest.NewDevice(host.NewReference(), fault.Before), Exact: true, Timeout: time.Minute}
	var out bytes.Buffer
	if err := walk(t.Context(), s, checks, newTable(&out, false)); err != nil {
		t.Errorf("without a fault: %v\n%s", err, out.String())
	}
	fault.Arm(3)
	want := fmt.Sprintf("fails %d of %d checks", len(checks)-3, len(checks))
	if err := walk(t.Context(), s, checks, newTable(&out, false)); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %q", err, want)
	}
	if !strings.Contains(out.String(), "out of breath") {
		t.Errorf("the fault's error is not in\n%s", out.String())
	}
	forever := make(chan struct{})
	defer close(forever)
	s = &backendtest.Suite{Timeout: 50 * time.Millisecond, Backend: backendtest.NewDevice(host.NewReference(), func(call string, _ *tensor.Tensor) error {
		if call == "Scale" {
			<-forever
		}
		return nil
	})}
	want = fmt.Sprintf("the last %d of %d checks were left out", len(checks)-1, len(checks))
	if err := walk(t.Context(), s, checks, newTable(&out, false)); err == nil || !s.Stuck() || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %q", err, want)
	}
}

func TestJSON(t *testing.T) {
	out, err := program("-json", "-quick", "-op", "scale, Compact")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for text := range strings.Lines(out) {
		var r line
		if err := json.Unmarshal([]byte(text), &r); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if r.Verdict != backendtest.Passed || r.Shape == "" {
			t.Error(text)
		}
		seen[r.Operation]++
	}
	if len(seen) != 2 || seen["Scale"] == 0 || seen["Compact"] == 0 {
		t.Errorf("checks of %v", seen)
	}
	if text, err := json.Marshal(number(math.Inf(1))); err != nil || string(text) != "null" {
		t.Errorf("infinity is %s, %v", text, err)
	}
}

func TestTable(t *testing.T) {
	var out bytes.Buffer
	table := newTable(&out, false)
	for _, r := range []backendtest.Result{
		{Check: backendtest.Check{Operation: "Scale", Type: "f32"}, Tolerance: 0.5, Verdict: backendtest.Passed},
		{Check: backendtest.Check{Operation: "Scale", Type: "f16"}, Tolerance: 0.5, Verdict: backendtest.Passed},
		{Check: backendtest.Check{Operation: "Scale", Type: "q4_0", Shape: "[3]", Input: "large", Prepared: true}, Verdict: backendtest.Wrong, Detail: "it is 5"},
		{Check: backendtest.Check{Operation: "Scale", Type: "q4_0", Shape: "[4]", Input: "zeros"}, Verdict: backendtest.Failed, Detail: "log:\nline\n"},
		{Check: backendtest.Check{Operation: "Scale", Type: "q4_0", Shape: "[5]", Input: "zeros"}, Verdict: backendtest.Failed, Detail: "log:\nline\n"},
		{Check: backendtest.Check{Operation: "Scale", Type: "q4_0", Shape: "[6]", Input: "zeros"}, Verdict: backendtest.Failed, Detail: "log:\nline\n"},
		{Check: backendtest.Check{Operation: "Scale", Type: "q8_0"}, Verdict: backendtest.Unsupported},
		{Check: backendtest.Check{Operation: "Scale", Type: "bf16"}, Tolerance: 0.5, Verdict: backendtest.Passed},
		{Check: backendtest.Check{Operation: "RoPE", Type: "f32"}, Verdict: backendtest.Passed},
	} {
		table.add(&r)
	}
	table.end(time.Second)
	var got []string
	for line := range strings.Lines(out.String()) {
		got = append(got, strings.Join(strings.Fields(line), " "))
	}
	want := []string{
		"Scale 3 types 3 0 0 0.5 0.0 ms ok",
		"Scale q4_0 4 0 0 0 0.0 ms FAIL (4)",
		"wrong [3], large, prepared: it is 5",
		"error [4], zeros: log:",
		"line",
		"error [5], zeros: log: … (as above)",
		"and 1 more (-v shows all)",
		"Scale q8_0 1 0 0 0 0.0 ms unsupported",
		"RoPE f32 1 0 0 0 0.0 ms ok",
		"",
		"9 checks in 1.0 s: 1 unsupported, these fail",
		"Scale q4_0",
	}
	if !slices.Equal(got, want) {
		t.Errorf("the table is\n%s", out.String())
	}
}

func TestCommandLine(t *testing.T) {
	if out, err := program("-list"); err != nil || !strings.Contains(out, "cpu ") || !strings.Contains(out, "opencl ") {
		t.Errorf("the list is %q, %v", out, err)
	}
	if _, err := program("-h"); !errors.Is(err, flag.ErrHelp) {
		t.Error(err)
	}
	var usage *cli.UsageError
	for _, args := range [][]string{{"-op", "MatMul,Divide"}, {"-timeout", "-1s"}, {"word"}} {
		if _, err := program(args...); !errors.As(err, &usage) {
			t.Errorf("%v: %v, want a usage error", args, err)
		}
	}
	if _, err := program("-backend", "abacus"); err == nil || !strings.Contains(err.Error(), "cpu") {
		t.Errorf("an unknown backend: %v", err)
	}
	if out, err := program("attention", "-backend", "cpu", "-kv-type", "f16", "-case", "token", "-slots", "5"); err != nil || !strings.Contains(out, "weights") {
		t.Errorf("attention: %v\n%s", err, out)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := run(ctx, []string{"-quick"}, nil, new(bytes.Buffer), nil); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
}
