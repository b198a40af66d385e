//go:build unix

package timeline

import (
	"os"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/pebble"
)

// BenchmarkTracing measures how much longer Pebble computes while a timeline collects, in percent: runs of 100 tokens with and without take
// turns, and each is compared with its neighbour. Both use one model, since the place of a model in memory makes more of a difference than
// tracing. "%cpu" is of the processor's time, and "%wall" of the time that passes; "%least" compares the fastest runs. MODEL in the
// environment is another model's path.
//
//	go test ./examples/internal/timeline -run - -bench Tracing -benchtime 40x
func BenchmarkTracing(b *testing.B) {
	for _, threads := range []int{1, 2, 4, 8, 16} {
		b.Run(strconv.Itoa(threads), func(b *testing.B) {
			line := New(1 << 26)
			answer := answerer(b, threads, line.Process("model"))
			for range 3 {
				answer()
			}
			var cpu, wall []float64
			least := [2]time.Duration{time.Hour, time.Hour}
			i := 0
			for b.Loop() {
				var took, used [2]time.Duration
				for turn := range 2 {
					with := (turn + i) % 2
					if with == 1 {
						line.Begin("answers")
					}
					began, before := time.Now(), processorTime(b)
					answer()
					line.End()
					took[with], used[with] = time.Since(began), processorTime(b)-before
					least[with] = min(least[with], took[with])
				}
				cpu = append(cpu, 100*(float64(used[1])/float64(used[0])-1))
				wall = append(wall, 100*(float64(took[1])/float64(took[0])-1))
				i++
			}
			slices.Sort(cpu)
			slices.Sort(wall)
			b.ReportMetric(cpu[len(cpu)/2], "%cpu")
			b.ReportMetric(wall[len(wall)/2], "%wall")
			b.ReportMetric(100*(float64(least[1])/float64(least[0])-1), "%least")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// answerer loads the model and returns a function that answers.
func answerer(b *testing.B, threads int, process *Process) func() {
	o := backend.Options{Threads: threads, Record: process.Record()}
	load := llama.LoadOptions{Trace: process.Trace()}
	device, err := backend.Open("cpu", o)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { device.Close() })
	load.Backend = device
	var m *llama.Model
	tokens := 100
	if path := os.Getenv("MODEL"); path != "" {
		tokens = 2
		m, err = llama.Load(path, &load)
	} else {
		m, err = pebble.Load(&load)
	}
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { m.Close() })
	s, err := m.NewSession(nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { s.Close() })
	prompt := m.Tokenizer().EncodeSpecial("Tell me about the numbers", true)
	return func() {
		if err := s.Truncate(0); err != nil {
			b.Fatal(err)
		}
		for range tokens {
			if err := s.Prefill(b.Context(), prompt[1:2]); err != nil {
				b.Fatal(err)
			}
		}
	}
}

// processorTime returns what this process has used.
func processorTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
