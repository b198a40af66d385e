package runs

import (
	"strings"
	"time"

	"github.com/antigravity-go/antigravity/examples/tools/internal/machine"
)

// Run is one repetition of a Config. Times without a unit in their name are in seconds since Began.
type Run struct {
	Config     Config    `json:"config"`
	Repetition int       `json:"repetition"` // 1, 2, …
	Began      time.Time `json:"began"`
	Seconds    float64   `json:"seconds"`         // until the end of everything
	Error      string    `json:"error,omitempty"` // why there is nothing else; such a run is run again
	Machine    Machine   `json:"machine"`

	// Yardsticks are what a fixed piece of work took before and after the run, in milliseconds: runs are comparable if these are.
	Yardsticks [2]float64 `json:"yardsticks"`

	Load       float64     `json:"load"`   // seconds that loading the model took
	Reading    [2]float64  `json:"read"`   // when reading the prompt began and ended
	Tokens     []float64   `json:"tokens"` // when each token of the answer came; its first is computed at the end of the prompt
	Evictions  []Eviction  `json:"evictions,omitempty"`
	Memory     []Memory    `json:"memory"`
	Conditions []Condition `json:"conditions,omitempty"` // of the machine meanwhile, if it reports any
	Weights    int64       `json:"weights"`              // bytes
	Profiles   []Profile   `json:"profiles,omitempty"`
	Accuracy   []Accuracy  `json:"accuracy,omitempty"` // one for each skill
}

// Machine is the machine of a run. A value that the system does not report is empty.
type Machine struct {
	Name       string    `json:"name"`               // of the host, or of the device as it calls itself
	Processor  string    `json:"processor"`          // its maker's name for it
	Kernels    string    `json:"kernels"`            // the tier in use: avx2, sdot, …
	Processors int       `json:"processors"`         // that the program may use
	Device     string    `json:"device,omitempty"`   // the computing device, if it is not the processor
	MHz        float64   `json:"mhz,omitempty"`      // the highest clock of any processor, as the system gives it
	Governor   string    `json:"governor,omitempty"` // what chooses the clock
	Memory     int64     `json:"memory"`             // bytes
	OS         string    `json:"os"`                 // linux/arm64
	Kernel     string    `json:"kernel"`             // the system's version
	Go         string    `json:"go"`                 // the compiler's version
	Commit     string    `json:"commit"`             // of the program; with + at its end: and changes
	Committed  time.Time `json:"committed,omitzero"`
}

// ShortCommit returns a commit as people write it, twelve digits; the + of one with changes stays. A text that is no hash is not cut.
func ShortCommit(commit string) string {
	const digits = 12
	hash, changed := strings.CutSuffix(commit, "+")
	if len(hash) > digits && strings.Trim(hash, "0123456789abcdef") == "" {
		hash = hash[:digits]
	}
	if changed {
		hash += "+"
	}
	return hash
}

// Eviction is one time that slots were given up.
type Eviction struct {
	At     float64 `json:"at"`
	Token  int     `json:"token"`  // tokens of the conversation by then
	Reason string  `json:"reason"` // budget, memory pressure, request
	Target int     `json:"target"` // slots that were to stay
	Slots  int     `json:"slots"`  // given up
	Bytes  int64   `json:"bytes"`  // given up
	Took   float64 `json:"took"`   // milliseconds
}

// Memory is what the process held at a moment.
type Memory struct {
	At       float64 `json:"at"`
	Resident int64   `json:"resident"` // bytes, as the system counts them
	Cache    int64   `json:"cache"`    // bytes of keys and values
	Slots    int     `json:"slots"`    // of the fullest layer
}

// Condition is how the machine was at a moment. A value that it does not report is 0.
type Condition struct {
	At      float64 `json:"at"`
	MHz     float64 `json:"mhz,omitempty"`     // mean of the processors' clocks
	Celsius float64 `json:"celsius,omitempty"` // of the hottest sensor of a processor
	Battery float64 `json:"battery,omitempty"` // percent
	Watts   float64 `json:"watts,omitempty"`   // that the battery gives; below 0: that it takes
}

// Profile says which operations took the time of a part of the run that was repeated for it, on its own.
type Profile struct {
	Part       string      `json:"part"` // prompt or answer
	Seconds    float64     `json:"seconds"`
	Operations []Operation `json:"operations"` // the longest first; "elsewhere" is what the backend did not compute
}

// Operation is what the calls of one kind of operation took together.
type Operation struct {
	Name    string  `json:"name"`
	Shape   string  `json:"shape,omitempty"`
	Type    string  `json:"type,omitempty"`
	Calls   int     `json:"calls"`
	Seconds float64 `json:"seconds"`
	machine.Figures
}

// Accuracy is how many questions of a skill were answered rightly.
type Accuracy struct {
	Skill string `json:"skill"`
	Asked int    `json:"asked"`
	Right int    `json:"right"`
}
