// Package sample invents results like those of the suite: for tests of the dashboard, and to look at it without having measured anything.
// The same Options give the same runs, to the bit.
package sample

import (
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"time"

	"github.com/antigravity-go/antigravity/examples/tools/internal/machine"
	"github.com/antigravity-go/antigravity/examples/tools/internal/runs"
)

// Write invents the runs of a matrix, commit by commit. Run invents one of them: costs gives the time of a token, a clock that follows the
// prompt and the answer adds it up, and noise comes from a generator that is seeded by the Config, the repetition and the commit. Only the
// last commit has the whole matrix. For example, Write(folder, Options{Commits: 2, Small: true}) returns 40:
//
//	folder/1f0c3a9   16 runs: pebble, the windows 0 and 256, the caches f16 and q8_0
//	folder/7be41d0   24 runs: the cache f32 as well

// Options say how much to invent. The zero value makes the whole matrix with one repetition, at one commit.
type Options struct {
	Commits     int  // of the program, the last one with the whole matrix and the others with a part of it; 0: 1
	Repetitions int  // 0: 1
	Small       bool // a matrix of 24 cells in place of one of 120
	Unknown     bool // nobody knows the commits
}

// Regression is the commit, counted from 0, since which reading prompts and generating takes a ninth longer on the processor.
const Regression = 3

// Write invents runs and keeps them in a folder, those of each commit in a folder of its own in it. It returns how many there are.
func Write(folder string, o Options) (int, error) {
	count := 0
	for c := range max(o.Commits, 1) {
		dir := runs.Folder(filepath.Join(folder, commits[c%len(commits)][:7]))
		for round := range max(o.Repetitions, 1) {
			for i, config := range configs(o.Small) {
				last := c == max(o.Commits, 1)-1
				if !last && (config.Model != "pebble" || config.Window > 256 || config.KV == "f32") {
					continue
				}
				began := start.Add(time.Duration(c)*26*time.Hour + time.Duration(round)*50*time.Minute + time.Duration(i)*20*time.Second)
				run := Run(config, round+1, c, began)
				if o.Unknown {
					run.Machine.Commit, run.Machine.Committed = "", time.Time{}
				}
				if err := dir.Write(run); err != nil {
					return count, err
				}
				count++
			}
		}
	}
	return count, nil
}

var start = time.Date(2026, 11, 16, 7, 30, 0, 0, time.UTC)

// commits are hashes of nothing.
var commits = [...]string{
	"1f0c3a9be27d4458a6c0e1d2f3b4958677a1b2c3", "7be41d02c9a85f6634e7d8c9b0a1f2e3d4c5b6a7", "c40d9e8f7a6b5c4d3e2f1a0b9c8d7e6f5a4b3c2d",
	"93ab7c6d5e4f3a2b1c0d9e8f7a6b5c4d3e2f1a0b", "e58f2b1a0c9d8e7f6a5b4c3d2e1f0a9b8c7d6e5f",
}

// configs lists the matrix.
func configs(small bool) []runs.Config {
	models, types, windows := []string{"pebble", "flint"}, []string{"f32", "f16", "q8_0"}, []int{128, 256, 512}
	if small {
		models, windows = models[:1], windows[1:2]
	}
	var list []runs.Config
	for _, model := range models {
		for _, backend := range []string{"cpu", "opencl"} {
			for _, kv := range types {
				for _, policy := range []string{"none", "sliding", "h2o", "snapkv"} {
					of := windows
					if policy == "none" {
						of = []int{0}
					}
					for _, window := range of {
						c := runs.Config{Model: model, Backend: backend, Threads: 2, KV: kv, Policy: policy, Window: window, Prompt: 600, Generate: 160,
							Profile: true, Questions: "pebble", Skills: "needle300,needle_late300", Asked: 30}
						if policy == "sliding" {
							c.Protected = 4
						}
						list = append(list, c)
					}
				}
			}
		}
	}
	return list
}

// costs invents what a token takes, in seconds: for the weights, and for each slot of a layer; and the bytes of a slot.
func costs(c *runs.Config) (weight, perSlot, bytesOfSlot float64) {
	weight, perSlot, bytesOfSlot = 3.4e-3, 2.6e-6, 1536
	if c.Model == "flint" {
		weight, perSlot, bytesOfSlot = 5.1e-3, 3.7e-6, 3072
	}
	if c.Backend == "opencl" {
		weight, perSlot = weight*1.5, perSlot*0.6
	}
	switch c.KV {
	case "f32":
		bytesOfSlot, perSlot = bytesOfSlot*4, perSlot*1.35
	case "f16":
		bytesOfSlot *= 2
	case "q8_0":
		bytesOfSlot, perSlot = bytesOfSlot*17/16, perSlot*0.9
	}
	return weight, perSlot, bytesOfSlot
}

// Run invents one repetition of a Config at a commit, counted from 0.
func Run(c runs.Config, repetition, commit int, began time.Time) *runs.Run {
	seed := uint64(0)
	for _, b := range []byte(c.ID()) {
		seed = seed*31 + uint64(b)
	}
	r := rand.New(rand.NewPCG(seed, uint64(repetition*1000+commit)))
	drift := 1 + 0.012*math.Sin(float64(repetition)) + 0.004*r.NormFloat64() // of the machine's clock
	slow := drift / math.Pow(1.02, float64(commit))                          // each commit makes it a little faster
	if commit >= Regression && c.Backend == "cpu" {
		slow *= 1.11
	}
	slots := func(tokens int) int {
		if c.Window > 0 {
			return min(tokens, c.Window)
		}
		return tokens
	}
	weight, perSlot, bytesOfSlot := costs(&c)
	const layers = 6
	out := &runs.Run{
		Config: c, Repetition: repetition, Began: began, Load: 0.08 * (1 + 0.1*r.Float64()) * weight / 3.4e-3, Weights: int64(weight * 9e9),
		Yardsticks: [2]float64{20 * drift, 20 * drift * (1 + 0.004*r.NormFloat64())},
		Machine: runs.Machine{
			Name: "bench-1", Processor: "AMD EPYC 7B13", Kernels: "avx2", Processors: 2, MHz: 3500, Governor: "performance", Memory: 16 << 30,
			OS: "linux/amd64", Kernel: "6.12.9", Go: "go1.26.8", Commit: commits[commit%len(commits)],
			Committed: start.Add(time.Duration(commit)*26*time.Hour - 40*time.Minute),
		},
	}
	if c.Backend == "opencl" {
		out.Machine.Device = "pocl, 2 units"
	}
	if c.Backend == "opencl" && c.KV == "q8_0" && c.Policy == "h2o" && repetition == 2 && c.Model == "flint" {
		out.Seconds, out.Error = 0.4, "opencl: enqueue attention: CL_OUT_OF_RESOURCES (the device has 512 MB; the run needs 604 MB)"
		return out
	}
	const resident = 38e6
	at := out.Load + 0.05
	out.Reading[0] = at
	sample := func(tokens int) {
		used := float64(slots(tokens)) * bytesOfSlot
		out.Memory = append(out.Memory, runs.Memory{At: at, Resident: int64(resident + 1.04*used + float64(out.Weights)), Cache: int64(used), Slots: slots(tokens)})
	}
	evict := func(token, target int, reason string) {
		took := 0.05 + 0.02*r.Float64()
		if c.Policy != "sliding" {
			took *= 3
		}
		gave := max(c.Window/16, 8)
		out.Evictions = append(out.Evictions, runs.Eviction{At: at, Token: token, Reason: reason, Target: target - gave, Slots: gave,
			Bytes: int64(float64(gave) * bytesOfSlot), Took: took})
		at += took / 1e3
	}
	for read := 0; read < c.Prompt; {
		chunk := min(64, c.Prompt-read)
		at += slow * float64(chunk) * (weight/5 + perSlot/3*float64(slots(read)))
		read += chunk
		if c.Window > 0 && read > c.Window {
			evict(read, c.Window, "budget")
		}
		sample(read)
	}
	out.Reading[1] = at
	held := slots(c.Prompt)
	for i := range c.Generate {
		gap := slow * (weight + layers*perSlot*float64(held)) * (1 + 0.012*r.NormFloat64())
		if r.Float64() < 0.006 {
			gap *= 1.6 + r.Float64() // the system had something else to do
		}
		at += gap
		out.Tokens = append(out.Tokens, at)
		if held++; c.Window > 0 && held > c.Window {
			reason := "budget"
			if i > 120 && c.Window == 512 && len(out.Evictions)%3 == 2 {
				reason = "memory pressure"
			}
			evict(c.Prompt+i, c.Window, reason)
			held = c.Window - max(c.Window/16, 8)
		}
		if i%4 == 0 {
			used := float64(held) * bytesOfSlot
			out.Memory = append(out.Memory, runs.Memory{At: at, Resident: int64(resident + 1.06*float64(slots(c.Prompt))*bytesOfSlot + float64(out.Weights)), Cache: int64(used), Slots: held})
		}
	}
	out.Seconds = at + 0.1
	for t := 0.0; t < at; t += 0.25 {
		out.Conditions = append(out.Conditions, runs.Condition{At: t, MHz: math.Round(3480/drift + 15*r.NormFloat64()), Celsius: math.Round(10*(52+9*(1-math.Exp(-t))+0.3*r.NormFloat64())) / 10})
	}
	out.Profiles = []runs.Profile{
		profile("prompt", out.Reading[1]-out.Reading[0], 0.10, c, r),
		profile("answer", out.Tokens[len(out.Tokens)-1]-out.Tokens[0], 0.05+float64(held)/2400, c, r),
	}
	out.Accuracy = accuracy(c)
	return out
}

// profile divides seconds between operations. attention is the part that attention takes.
func profile(part string, seconds, attention float64, c runs.Config, r *rand.Rand) runs.Profile {
	p := runs.Profile{Part: part, Seconds: seconds}
	rest := 1 - attention
	for _, o := range []struct {
		name, shape, kind string
		part              float64
	}{
		{"MatMul", "192 × 512 (gate, up)", "q8_0", 0.37 * rest}, {"MatMul", "512 × 192 (down)", "q8_0", 0.21 * rest},
		{"MatMul", "192 × 320 (query, key, value)", "q8_0", 0.17 * rest}, {"Attention", "6 heads of 32", c.KV, attention},
		{"MatMul", "192 × 2048 (logits)", "q8_0", 0.12 * rest}, {"RMSNorm", "192", "f32", 0.04 * rest}, {"RoPE", "6 heads of 32", "f32", 0.025 * rest},
		{"elsewhere", "", "", 0.065 * rest},
	} {
		took := seconds * o.part * (1 + 0.02*r.NormFloat64())
		figures := machine.Figures{OfLimit: 0.4 + 0.3*r.Float64(), GBPerSecond: 6 + 4*r.Float64(), GMACPerSecond: 10 * r.Float64()}
		if o.kind == "" {
			figures = machine.Figures{}
		}
		p.Operations = append(p.Operations, runs.Operation{Name: o.name, Shape: o.shape, Type: o.kind, Calls: 6 * c.Generate, Seconds: took, Figures: figures})
	}
	slices.SortFunc(p.Operations, func(a, b runs.Operation) int { return int(math.Copysign(1, b.Seconds-a.Seconds)) })
	return p
}

// accuracy invents how much a policy loses with a window, the same for every repetition.
func accuracy(c runs.Config) []runs.Accuracy {
	kept := 1.0
	if c.Window > 0 {
		kept = math.Min(1, float64(c.Window)/600)
	}
	lost := map[string]float64{"none": 0, "sliding": 0.85, "h2o": 0.42, "snapkv": 0.24}[c.Policy] * math.Pow(1-kept, 0.8)
	if c.KV == "q8_0" {
		lost += 0.01
	}
	best := map[string]float64{"pebble": 0.97, "flint": 0.99}[c.Model]
	right := func(part float64) int { return int(math.Round(30 * math.Max(0, part))) }
	return []runs.Accuracy{{Skill: "needle300", Asked: 30, Right: right(best - lost)}, {Skill: "needle_late300", Asked: 30, Right: right(best - 1.15*lost - 0.02)}}
}

// Hostile is a run with texts that would all change a page that took them for HTML.
func Hostile() *runs.Run {
	const text = `<img src=x onerror="window.hacked=1"><script>window.hacked=1</script></script><!--'"` + "\u2028${window.hacked=1}"
	r := Run(runs.Config{Target: text, Program: text, Model: text, Weights: text, Backend: text, KV: text, Policy: text, Questions: text, Skills: text,
		Prompt: 100, Generate: 40, Window: 64}, 1, 0, start)
	r.Machine = runs.Machine{Name: text, Processor: text, Kernels: text, Device: text, Governor: text, OS: text, Kernel: text, Go: text, Commit: text}
	for i := range r.Evictions {
		r.Evictions[i].Reason = text
	}
	for i := range r.Profiles {
		r.Profiles[i].Part = text
		for j := range r.Profiles[i].Operations {
			o := &r.Profiles[i].Operations[j]
			o.Name, o.Shape, o.Type = fmt.Sprint(text, j), text, text
		}
	}
	r.Accuracy = []runs.Accuracy{{Skill: text, Asked: 2, Right: 1}}
	return r
}
