package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/antigravity-go/antigravity/eviction"
	"github.com/antigravity-go/antigravity/eviction/monitor"
	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/tensor"
)

// SessionFlags defines the flags for the size of a conversation's memory; kv is the default type.
func SessionFlags(f *Flags, o *llama.SessionOptions, kv tensor.DType) {
	f.Group("Memory", func() { sessionFlags(f, o, kv) })
}

func sessionFlags(f *Flags, o *llama.SessionOptions, kv tensor.DType) {
	o.KV = kv
	f.DType(&o.KV, "kv-type", "of the cached keys and values", tensor.F32, tensor.F16, tensor.Q8_0, tensor.Q4_0)
	f.IntVar(&o.Capacity, "capacity", 0, "`number` of tokens the cache can hold; 0: the model's context, at most 4096, or what -eviction-policy needs")
	f.IntVar(&o.ImageTokens, "image-tokens", 0, "`number` of tokens that bounds each picture, for models that see; 0: as many as the model takes by itself")
	f.Sets(map[string]string{"SessionOptions.KV": "kv-type", "SessionOptions.Capacity": "capacity", "SessionOptions.ImageTokens": "image-tokens"})
}

// Memory is the choice of a conversation's memory: its size and type, and which tokens it forgets.
type Memory struct {
	llama.SessionOptions
	Policy      string // an eviction policy's name
	Window      int    // tokens that stay besides the prefix
	Prefix      int    // tokens at the beginning that always stay; -1: as many as suit the policy
	ThresholdMB int64  // MiB of available memory below which tokens are forgotten; 0: no threshold
	Endless     bool   // go on beyond the model's context
}

// Flags defines the flags.
func (m *Memory) Flags(f *Flags, kv tensor.DType) {
	f.Group("Memory", func() {
		sessionFlags(f, &m.SessionOptions, kv)
		f.StringVar(&m.Policy, "eviction-policy", none, "`name` of what decides which tokens the cache forgets: "+strings.Join(eviction.Names(), ", "))
		f.IntVar(&m.Window, "eviction-window", 512, "`tokens` that stay beside the protected prefix when -eviction-policy forgets")
		f.IntVar(&m.Prefix, "protected-prefix", -1, "`tokens` at the beginning that always stay; -1: 4 with the policy sliding, none with the others")
		f.BoolVar(&m.EvictAfterPrompt, "evict-after-prompt", false, "forget nothing before a prompt is read to its end: the choice is better, and more memory is needed for a while")
		f.IntVar(&m.Snapshots, "snapshots", 0, "`number` of earlier states that a conversation keeps to go back to, if the model has layers with a state, as Qwen 3.5 has; "+
			"0: as many as take 256 MiB, between 4 and 32; -1: none")
		f.IntVar(&m.SnapshotEvery, "snapshot-every", 0, "`tokens` after which such a model's state is kept in any case; 0: at ends of messages and prompts, and where prompts differ")
		f.BoolVar(&m.Endless, "endless", false, "go on beyond the model's context, with the eviction policy sliding")
		f.Int64Var(&m.ThresholdMB, "memory-threshold-mb", 0, "forget when fewer `MB` of memory than these are available; 0: available memory is not watched")
		f.Sets(map[string]string{"SessionOptions.Snapshots": "snapshots", "SessionOptions.SnapshotEvery": "snapshot-every", "SessionOptions.Eviction": "eviction-policy", "SessionOptions.EvictAfterPrompt": "evict-after-prompt",
			"SessionOptions.Positions is ReanchorSinks": "endless is given"})
	})
}

// The names of policies that flags refer to.
const (
	none    = "none"
	sliding = "sliding"
)

// Options returns the session's options, and a function that releases the monitor of the system's memory.
func (m *Memory) Options() (o *llama.SessionOptions, release func() error, err error) {
	options, release := m.SessionOptions, func() error { return nil }
	policy, prefix := m.Policy, m.Prefix
	if m.Endless {
		if policy == none {
			policy = sliding
		}
		if policy != sliding || m.EvictAfterPrompt {
			return nil, nil, Usagef("-endless forgets with -eviction-policy sliding, also while a prompt is read: not with -eviction-policy %s "+
				"-evict-after-prompt=%v", policy, m.EvictAfterPrompt)
		}
		options.Positions = llama.ReanchorSinks
	}
	if prefix < 0 && policy == sliding {
		prefix = eviction.DefaultPrefix
	}
	choice := eviction.Options{Budget: m.Window + max(prefix, 0), ProtectedPrefix: prefix}
	if prefix == 0 { // in eviction.Options -1 means no prefix, and 0 the policy's default
		choice.ProtectedPrefix = -1
	} else if prefix < 0 {
		choice.ProtectedPrefix = 0
	}
	if options.Eviction, err = eviction.ByName(policy, choice); err != nil {
		return nil, nil, Usagef("-eviction-policy %s -eviction-window %d -protected-prefix %d: %v", policy, m.Window, m.Prefix, err)
	}
	if m.ThresholdMB < 0 {
		return nil, nil, Usagef("-memory-threshold-mb %d: it must be 0 or more", m.ThresholdMB)
	}
	if m.ThresholdMB > 0 {
		options.MemoryThreshold = m.ThresholdMB << 20
		if options.Monitor, err = monitor.NewSystem(); err != nil {
			return nil, nil, fmt.Errorf("-memory-threshold-mb: %w", err)
		}
		if c, ok := options.Monitor.(io.Closer); ok {
			release = c.Close
		}
	}
	return &options, release, nil
}

// Session opens a session of a model. The function that it returns closes it and the monitor.
func (m *Memory) Session(model *llama.Model) (*llama.Session, func(), error) {
	options, release, err := m.Options()
	if err != nil {
		return nil, nil, err
	}
	session, err := model.NewSession(options)
	if err != nil {
		release()
		return nil, nil, err
	}
	return session, func() {
		session.Close()
		release()
	}, nil
}
