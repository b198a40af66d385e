package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestMain is the tests, or one of the programs that they measure with, by the name under which it was started.
func TestMain(m *testing.M) {
	switch filepath.Base(os.Args[0]) {
	case "llama-batched-bench":
		pretendBatchedBench(os.Args[1:])
	case "bench":
		pretendBench(os.Args[1:])
	default:
		os.Exit(m.Run())
	}
}

// pretendBatchedBench prints what ik_llama.cpp's program does.
func pretendBatchedBench(args []string) {
	if len(args) == 1 {
		fmt.Fprintln(os.Stderr, "  -rtr,  --run-time-repack   repack tensors if interleaved variant is available")
		os.Exit(1)
	}
	if strings.Contains(strings.Join(args, " "), "strange") {
		fmt.Fprintln(os.Stderr, "unknown model architecture: 'strange'")
		os.Exit(1)
	}
	if !strings.HasSuffix(strings.Join(args, " "), "-npp 512 -ntg 32 -npl 1,4 -rtr") {
		fmt.Fprintln(os.Stderr, "other arguments than the test expects")
		os.Exit(1)
	}
	fmt.Fprint(os.Stderr, "main: n_kv_max = 640\n\n"+
		"|    PP |     TG |    B |   N_KV |   T_PP s | S_PP t/s |   T_TG s | S_TG t/s |      T s |    S t/s |\n"+
		"|-------|--------|------|--------|----------|----------|----------|----------|----------|----------|\n"+
		"|   512 |     32 |    1 |    544 |    2.000 |   256.00 |    1.600 |    20.00 |    3.600 |   151.11 |\n"+
		"|   512 |     32 |    4 |    640 |    1.900 |   269.47 |    2.560 |    50.00 |    4.460 |   143.50 |\n")
	os.Exit(0)
}

// pretendBench prints what bench does.
func pretendBench(args []string) {
	if line := strings.Join(args, " "); strings.Contains(line, "-p 512 -n 0") {
		fmt.Println(`{"test":"pp512","tokens_per_second":512,"depth":0}`)
	} else {
		fmt.Println(`{"test":"tg32","sessions":1,"tokens_per_second":30,"depth":512}`)
		fmt.Println(`{"test":"tg32","sessions":4,"tokens_per_second":100,"depth":512}`)
	}
	os.Exit(0)
}

// TestPeers measures with programs that pretend, writes the table, and goes on with a file that was measured in part.
func TestPeers(t *testing.T) {
	folder := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"llama-batched-bench", "bench"} {
		if err := os.Symlink(self, filepath.Join(folder, name)); err != nil {
			t.Skip("this system makes no links: ", err)
		}
	}
	model, out := filepath.Join(folder, "m.gguf"), filepath.Join(folder, "results.jsonl")
	if err := os.WriteFile(model, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	args := []string{"-models", model, "-peers", "ik=" + folder, "-bench", filepath.Join(folder, "bench"), "-threads", "2", "-sessions", "1,4", "-busy", "1", "-rounds", "2", "-out", out}
	var stdout, stderr bytes.Buffer
	if err := run(t.Context(), args, nil, &stdout, &stderr); err != nil {
		t.Fatal(err, stderr.String())
	}
	for _, line := range []string{
		"| | ik | Antigravity | ratio |\n",
		"| `m`: generating after 512 tokens | 20.0 | 30.0 | 1.50 |\n",
		"| 4 sessions after 512 tokens | 50.0 | 100 | 2.00 |\n",
		"| prompt of 512 tokens | 256 | 512 | 2.00 |\n",
	} {
		if !strings.Contains(stdout.String(), line) {
			t.Errorf("the table has no line %q:\n%s", line, &stdout)
		}
	}
	if n := strings.Count(stderr.String(), "\n"); n != 12 {
		t.Errorf("%d figures were measured, and not 12:\n%s", n, &stderr)
	}

	whole, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(whole, []byte("\n"))
	if err := os.WriteFile(out, bytes.Join(lines[:9], nil), 0o644); err != nil { // without the second half of the second round
		t.Fatal(err)
	}
	stderr.Reset()
	if err := run(t.Context(), args, nil, &stdout, &stderr); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(stderr.String(), "\n"); n != 3 {
		t.Errorf("%d figures were measured again, and not 3:\n%s", n, &stderr)
	}

	strange := filepath.Join(folder, "strange.gguf")
	if err := os.WriteFile(strange, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	stdout.Reset()
	stderr.Reset()
	args[1] = strange + "," + model
	err = run(t.Context(), args, nil, &stdout, &stderr)
	if err == nil || !strings.Contains(err.Error(), "strange.gguf with ik: ") || !strings.Contains(err.Error(), "unknown model architecture") {
		t.Errorf("a model that a peer does not read: %v", err)
	}
	if line := "| `strange`: prompt of 512 tokens |  | 512 |  |\n"; !strings.Contains(stdout.String(), line) {
		t.Errorf("the table has no line %q:\n%s", line, &stdout)
	}

	if err := os.WriteFile(out, append(bytes.Clone(whole), `{"model":`...), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := run(t.Context(), args, nil, &stdout, &stderr); err == nil || !strings.Contains(err.Error(), "line 13 was cut off") {
		t.Errorf("a line that was cut off: %v", err)
	}
}

// TestMistakes: an error names the flag that is missing or wrong.
func TestMistakes(t *testing.T) {
	for args, want := range map[string]string{
		"":                                       "-out is missing",
		"-out x":                                 "-models is missing",
		"-out x -models a":                       "-threads is missing",
		"-out x -models a -threads 1 -peers b":   "no name=folder",
		"-out x -models a -threads 1 -prompts 0": "no positive number",
		"-out x -models a -threads 1 -busy 2":    "between 0 and 1",
		"-out x -models a -threads 1":            "the model to measure",
	} {
		if err := run(t.Context(), strings.Fields(args), nil, &bytes.Buffer{}, &bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, and not %q", args, err, want)
		}
	}
}

// TestClock computes what other programs took.
func TestClock(t *testing.T) {
	begin := parseClock("cpu  100 0 50 1000 0 0 0 10 0 0\ncpu0 …\n")
	end := parseClock("cpu  250 0 100 1800 0 0 0 10 0 0\n") // 200 ticks of work in 1000
	if share := begin.othersUntil(end, 1500*time.Millisecond); share < 0.049 || share > 0.051 {
		t.Errorf("others took %g of the time, and not 0.05", share)
	}
	for _, text := range []string{"", "cpu 1 2", "cpu a b c d e f g h", "intr 1 2 3 4 5 6 7 8"} {
		if parseClock(text).known {
			t.Errorf("%q is a clock", text)
		}
	}
	if share := (clock{}).othersUntil(end, 0); share != 0 {
		t.Errorf("without a clock others took %g", share)
	}
}

// TestReaders give programs' outputs that are no figures.
func TestReaders(t *testing.T) {
	if _, err := readBatchedBench("failed to load model\n"); err == nil {
		t.Error("no figures of llama-batched-bench are no error")
	}
	if _, err := readBench("panic: …\n", cell{Prompt: 1}); err == nil {
		t.Error("no JSON of bench is no error")
	}
	script := nodeScript{"llama.cpp", "."}.calls(&options{answer: 32, threads: 2}, "m.gguf", 512)[0]
	rates, err := script.read("load s 0.41\npp512 233.10 t/s   tg31@512 21.40 t/s\n")
	if err != nil || rates[cell{Prompt: 512}] != 233.1 || rates[cell{512, 1}] != 21.4 {
		t.Errorf("peer.mjs: %v, %v", rates, err)
	}
	if _, err := script.read("load s 0.41\n"); err == nil {
		t.Error("no figures of peer.mjs are no error")
	}
	if _, err := openPeer(t.Context(), folder{"x", t.TempDir()}); err == nil {
		t.Error("a folder without a program is a peer")
	}
}
