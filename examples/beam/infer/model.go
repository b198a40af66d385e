package infer

import (
	"fmt"
	"time"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/tensor"
)

// Model says which model to load, and how. It is part of the pipeline: workers get it as JSON, and equal Models share one loaded model.
// Only Path must be set; nothing but Path, Weights, KV and Capacity can change an answer.
type Model struct {
	// Path is a .gguf file or a folder of Hugging Face on the worker's machine; or what each machine fetches once: a name as
	// hf:owner/name:Q4_K_M or a URL (see package hub), or a .gguf file of a file system that the program registered with Beam, as
	// gs://bucket/model.gguf. "flint", "opal" and "pebble" are the embedded models.
	Path string
	// SHA256 is the sum that a file that is fetched must have, in hexadecimal digits; "": any.
	SHA256 string
	// Weights quantises or converts the weights while loading: "q4_0", "q4_1", "q8_0", "f16", "bf16" or "f32"; "": as stored.
	Weights string
	// KV is the type of cached keys and values: "f16", "q8_0", "q4_0" or "f32"; "": "f16".
	KV string
	// Capacity is how many tokens a prompt and its answer may have together; 0: the model's context, at most 4096.
	Capacity int
	// Sessions is how many elements are computed at the same time, in a process; 0: 48.
	Sessions int
	// Threads is how many threads compute, in a process; 0: as many as the process may use.
	Threads int
	// CacheBytes bounds the memory of all caches in a process; 0: a quarter of the memory that is available when the model is loaded.
	CacheBytes int64
	// Idle is how long the model stays loaded when no element needs it; 0: a minute.
	Idle time.Duration
}

// defaultSessions and defaultIdle are what Model.Sessions and Model.Idle stand for when they are 0. Nobody waits for a single answer of a
// batch, and answers end at different times: with half as many again as llama.LoadOptions has, passes stay full.
const (
	defaultSessions = 48
	defaultIdle     = time.Minute
)

// sessions returns how many elements are computed at the same time.
func (m Model) sessions() int {
	if m.Sessions > 0 {
		return m.Sessions
	}
	return defaultSessions
}

// idle returns how long the model stays loaded unused.
func (m Model) idle() time.Duration {
	if m.Idle > 0 {
		return m.Idle
	}
	return defaultIdle
}

// options returns the options of loading and of the pool.
func (m Model) options() (*llama.LoadOptions, *llama.PoolOptions, error) {
	weights, err := dtype("Weights", m.Weights)
	if err != nil {
		return nil, nil, err
	}
	kv, err := dtype("KV", m.KV)
	if err != nil {
		return nil, nil, err
	}
	load := &llama.LoadOptions{Threads: m.Threads, Weights: weights, MaxBatch: m.sessions()}
	pool := &llama.PoolOptions{
		MaxSessions: m.sessions(), MaxBytes: m.CacheBytes, Session: llama.SessionOptions{Capacity: m.Capacity, KV: kv},
	}
	return load, pool, nil
}

// dtype returns the element type that a field of Model names, the zero value for "".
func dtype(field, name string) (tensor.DType, error) {
	if name == "" {
		var none tensor.DType
		return none, nil
	}
	t, err := tensor.ParseDType(name)
	if err != nil {
		return t, fmt.Errorf("read the field %s of infer.Model: %w", field, err)
	}
	return t, nil
}
