// Package matrix expands a matrix into the list of its runs, as Configs. A matrix lists the values to vary, in a small file of JSON or in
// flags of the same names.
package matrix

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/antigravity-go/antigravity/eviction"
	"github.com/antigravity-go/antigravity/examples/tools/internal/runs"
	"github.com/antigravity-go/antigravity/tensor"
)

// Matrix lists the values to vary: every value of each list is combined with every value of the others. Read and Flags fill it; a Matrix
// that they return has at least one value in each list except Programs, Skills and Skip, and is valid.
type Matrix struct {
	Models    []string  `json:"models"`
	Weights   []string  `json:"weights"` // "": as they are stored
	Backends  []string  `json:"backends"`
	Threads   []int     `json:"threads"`
	KV        []string  `json:"kv-type"`
	Policies  []string  `json:"policies"`
	Windows   []int     `json:"windows"`   // of every policy that evicts
	Protected []int     `json:"protected"` // of the policy sliding
	Prompts   []int     `json:"prompts"`
	Generate  []int     `json:"generate"`
	Handicaps []float64 `json:"handicaps"`
	Programs  []string  `json:"programs,omitempty"` // LABEL=PATH; without a path: the program itself
	Profile   bool      `json:"profile,omitempty"`
	Questions string    `json:"questions,omitempty"`
	Skills    []string  `json:"skills,omitempty"` // of the questions, asked in each run: no axis
	Asked     int       `json:"asked,omitempty"`
	Skip      []string  `json:"skip,omitempty"` // AXIS=VALUE,AXIS=VALUE: combinations with these values are left out
}

// standard returns the matrix of a single run, with the default of every list.
func standard() *Matrix {
	return &Matrix{
		Models: []string{"pebble"}, Weights: []string{""}, Backends: []string{"cpu"}, Threads: []int{0}, KV: []string{"f16"}, Policies: []string{"none"},
		Windows: []int{256}, Protected: []int{0}, Prompts: []int{256}, Generate: []int{64}, Handicaps: []float64{0}, Asked: 20,
	}
}

// maxRuns bounds the combinations of a matrix. Nobody waits for that many.
const maxRuns = 100_000

// Configs returns the runs of the matrix in the order of its values, no two of them equal: only policies that evict have a window, and only
// the policy sliding has protected tokens.
func (m *Matrix) Configs() ([]runs.Config, error) {
	rules, err := m.rules()
	if err != nil {
		return nil, err
	}
	programs, err := m.programs()
	if err != nil {
		return nil, err
	}
	combinations := 1
	for _, n := range []int{
		max(len(programs), 1), len(m.Models), len(m.Weights), len(m.Backends), len(m.Threads), len(m.KV), len(m.Policies), len(m.Windows),
		len(m.Protected), len(m.Prompts), len(m.Generate), len(m.Handicaps),
	} {
		if combinations *= n; combinations > maxRuns {
			return nil, fmt.Errorf("the matrix has more than %d combinations", maxRuns)
		}
	}
	fixed := runs.Config{Profile: m.Profile}
	if m.Questions != "" {
		fixed.Questions, fixed.Skills, fixed.Asked = m.Questions, strings.Join(m.Skills, ","), m.Asked
	}
	list := []runs.Config{fixed}
	if len(programs) > 0 {
		list = times(list, programs, func(c *runs.Config, p Program) { c.Program = p.Label })
	}
	list = times(list, m.Models, func(c *runs.Config, v string) { c.Model = v })
	list = times(list, m.Weights, func(c *runs.Config, v string) { c.Weights = v })
	list = times(list, m.Backends, func(c *runs.Config, v string) { c.Backend = v })
	list = times(list, m.Threads, func(c *runs.Config, v int) { c.Threads = v })
	list = times(list, m.KV, func(c *runs.Config, v string) { c.KV = v })
	list = times(list, m.Policies, func(c *runs.Config, v string) { c.Policy = v })
	list = times(list, m.Windows, func(c *runs.Config, v int) {
		if c.Policy != "none" {
			c.Window = v
		}
	})
	list = times(list, m.Protected, func(c *runs.Config, v int) {
		if c.Policy == "sliding" {
			c.Protected = v
		}
	})
	list = times(list, m.Prompts, func(c *runs.Config, v int) { c.Prompt = v })
	list = times(list, m.Generate, func(c *runs.Config, v int) { c.Generate = v })
	list = times(list, m.Handicaps, func(c *runs.Config, v float64) { c.Handicap = v })
	seen := map[runs.Config]bool{}
	list = slices.DeleteFunc(list, func(c runs.Config) bool {
		again := seen[c]
		seen[c] = true
		return again || slices.ContainsFunc(rules, func(r rule) bool { return r.matches(&c) })
	})
	if len(list) == 0 {
		return nil, fmt.Errorf("the matrix has no runs: the rules of skip leave every combination out")
	}
	for i := range list {
		if err := checkWindow(&list[i]); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// times returns every Config of a list with every one of some values.
func times[T any](list []runs.Config, values []T, set func(*runs.Config, T)) []runs.Config {
	product := make([]runs.Config, 0, len(list)*len(values))
	for _, c := range list {
		for _, v := range values {
			with := c
			set(&with, v)
			product = append(product, with)
		}
	}
	return product
}

// checkWindow reports whether the policy can work with its window, so that a mistake shows before hours of measuring.
func checkWindow(c *runs.Config) error {
	prefix := c.Protected
	if prefix == 0 && c.Policy == "sliding" {
		prefix = -1 // no prefix; 0 is the policy's default
	}
	if _, err := eviction.ByName(c.Policy, eviction.Options{Budget: c.Window, ProtectedPrefix: prefix}); err != nil {
		return fmt.Errorf("window %d: %w (or leave it out: skip \"policy=%s,window=%d\")", c.Window, err, c.Policy, c.Window)
	}
	return nil
}

// check returns an error if a value is wrong, each judged on its own.
func (m *Matrix) check() error {
	for _, types := range []struct {
		key   string
		list  []string
		known []tensor.DType
	}{
		{"kv-type", m.KV, []tensor.DType{tensor.F32, tensor.F16, tensor.Q8_0, tensor.Q4_0}},
		{"weights", m.Weights, []tensor.DType{tensor.Q4_0, tensor.Q4_1, tensor.Q8_0, tensor.F16, tensor.BF16, tensor.F32}},
	} {
		for _, v := range types.list {
			if !(v == "" && types.key == "weights") && !slices.ContainsFunc(types.known, func(d tensor.DType) bool { return d.String() == v }) {
				return fmt.Errorf("%s: %q must be one of %v", types.key, v, types.known)
			}
		}
	}
	for _, v := range m.Policies {
		if !slices.Contains(eviction.Names(), v) {
			return fmt.Errorf("policies: %q must be one of %s", v, strings.Join(eviction.Names(), ", "))
		}
	}
	for _, numbers := range []struct {
		key   string
		list  []int
		least int
	}{
		{"threads", m.Threads, 0}, {"windows", m.Windows, 1}, {"protected", m.Protected, 0}, {"prompts", m.Prompts, 1}, {"generate", m.Generate, 1},
		{"asked", []int{m.Asked}, 1},
	} {
		for _, v := range numbers.list {
			if v < numbers.least || v > maxNumber {
				return fmt.Errorf("%s: %d must be %d to %d", numbers.key, v, numbers.least, maxNumber)
			}
		}
	}
	for _, v := range m.Handicaps {
		if !(v >= 0 && v <= 100) || math.Signbit(v) { // -0 would be another Config than 0
			return fmt.Errorf("handicaps: %v must be 0 to 100", v)
		}
	}
	for _, texts := range []struct {
		key  string
		list []string
	}{{"models", m.Models}, {"backends", m.Backends}, {"skills", m.Skills}} {
		if slices.Contains(texts.list, "") {
			return fmt.Errorf("%s: a name must not be empty", texts.key)
		}
	}
	if len(m.Skills) > 0 && m.Questions == "" {
		return fmt.Errorf("skills are those of a file of questions: say which, with -questions")
	}
	_, err := m.Configs()
	return err
}

// maxNumber bounds every number of a matrix.
const maxNumber = 1 << 24
