package llama

import (
	"fmt"
	"math"
	"strings"
)

// Memory is how many bytes a model and its sessions take, and for what.
type Memory struct {
	Weights    int64 `json:"weights"`    // tensors, mapped files included, and those of adapters
	Mapped     int64 `json:"mapped"`     // of Weights, those in mapped files: the system reads them when they are used, and may give them up when memory is short
	Caches     int64 `json:"caches"`     // the sum of CacheParts
	Workspaces int64 `json:"workspaces"` // capacity of activations and of logits; the system counts only touched memory
	Scratch    int64 `json:"scratch"`    // what the backend's operations keep to work in; models on one backend share it

	// Constraints is the memory that package constrain keeps with the model's tokenizer: what it knows of the vocabulary, and the constraints
	// made last. Models with equal vocabularies share a part of it, which counts for each of them.
	Constraints int64 `json:"constraints"`

	CacheParts CacheParts `json:"cache_parts"` // of all sessions, what several share counted once
}

// DeviceMemory is how many bytes a device's layers of a model take.
type DeviceMemory struct {
	Device string `json:"device"` // the backend's name
	First  int    `json:"first"`  // the number of the first of its layers
	Layers int    `json:"layers"` // how many it has

	Weights int64 `json:"weights"` // tensors, those of adapters too, and those around the layers on the devices that compute these
	Mapped  int64 `json:"mapped"`  // of Weights, those in mapped files
	Caches  int64 `json:"caches"`  // keys, values and states; without the records of eviction policies
}

// String is "opencl: layers 20 to 31, weights 5.1 GB, caches 201 MB".
func (d DeviceMemory) String() string {
	return fmt.Sprintf("%s: layers %d to %d, weights %s, caches %s", d.Device, d.First, d.First+d.Layers-1, inUnits(d.Weights), inUnits(d.Caches))
}

// String returns the sizes in words, such as "weights 1.2 GB, caches 35 MB, workspaces 8.1 MB, scratch 0 B". If some weights lie in mapped files,
// caches are of several kinds, or there are constraints, it says so: "weights 2.7 GB (1.5 GB in mapped files), caches 35 MB (whole 25 MB, shared
// 10 MB), …, scratch 0 B, constraints 15 MB".
func (m Memory) String() string {
	var mapped string
	if m.Mapped > 0 {
		mapped = " (" + inUnits(m.Mapped) + " in mapped files)"
	}
	var constraints string
	if m.Constraints > 0 {
		constraints = ", constraints " + inUnits(m.Constraints)
	}
	return fmt.Sprintf("weights %s%s, caches %s%s, workspaces %s, scratch %s%s",
		inUnits(m.Weights), mapped, inUnits(m.Caches), m.CacheParts.beyond(), inUnits(m.Workspaces), inUnits(m.Scratch), constraints)
}

// CacheParts is what conversations remember, in bytes, by what it is.
type CacheParts struct {
	Whole   int64 `json:"whole"`   // keys and values of layers that see all tokens
	Windows int64 `json:"windows"` // keys and values of layers that see a window
	Shared  int64 `json:"shared"`  // keys and values that several layers read, whether they see all tokens or a window
	States  int64 `json:"states"`  // of recurrent layers, with their snapshots
	Records int64 `json:"records"` // what eviction policies need
}

// String names the parts that are not 0: "whole 25 MB, shared 10 MB".
func (p CacheParts) String() string {
	var parts []string
	for _, part := range []struct {
		name  string
		bytes int64
	}{{"whole", p.Whole}, {"windows", p.Windows}, {"shared", p.Shared}, {"states", p.States}, {"records", p.Records}} {
		if part.bytes > 0 {
			parts = append(parts, part.name+" "+inUnits(part.bytes))
		}
	}
	return strings.Join(parts, ", ")
}

// beyond returns the parts in parentheses, "" if there are only keys and values of layers that see all tokens, as in a Llama.
func (p CacheParts) beyond() string {
	if p == (CacheParts{Whole: p.Whole}) {
		return ""
	}
	return " (" + p.String() + ")"
}

// inUnits writes a number of bytes with two digits at least, in units of 1000.
func inUnits(n int64) string {
	units, v := []string{"B", "kB", "MB", "GB", "TB"}, float64(n)
	for len(units) > 1 && v >= 999.5 {
		v, units = v/1000, units[1:]
	}
	if v < 9.95 && v != math.Trunc(v) {
		return fmt.Sprintf("%.1f %s", v, units[0])
	}
	return fmt.Sprintf("%.0f %s", v, units[0])
}

// MemoryUsage returns the memory of the model and of its open sessions, in bytes. Of a closed model only Scratch, which is its backend's, and
// Constraints, which are its tokenizer's, may be left.
func (m *Model) MemoryUsage() Memory {
	m.mu.Lock()
	defer m.mu.Unlock()
	of := m.weights.Usage()
	usage := Memory{
		Weights: of.Weights, Mapped: of.Mapped, Workspaces: m.batch.Bytes() + of.Scratch, Scratch: m.devices.scratch(),
		Constraints: derivedBytes(m.tokenizer),
	}
	if m.head != nil {
		usage.Workspaces += m.head.Bytes()
	}
	if m.tower != nil {
		weights, mapped, working := m.tower.Usage()
		usage.Weights, usage.Mapped, usage.Workspaces = usage.Weights+weights, usage.Mapped+mapped, usage.Workspaces+working
	}
	for w := range m.sessions {
		if s := w.Value(); s != nil {
			of.Caches.Records += s.sequence.published.records.Load()
			usage.Workspaces += s.sequence.published.logitBytes.Load()
		}
	}
	usage.CacheParts, usage.Caches = CacheParts(of.Caches), of.Caches.Held()+of.Caches.Records
	return usage
}

// Devices returns which layers each of the model's devices computes, in the layers' order, and the memory that these take. The memory of towers that see, and
// that in which passes work, are in MemoryUsage alone.
func (d *devices) Devices() (list []DeviceMemory) {
	for _, s := range d.weights.Stages() {
		list = append(list, DeviceMemory{s.Device.Name(), s.First, s.Layers, s.Weights, s.Mapped, s.Caches.Held()})
	}
	return list
}

// derivedBytes returns how much memory the values take that are kept with a tokenizer, as far as they say.
func derivedBytes(t *Tokenizer) (n int64) {
	t.derived.Range(func(_, v any) bool {
		if v, ok := v.(interface{ MemoryUsage() int64 }); ok {
			n += v.MemoryUsage()
		}
		return true
	})
	return n
}
