package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
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

func TestBenchTable(t *testing.T) {
	var out, stderr bytes.Buffer
	if err := run(t.Context(), []string{"-p", "0", "-n", "2", "-r", "1"}, nil, &out, &stderr); err != nil {
		t.Fatal(err, stderr.String())
	}
	if !strings.Contains(out.String(), "tg2") || strings.Contains(out.String(), "pp") {
		t.Errorf("the table is\n%s", out.String())
	}
	for _, args := range [][]string{{"-p", "x"}, {"-p", "0", "-n", "0"}, {"-r", "0"}, {"-kv-type", "q9"}} {
		if err := run(t.Context(), args, nil, &out, &stderr); err == nil {
			t.Errorf("%v was accepted", args)
		}
	}
}
