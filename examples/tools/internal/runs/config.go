// Package runs is the format that the suite writes and the dashboard reads: what a run measured, on which machine, with which results; a
// file of JSON for each run, in a folder.
//
// A Config says what a run measures. Runs of equal Configs are repetitions of each other, whenever and wherever they ran. Only together do
// they say anything: times wander on every machine. Configs differ by Axes, and Metrics are the figures of a Run; everything that lists,
// filters, compares or draws runs goes through these two tables.
package runs

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strconv"
)

// Config is what a run measures. It is a value to compare and to hash: equal Configs have equal IDs.
type Config struct {
	Target    string  `json:"target,omitempty"`    // the machine that runs it: "" for this one, or adb:SERIAL, ssh:HOST
	Program   string  `json:"program,omitempty"`   // label of the program that computes, if several are compared: "base", "new"
	Model     string  `json:"model"`               // pebble, flint, or a path as it was given
	Weights   string  `json:"weights,omitempty"`   // the type that weights are converted to; "": as they are stored
	Backend   string  `json:"backend"`             // cpu or opencl
	Threads   int     `json:"threads"`             // 0: one for each processor
	KV        string  `json:"kv"`                  // the type of cached keys and values
	Policy    string  `json:"policy"`              // the eviction policy
	Window    int     `json:"window"`              // the policy's budget in slots; 0 if Policy is "none"
	Protected int     `json:"protected,omitempty"` // tokens at the beginning that the policy sliding keeps
	Prompt    int     `json:"prompt"`              // tokens of the prompt that is read
	Generate  int     `json:"generate"`            // tokens that are generated after it
	Profile   bool    `json:"profile,omitempty"`   // the operations are timed too, in a pass of their own
	Questions string  `json:"questions,omitempty"` // a file of questions to answer; "": accuracy is not measured
	Skills    string  `json:"skills,omitempty"`    // their skills, with commas between; "": all of the file
	Asked     int     `json:"asked,omitempty"`     // questions of each skill
	Handicap  float64 `json:"handicap,omitempty"`  // how much slower than it is each token is made: 0.1 plants a tenth, to try the comparison
}

// ID names the Config in file names: twelve hexadecimal digits.
func (c *Config) ID() string {
	text, err := json.Marshal(c)
	if err != nil {
		panic(err) // a struct of strings and finite numbers: the suite checks Handicap
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:6])
}

// Axis is something that Configs differ by: a field of Config.
type Axis struct {
	Name  string // in matrix files, flags and URLs
	Title string
	Of    func(c *Config) string
}

// Axes lists the axes in the order in which tables show them: one for each field of Config, so that Configs that are equal on all axes are
// equal.
var Axes = []Axis{
	{"target", "target", func(c *Config) string { return c.Target }},
	{"program", "program", func(c *Config) string { return c.Program }},
	{"model", "model", func(c *Config) string { return c.Model }},
	{"weights", "weights", func(c *Config) string { return c.Weights }},
	{"backend", "backend", func(c *Config) string { return c.Backend }},
	{"threads", "threads", func(c *Config) string { return strconv.Itoa(c.Threads) }},
	{"kv", "cache type", func(c *Config) string { return c.KV }},
	{"policy", "policy", func(c *Config) string { return c.Policy }},
	{"window", "window", func(c *Config) string { return strconv.Itoa(c.Window) }},
	{"protected", "protected", func(c *Config) string { return strconv.Itoa(c.Protected) }},
	{"prompt", "prompt", func(c *Config) string { return strconv.Itoa(c.Prompt) }},
	{"generate", "generated", func(c *Config) string { return strconv.Itoa(c.Generate) }},
	{"profile", "profile", func(c *Config) string { return strconv.FormatBool(c.Profile) }},
	{"questions", "questions", func(c *Config) string { return c.Questions }},
	{"skills", "skills", func(c *Config) string { return c.Skills }},
	{"asked", "asked", func(c *Config) string { return strconv.Itoa(c.Asked) }},
	{"handicap", "handicap", func(c *Config) string { return strconv.FormatFloat(c.Handicap, 'g', -1, 64) }},
}
