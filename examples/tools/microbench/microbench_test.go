package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/antigravity-go/antigravity/backend/cpu"
	"github.com/antigravity-go/antigravity/examples/internal/cli"
	"github.com/antigravity-go/antigravity/examples/tools/internal/machine"
	"github.com/antigravity-go/antigravity/tensor"
)

// TestOperations computes each operation once with each type, on small operands, several copies in turn.
func TestOperations(t *testing.T) {
	b := cpu.New(2)
	defer b.Close()
	before := b.Memory().Used()
	for _, op := range operations() {
		for _, d := range op.types {
			for _, m := range []int{1, 3} {
				c := testCase{&op, m, 48, 256, d, 4, 2}
				if op.name == expertsName {
					c.n = 256 // whole blocks of any type
				}
				t.Run(c.String(), func(t *testing.T) {
					if err := c.check(); err != nil {
						t.Fatal(err)
					}
					l := newLab(b, 256<<10)
					defer l.free()
					s, err := c.setUp(l, c)
					if err != nil {
						t.Fatal(err)
					}
					for i := range 3 {
						if err := s.run(i); err != nil {
							t.Fatal(err)
						}
					}
					if s.work.Memory+s.work.Cache == 0 {
						t.Errorf("no work: %+v", s.work)
					}
				})
			}
		}
	}
	if used := b.Memory().Used(); used != before {
		t.Errorf("%d bytes are still held", used-before)
	}
}

// TestCopiesTakeTurns checks that weights are really as many tensors as fill the span, packed or not.
func TestCopiesTakeTurns(t *testing.T) {
	b := cpu.New(1)
	defer b.Close()
	for _, rows := range []int{64, 65} { // 65 rows do not fill panels
		l := newLab(b, 10*rows*18*2)
		list, err := l.weights(tensor.Q4_0, rows, 64)
		if err != nil {
			t.Fatal(err)
		}
		buffers := map[tensor.Buffer]bool{}
		for _, w := range list {
			buffers[w.Buffer()] = true
		}
		if len(buffers) != 10 {
			t.Errorf("%d rows: %d buffers, want 10", rows, len(buffers))
		}
		l.free()
	}
}

func TestJSON(t *testing.T) {
	var out, stderr bytes.Buffer
	args := []string{"-op", "attention", "-m", "2", "-n", "32", "-dtype", "q8_0", "-heads", "4", "-kv-heads", "2", "-r", "2", "-span", "64", "-json", "-threads", "1"}
	if err := run(t.Context(), args, nil, &out, &stderr); err != nil {
		t.Fatal(err)
	}
	decoder := json.NewDecoder(&out)
	decoder.DisallowUnknownFields()
	var limits machine.LimitFigures
	if err := decoder.Decode(&limits); err != nil || limits.Op != "limits" || limits.Memory <= 0 || limits.Threads != 1 {
		t.Fatalf("%v: %+v", err, limits)
	}
	var r result
	if err := decoder.Decode(&r); err != nil {
		t.Fatal(err)
	}
	if r.Op != "attention" || r.M != 2 || r.N != 32 || r.K != 64 || r.DType != "q8_0" || r.Heads != 4 || r.Seconds <= 0 ||
		r.MedianSeconds < r.Seconds || r.GMACPerSecond <= 0 || r.OfLimit <= 0 {
		t.Errorf("%+v", r)
	}
	if decoder.More() {
		t.Error("more than one operation")
	}
}

func TestTable(t *testing.T) {
	var out, stderr bytes.Buffer
	if err := run(t.Context(), []string{"-op", "add", "-m", "2", "-k", "64", "-r", "1", "-span", "64"}, nil, &out, &stderr); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"of limit", "add", "GB/s", "kernels", "cache"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}

func TestMistakes(t *testing.T) {
	tests := []struct {
		name, args, want string
	}{
		{"unknown operation", "-op mul", "matmul, attention"},
		{"dimension without operation", "-m 2", "choose it with -op"},
		{"no such dimension", "-op add -n 2", "a += b of [m, k]"},
		{"zero", "-op add -k 0", "at least 1"},
		{"negative", "-op matmul -m -1", "at least 1"},
		{"type of another operation", "-op cast -dtype q4_0", "f16, bf16"},
		{"type of no activation", "-op rmsnorm -dtype f16", "f32"},
		{"unknown type", "-op matmul -dtype q3", "q4_0, q4_1"},
		{"half a block", "-op matmul -k 100", "blocks of 32"},
		{"heads", "-op attention -heads 3 -kv-heads 2", "multiple"},
		{"slots", "-op attention -m 8 -n 4", "at least as many slots"},
		{"odd head", "-op rope -k 63", "pairs"},
		{"too large", "-op matmul -n 2000000000", "at most"},
		{"overflow", "-op matmul -m 1073741824 -n 1073741824 -k 1073741824", "at most"},
		{"no span", "-span 0", "between 64 and"},
		{"no repetitions", "-r 0", "between 1 and"},
		{"too many repetitions", "-r 1000000000", "between 1 and"},
		{"argument", "add", "belongs to a flag"},
	}
	for _, test := range tests {
		var out, stderr bytes.Buffer
		err := run(t.Context(), strings.Fields(test.args), nil, &out, &stderr)
		var usage *cli.UsageError
		if !errors.As(err, &usage) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want a usage error with %q", test.name, err, test.want)
		}
	}
}

func TestEverything(t *testing.T) {
	sections, err := (&options{op: everything, dtype: tensor.Q8_0}).sections()
	if err != nil {
		t.Fatal(err)
	}
	var seen []string
	for _, s := range sections {
		for _, c := range s.cases {
			seen = append(seen, c.name)
		}
	}
	for _, name := range operationNames() {
		if !slices.Contains(seen, name) {
			t.Errorf("%s is missing", name)
		}
	}
}

func TestDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{
		75: "75 ns", 1500: "1.50 µs", 999600: "1000 µs", 1234567: "1.23 ms", 2 * time.Second: "2.00 s", 123456789: "123 ms",
	} {
		if got := duration(d); got != want {
			t.Errorf("%d: %s, want %s", d, got, want)
		}
	}
}
