package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/antigravity-go/antigravity/examples/beam/internal/flakyworkers"
	"github.com/apache/beam/sdks/v2/go/pkg/beam"
)

// asProgram is the variable that makes a process of the test binary the program.
const asProgram = "ANTIGRAVITY_BEAM_PROGRAM"

// The test binary is also the program, and the program of workers: beam.Init does not return in worker mode.
func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
		return
	}
	flag.Parse()
	beam.Init()
	os.Exit(m.Run())
}

// program returns the command that runs the program on the files in folder/in, to folder/out.
func program(ctx context.Context, folder string, flags ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, os.Args[0], append([]string{
		"-in", filepath.Join(folder, "in", "*.jsonl"), "-out", filepath.Join(folder, "out"), "-lines", "10", "-model", "flint",
		"-max-sessions", "8", "-threads", "1", "-defaults", `{"max_tokens":12}`,
	}, flags...)...)
	cmd.Env = append(os.Environ(), asProgram+"=1")
	return cmd
}

// questions writes the program's input into a folder: files with n lines altogether. Every 25th line is a failure.
func questions(t *testing.T, folder string, n int) {
	t.Helper()
	const files = 5
	for file := range files {
		var lines bytes.Buffer
		for i := file; i < n; i += files {
			line := map[string]any{"prompt": fmt.Sprintf("Question %d: what is a %c?", i, 'a'+i%26)}
			switch {
			case i%25 == 3:
				line["no_such_field"] = 1
			case i%5 == 1:
				line["temperature"], line["seed"] = 0.8, i
			}
			data, err := json.Marshal(line)
			if err != nil {
				t.Fatal(err)
			}
			lines.Write(append(data, '\n'))
		}
		path := filepath.Join(folder, "in", fmt.Sprintf("part%d.jsonl", file))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, lines.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// results returns the files of results and failures in a folder, by their names. Unfinished ones, which a killed worker leaves and the
// next command removes, are left out.
func results(t *testing.T, folder string) map[string]string {
	t.Helper()
	files := map[string]string{}
	for _, pattern := range []string{"*.jsonl", "*.jsonl.failures"} {
		paths, err := filepath.Glob(filepath.Join(folder, "out", pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			files[filepath.Base(path)] = string(data)
		}
	}
	return files
}

// same checks that a folder has the results that are wanted.
func same(t *testing.T, folder string, want map[string]string) {
	t.Helper()
	got := results(t, folder)
	for name, data := range want {
		if got[name] != data {
			t.Errorf("%s is\n%s\nwithout faults it is\n%s", name, got[name], data)
		}
	}
	for name := range got {
		if _, ok := want[name]; !ok {
			t.Errorf("%s is there, and without faults it is not", name)
		}
	}
}

// undisturbed runs the program without faults on n lines and returns its results.
func undisturbed(t *testing.T, n int) map[string]string {
	t.Helper()
	folder := t.TempDir()
	questions(t, folder, n)
	if said, err := program(t.Context(), folder).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	files := results(t, folder)
	lines := 0
	for _, data := range files {
		lines += strings.Count(data, "\n")
	}
	if lines != n || len(files) < n/10 {
		t.Fatalf("there are %d lines in %d files, of %d prompts", lines, len(files), n)
	}
	return files
}

func lines() int {
	if testing.Short() {
		return 200
	}
	return 1000
}

// Workers that fail and are killed change no byte of any file.
func TestFaultsOfWorkersChangeNoFile(t *testing.T) {
	want := undisturbed(t, lines())
	folder := t.TempDir()
	questions(t, folder, lines())
	pool, err := flakyworkers.New(flakyworkers.Options{
		Children: 4, Slots: 2, Start: flakyworkers.Program(os.Args[0], "-test.run=^$"), Attempts: 4, Largest: 1,
		Faults: flakyworkers.RandomFaults(1, 0.2, 0.15, 500*time.Millisecond),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	if said, err := program(t.Context(), folder, pool.Flags()...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	counts := pool.Counts()
	t.Logf("%+v", counts)
	if counts.Failures < 3 || counts.Kills < 2 {
		t.Errorf("too few faults to show anything: %+v", counts)
	}
	same(t, folder, want)
}

// The program may be killed at any time: the same command goes on, and does not compute again the files that are there.
func TestFaultsOfTheProgramChangeNoFile(t *testing.T) {
	want := undisturbed(t, lines())
	folder := t.TempDir()
	questions(t, folder, lines())
	random := rand.New(rand.NewPCG(17, 17))
	there := map[string]os.FileInfo{}
	killed, between := 0, 0 // between: kills after which some files were there and some were not
	for {
		// In the first runs the time is short, in later ones it grows, so that the test ends on slow machines, too.
		patience := time.Duration(float64(time.Second) * (0.5 + float64(killed)/4) * (0.5 + random.Float64()))
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		said, err := program(ctx, folder).CombinedOutput() // killed by SIGKILL when the context ends
		late := ctx.Err() != nil
		cancel()
		if err != nil && !late {
			t.Fatalf("after %d kills: %v\n%s", killed, err, said)
		}
		for name, before := range there {
			now, err := os.Stat(filepath.Join(folder, "out", name))
			if err != nil || !os.SameFile(before, now) || !before.ModTime().Equal(now.ModTime()) {
				t.Errorf("%s was there when the program started, and was written again (or removed: %v)", name, err)
			}
		}
		for name, data := range results(t, folder) {
			if data != want[name] {
				t.Fatalf("after %d kills %s is\n%s\nwithout faults it is\n%s", killed, name, data, want[name])
			}
			if there[name], _ = os.Stat(filepath.Join(folder, "out", name)); strings.HasSuffix(name, ".failures") {
				delete(there, name) // it is written before its results, and then again with them
			}
		}
		if err == nil {
			break
		}
		killed++
		if len(there) > 0 && len(there) < lines()/10 {
			between++
		}
	}
	t.Logf("killed %d times, %d of them with some files there", killed, between)
	if between == 0 {
		t.Error("no kill came while some files were there and some were not")
	}
	same(t, folder, want)
	if left, err := filepath.Glob(filepath.Join(folder, "out", "*.tmp")); err != nil || len(left) > 0 {
		t.Errorf("unfinished files are left: %v, error %v", left, err)
	}
}
