package llama

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/backend/cpu"
	"github.com/antigravity-go/antigravity/llama/internal/engine"
	"github.com/antigravity-go/antigravity/llama/internal/source"
	"github.com/antigravity-go/antigravity/tensor"
)

// DeviceLayers is a device and how many of a model's layers it computes; see LoadOptions.Devices.
type DeviceLayers struct {
	// Backend is the device; nil: the processor. The caller closes a backend of its own, after the model.
	Backend backend.Backend
	// Layers is how many consecutive layers the device computes, or all if the model has fewer. 0: those that devices with a number leave. Of these a
	// device that says how much memory it has, by backend.Limited, gets as many as fit, with what they remember of
	// LoadOptions.CacheTokens tokens, and devices that do not say it, as processors, share the others. If all say it, each is filled to the same part.
	Layers int
}

// devices are the backends that compute a model, and its weights on them.
type devices struct {
	backend  backend.Backend   // the last one, which computes logits and what the model sees
	backends []backend.Backend // all that have layers, in the layers' order
	owned    backend.Backend   // one of them, or one without layers, that Load made and Close closes; or nil
	weights  *engine.Weights
}

// use notes the backends of options, and makes the one that is missing. It completes the options by what depends on backends.
func (d *devices) use(o *LoadOptions) {
	for i := range o.Devices {
		b := &o.Devices[i].Backend
		if *b == nil {
			if d.owned == nil {
				d.owned = cpu.New(o.Threads)
			}
			*b = d.owned
		}
		d.backends = append(d.backends, *b)
		d.backend = *b
	}
	if o.MaxBatch == 0 {
		_, o.MaxBatch = engine.PassRows(d.backends...)
	}
}

// synchronize waits for all devices; nobody wants their errors.
func (d *devices) synchronize() {
	for _, b := range d.backends {
		_ = b.Synchronize()
	}
}

// close closes the backend that Load made.
func (d *devices) close() error {
	if d.owned == nil {
		return nil
	}
	return d.owned.Close()
}

// name joins the backends' names: "cpu+opencl".
func (d *devices) name() string { return d.join("+", backend.Backend.Name) }

// describe joins the backends' descriptions.
func (d *devices) describe() string { return d.join("; ", backend.Backend.Describe) }

// join joins what the backends say.
func (d *devices) join(by string, says func(backend.Backend) string) string {
	list := make([]string, len(d.backends))
	for i, b := range d.backends {
		list[i] = says(b)
	}
	return strings.Join(list, by)
}

// scratch returns the memory that the backends' operations keep to work in.
func (d *devices) scratch() (bytes int64) {
	for _, b := range d.backends {
		bytes += backend.Scratch(b)
	}
	return bytes
}

// place decides which layers each device computes, and leaves out devices without layers. Nothing was allocated yet.
func (o *LoadOptions) place(m *Model) ([]engine.Share, error) {
	if o.CacheTokens == 0 {
		o.CacheTokens = min(defaultCapacity, m.config.ContextLength)
	}
	wishes, limited := make([]engine.Wish, len(o.Devices)), false
	for i, d := range o.Devices {
		room := backend.Room(d.Backend)
		wishes[i] = engine.Wish{Layers: d.Layers, Bytes: room - room/16} // a part is the driver's, and what operations work in
		limited = limited || room > 0
	}
	needs := engine.Needs{Layers: make([]int64, m.config.Layers)}
	if limited {
		var err error
		if needs, err = o.needs(m, o.CacheTokens); err != nil {
			return nil, err
		}
	}
	if len(wishes) == 1 && wishes[0].Layers == 0 {
		return o.placeAll(m, &needs, wishes[0].Bytes)
	}
	counts, err := engine.Divide(m.config, &needs, wishes)
	var large *engine.TooLargeError
	switch {
	case errors.As(err, &large):
		return nil, fmt.Errorf("%w; if the processor is one of LoadOptions.Devices, it computes the others", large)
	case err != nil:
		return nil, &ParamError{"LoadOptions.Devices", o.numbers(), fmt.Sprintf("numbers of layers that the model can be divided into: %v", err)}
	}
	var list []engine.Share
	m.backends = nil
	for i, n := range counts {
		if n > 0 {
			list = append(list, engine.Share{Device: o.Devices[i].Backend, Layers: n})
			m.backends = append(m.backends, o.Devices[i].Backend)
			m.backend = o.Devices[i].Backend
		}
	}
	return list, nil
}

// placeAll gives all layers to one device. If its memory is too small even for the weights, it says how many layers would fit.
func (o *LoadOptions) placeAll(m *Model, needs *engine.Needs, room int64) ([]engine.Share, error) {
	device, layers := o.Devices[0].Backend, m.config.Layers
	all := []engine.Share{{Device: device, Layers: layers}}
	if room == 0 {
		return all, nil
	}
	weights, err := o.needs(m, 0)
	if err != nil {
		return nil, err
	}
	if weights.Each, weights.Logits = 0, 0; weights.Of(0, layers) <= backend.Room(device) {
		return all, nil
	}
	counts, err := engine.Divide(m.config, needs, []engine.Wish{{}, {Bytes: room}}) // unlike all layers, those that would fit have caches
	if err != nil {
		return nil, err
	}
	return nil, fmt.Errorf("the model's weights take about %s on %s, which has %s free: %w. %d of its %d layers would fit; the processor computes the others if "+
		"LoadOptions.Devices is {{}, {Backend: %s}}", inUnits(weights.Of(0, layers)), device.Describe(), inUnits(backend.Room(device)), tensor.ErrNoMemory, counts[1], layers, device.Name())
}

// needs returns what the model takes with room for some tokens, as far as its files say.
func (o *LoadOptions) needs(m *Model, tokens int) (engine.Needs, error) {
	tensors := m.config.Tensors()
	stored, _, problems := m.files.Find(tensors, 1)
	if len(problems) > 0 {
		return engine.Needs{}, problems[0]
	}
	sizes := make([]int64, len(tensors))
	for i := range tensors {
		sizes[i] = source.BytesAs(&stored[i], tensors[i].Role, o.Weights)
	}
	prompts, _ := engine.PassRows(m.backends...)
	needs := engine.NeedsOf(m.config, sizes, tokens, prompts, o.MaxBatch)
	seen, err := findTower(m)
	needs.Last += seen.total // the tower is on the last device
	return needs, err
}

// numbers lists Devices' Layers.
func (o *LoadOptions) numbers() (list []int) {
	for _, d := range o.Devices {
		list = append(list, d.Layers)
	}
	return list
}

// deliver loads the tensors of each device. also runs meanwhile; viewed reports whether some tensors are views of the files.
func (o *LoadOptions) deliver(ctx context.Context, m *Model, adds *source.Merge, stored []source.Stored, loaded func(bytes int), also func() error) (viewed bool, err error) {
	for _, d := range engine.Deliveries(m.weights, o.Weights == 0) {
		of := make([]source.Stored, len(d.Which))
		for i, which := range d.Which {
			of[i] = stored[which]
		}
		views, err := o.load(ctx, &d, adds, of, loaded, also)
		viewed = viewed || views
		if err != nil {
			return viewed, err
		}
		also = func() error { return nil }
	}
	return viewed, nil
}

// load loads the tensors of one device, which the files have as stored.
func (o *LoadOptions) load(ctx context.Context, d *engine.Delivery, adds *source.Merge, stored []source.Stored, loaded func(bytes int), also func() error) (viewed bool, err error) {
	loader := source.NewLoader(d.Device, o.Threads, o.Weights, adds)
	defer loader.Close()
	loader.MapExperts(o.MapExperts)
	return loader.Load(ctx, d.Tensors, stored, d.Set, loaded, also)
}
