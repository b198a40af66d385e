package attention

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/backend/cpu"
	"github.com/antigravity-go/antigravity/examples/internal/cli"
	"github.com/antigravity-go/antigravity/internal/precise"
	"github.com/antigravity-go/antigravity/tensor"
)

// Each figure is the shortest of several runs of the same attention over many layers in turn, divided by their number: once with all layers
// submitted before the device is waited for, and once with a wait after each. For example, a device with 2 µs of work and 20 µs of waiting
// shows about 2 (queued_us) and 22 (waited_us). The number of layers depends on the size of their caches, here of type F16 with 2 KV heads
// of 64 elements:
//
//	slots   a layer's cache   layers
//	  512   256 KiB           16, the most
//	 4096   2 MiB             16
//	16384   8 MiB             8, which fill 64 MiB

// defaultLengths are the numbers of slots for which -time measures.
var defaultLengths = []int{128, 512, 2048, 4096, 16384}

// Layers are the caches that are attended to in turn, as those of a model's layers are, so that a cache comes from memory and not from
// a processor's own caches: as many as fill layerBytes, and at most maxLayers.
const (
	layerBytes = 64 << 20
	maxLayers  = 16
)

// timing is how long the attention of one token takes, for one layer, in microseconds.
type timing struct {
	Backend string  `json:"backend"`
	Cache   string  `json:"kv"`
	Slots   int     `json:"slots"`
	Queued  float64 `json:"queued_us"` // all layers are submitted before the device is waited for
	Waited  float64 `json:"waited_us"` // the device is waited for after each layer
	// ReadBack is the same on the processor, with the layer's keys and values read back from the device and the output written to
	// it: 0 for a backend on the host, which need not.
	ReadBack float64 `json:"read_back_us,omitempty"`
	Copying  float64 `json:"copying_us,omitempty"` // the part of ReadBack that is copying
}

// measure prints the timings.
func (o *options) measure(ctx context.Context, stdout io.Writer) error {
	if !o.json {
		fmt.Fprintf(stdout, "One token's attention to one layer's cache: %d query heads and %d KV heads of %d elements, microseconds, the shortest of %d\n",
			o.shape.heads, o.shape.kvHeads, o.shape.dim, o.repetitions)
		for _, b := range o.backends {
			fmt.Fprintf(stdout, "  %s: %s\n", b.name, b.Describe())
		}
		fmt.Fprintln(stdout)
	}
	t := &cli.Table{Left: 2}
	t.Row("backend", "cache", "slots", "queued", "waited for", "read back, on the processor", "of it copying")
	processor := cpu.New(o.threads)
	defer processor.Close()
	for _, b := range o.backends {
		for _, d := range o.types {
			for _, n := range o.lengths {
				one, err := o.timing(ctx, b, processor, d, n)
				if err != nil {
					return fmt.Errorf("%s, %v cache of %d slots: %w", b.name, d, n, err)
				}
				if o.json {
					if err := cli.PrintJSON(stdout, one); err != nil {
						return err
					}
					continue
				}
				back, copying := "-", "-"
				if one.ReadBack > 0 {
					back, copying = fmt.Sprintf("%.1f", one.ReadBack), fmt.Sprintf("%.1f", one.Copying)
				}
				t.Row(one.Backend, one.Cache, fmt.Sprint(n), fmt.Sprintf("%.1f", one.Queued), fmt.Sprintf("%.1f", one.Waited), back, copying)
			}
		}
	}
	if o.json {
		return nil
	}
	_, err := t.WriteTo(stdout)
	return err
}

// bench has what the timing of one length needs.
type bench struct {
	*problem
	device, processor *device
	remote            bool // the device's memory is not the host's
	layers            []backend.Run
	q, out            *tensor.Tensor

	// For reading back: keys and values of one head on the device, the same bytes on the host, and what the processor attends with.
	there, here    [2]*tensor.Tensor
	run            backend.Run
	hostQ, hostOut *tensor.Tensor
}

// timing measures one length.
func (o *options) timing(ctx context.Context, b named, processor backend.Backend, d tensor.DType, slots int) (*timing, error) {
	s := o.shape
	s.slots, s.queries = slots, 1
	p, err := s.problem(situations[1], d, o.seed)
	if err != nil {
		return nil, err
	}
	m := &bench{problem: p, device: &device{Backend: b.Backend}, processor: &device{Backend: processor}}
	defer m.device.free()
	defer m.processor.free()
	if err := m.prepare(); err != nil {
		return nil, err
	}
	result := &timing{Backend: b.name, Cache: d.String(), Slots: slots}
	attend := func(wait bool) func() error {
		return func() error {
			for _, r := range m.layers {
				if err := b.Run(&backend.Attend{Q: m.q, Out: m.out, Runs: []backend.Run{r}}); err != nil {
					return err
				}
				if wait {
					if err := b.Synchronize(); err != nil {
						return err
					}
				}
			}
			return b.Synchronize()
		}
	}
	each := float64(len(m.layers))
	if result.Queued, err = o.shortest(ctx, each, attend(false)); err != nil {
		return nil, err
	}
	if result.Waited, err = o.shortest(ctx, each, attend(true)); err != nil {
		return nil, err
	}
	if !m.remote {
		return result, nil
	}
	if result.ReadBack, err = o.shortest(ctx, each, func() error { return m.readBack(true) }); err != nil {
		return nil, err
	}
	result.Copying, err = o.shortest(ctx, each, func() error { return m.readBack(false) })
	return result, err
}

// shortest returns the shortest time that f takes, in microseconds, divided by each, the number of measured calls in f. The first call,
// which may compile and allocate, does not count.
func (o *options) shortest(ctx context.Context, each float64, f func() error) (float64, error) {
	best := time.Duration(0)
	for i := range o.repetitions + 1 {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		began := precise.Now()
		if err := f(); err != nil {
			return 0, err
		}
		if took := precise.Since(began); i == 1 || i > 1 && took < best {
			best = took
		}
	}
	return float64(best) / float64(time.Microsecond) / each, nil
}

// prepare makes the layers' caches, and what reading them back needs.
func (m *bench) prepare() error {
	c := &m.runs[0]
	bytes := 0
	keys, values := make([][]byte, m.kvHeads), make([][]byte, m.kvHeads)
	for h := range keys { // the token's own slot holds what the first one holds
		slot := m.dtype.BlockBytes() * (m.dim / m.dtype.BlockLen())
		keys[h], values[h] = c.keys[h], c.values[h]
		if len(keys[h]) == 0 {
			keys[h], values[h] = make([]byte, slot), make([]byte, slot)
		} else {
			keys[h], values[h] = append(keys[h], keys[h][:slot]...), append(values[h], values[h][:slot]...)
		}
		bytes += 2 * len(keys[h])
	}
	for range max(1, min(layerBytes/bytes, maxLayers)) {
		s, err := m.device.slots(m.problem, c, keys, values)
		if err != nil {
			return err
		}
		m.layers = append(m.layers, backend.Run{Tokens: 1, Slots: s})
	}
	var err error
	if m.q, err = m.device.floats(m.problem.q, 1, m.heads, m.dim); err != nil {
		return err
	}
	if m.out, err = m.device.blank(tensor.F32, 1, m.heads, m.dim); err != nil {
		return err
	}
	_, host := m.out.Buffer().(*tensor.SharedBuffer)
	if m.remote = !host; host {
		return nil
	}
	for i := range m.there {
		if m.there[i], err = m.device.blank(m.dtype, c.used[0], m.dim); err != nil {
			return err
		}
		if m.here[i], err = m.processor.blank(m.dtype, c.used[0], m.dim); err != nil {
			return err
		}
	}
	s, err := m.processor.slots(m.problem, c, keys, values)
	if err != nil {
		return err
	}
	m.run = backend.Run{Tokens: 1, Slots: s}
	if m.hostQ, err = m.processor.blank(tensor.F32, 1, m.heads, m.dim); err != nil {
		return err
	}
	m.hostOut, err = m.processor.blank(tensor.F32, 1, m.heads, m.dim)
	return err
}

// readBack reads each layer's keys and values from the device, computes the attention on the processor unless it shall only copy, and
// writes the output to the device.
func (m *bench) readBack(attend bool) error {
	for _, layer := range m.layers {
		if err := m.device.ReadBuffer(m.q, m.hostQ.Data()); err != nil {
			return err
		}
		for h := range m.kvHeads {
			if err := m.device.Run(&backend.ReadSlots{Slots: layer.Slots, Head: h, First: 0, Keys: m.there[0], Values: m.there[1]}); err != nil {
				return err
			}
			for i := range m.there {
				if err := m.device.ReadBuffer(m.there[i], m.here[i].Data()); err != nil {
					return err
				}
			}
			if err := m.processor.Run(&backend.WriteSlots{Slots: m.run.Slots, Head: h, First: 0, Keys: m.here[0], Values: m.here[1]}); err != nil {
				return err
			}
		}
		if attend {
			if err := m.processor.Run(&backend.Attend{Q: m.hostQ, Out: m.hostOut, Runs: []backend.Run{m.run}}); err != nil {
				return err
			}
		}
		if err := m.device.Run(&backend.CopySlice{Src: m.hostOut, Dst: m.out, N: m.heads * m.dim}); err != nil {
			return err
		}
	}
	return m.device.Synchronize()
}
