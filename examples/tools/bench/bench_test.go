package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/internal/countdown"
)

func TestBench(t *testing.T) {
	var out, stderr bytes.Buffer
	if err := run(t.Context(), []string{"-p", "8", "-n", "4", "-r", "2", "-depth", "3", "-json"}, nil, &out, &stderr); err != nil {
		t.Fatal(err, stderr.String())
	}
	var names []string
	for decoder := json.NewDecoder(&out); decoder.More(); {
		var r result
		if err := decoder.Decode(&r); err != nil {
			t.Fatal(err)
		}
		names = append(names, r.Test)
		if r.TokensPerSecond <= 0 || r.Repetitions != 2 || r.Depth != 3 || r.KV != "f16" || r.Type != "q4_0" {
			t.Errorf("%+v", r)
		}
	}
	if strings.Join(names, " ") != "pp8 tg4" {
		t.Errorf("tests %v", names)
	}
}

func TestProfile(t *testing.T) {
	var out, stderr bytes.Buffer
	if err := run(t.Context(), []string{"-p", "8", "-n", "4", "-r", "2", "-profile", "-span", "64", "-json"}, nil, &out, &stderr); err != nil {
		t.Fatal(err, stderr.String())
	}
	calls, shares := map[string]int{}, map[string]float64{}
	for decoder := json.NewDecoder(&out); decoder.More(); {
		var p profiled
		if err := decoder.Decode(&p); err != nil {
			t.Fatal(err)
		}
		calls[p.Test+" "+p.Op] += p.Calls
		shares[p.Test] += p.Share
		if p.OfLimit < 0 || p.Seconds < 0 || (p.Calls > 0 && p.GBPerSecond <= 0) {
			t.Errorf("%+v", p)
		}
	}
	// Pebble has 8 layers, each with one attention and two projections that are added to the stream.
	for op, want := range map[string]int{"pp8 Attend": 8 * 2, "tg4 Attend": 8 * 4 * 2, "tg4 MatMulAdd": 8 * 2 * 4 * 2, "tg4 AttentionGen": 0} {
		if calls[op] != want {
			t.Errorf("%s: %d calls, want %d", op, calls[op], want)
		}
	}
	for _, test := range []string{"pp8", "tg4"} {
		if s := shares[test]; s < 0.999 || s > 1.001 {
			t.Errorf("%s: the shares add up to %g", test, s)
		}
	}
	if calls[" limits"] != 0 || !slices.Contains(slices.Collect(maps.Keys(calls)), " limits") {
		t.Error("the limits are missing")
	}
}

func TestProfileTable(t *testing.T) {
	var out, stderr bytes.Buffer
	if err := run(t.Context(), []string{"-p", "4", "-n", "0", "-r", "1", "-profile", "-span", "64"}, nil, &out, &stderr); err != nil {
		t.Fatal(err, stderr.String())
	}
	for _, want := range []string{"NormSwiGLU", "1536×256", "q4_0", "elsewhere", "100.0 %"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %s in\n%s", want, out.String())
		}
	}
}

func TestBenchTable(t *testing.T) {
	var out, stderr bytes.Buffer
	if err := run(t.Context(), []string{"-p", "0", "-n", "2", "-r", "1"}, nil, &out, &stderr); err != nil {
		t.Fatal(err, stderr.String())
	}
	if !strings.Contains(out.String(), "tg2") || strings.Contains(out.String(), "pp") {
		t.Errorf("the table is\n%s", out.String())
	}
	for _, args := range [][]string{{"-p", "x"}, {"-p", "0", "-n", "0"}, {"-r", "0"}, {"-kv-type", "q9"}, {"-profile", "-span", "1"}} {
		if err := run(t.Context(), args, nil, &out, &stderr); err == nil {
			t.Errorf("%v was accepted", args)
		}
	}
}

func TestInterrupted(t *testing.T) {
	for _, looks := range []int{0, 100, 240, 260} { // loading takes 210
		err := run(countdown.New(t.Context(), looks), []string{"-p", "128", "-n", "30", "-r", "2"}, nil, new(bytes.Buffer), new(bytes.Buffer))
		if !errors.Is(err, context.Canceled) {
			t.Errorf("at look %d: %v", looks, err)
		}
	}
}
