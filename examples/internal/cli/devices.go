package cli

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/llama"
)

// Division says how a model is divided between devices, if -backend is no processor.
type Division struct {
	GPULayers   string // how many of the last layers the backend computes, "auto" or "all"
	Devices     string // devices with their numbers of layers, as -devices has them; "": those of GPULayers
	CacheTokens int    // for which devices keep memory free; 0: a good number
}

// The values of Division.GPULayers that are no numbers.
const (
	autoLayers = "auto"
	allLayers  = "all"
)

// flags defines the flags.
func (d *Division) flags(f *Flags) {
	f.StringVar(&d.GPULayers, "gpu-layers", autoLayers, "`number` of the model's last layers that -backend computes, while the processor computes the others; auto: as many as fit into its memory; all")
	f.StringVar(&d.Devices, "devices", "", "`list` of devices, with commas, that compute the model's layers one after the other: cpu, or a device of -backend by number or by a part of its name, each with a number of layers or without, such as cpu,0:20,1:12")
	f.IntVar(&d.CacheTokens, "cache-tokens", 0, "`number` of tokens, of all conversations together, for which devices keep memory free where they get as many layers as fit (default 4096)")
	f.Sets(map[string]string{"LoadOptions.Devices": "devices", "LoadOptions.CacheTokens": "cache-tokens"})
}

// Devices are the open devices of a command line. Several models may be on them.
type Devices struct {
	list  []llama.DeviceLayers
	owned []backend.Backend
}

// Last returns the device that computes the last layers.
func (d *Devices) Last() backend.Backend { return d.list[len(d.list)-1].Backend }

// Close closes the devices.
func (d *Devices) Close() error {
	var errs []error
	for _, b := range d.owned {
		errs = append(errs, b.Close())
	}
	return errors.Join(errs...)
}

// OpenDevices opens the devices.
func (m *Model) OpenDevices() (*Devices, error) {
	if names := backend.Names(); !slices.Contains(names, m.Backend) {
		return nil, Usagef("-backend %s: it must be one of %s; opencl needs a program that was built with -tags opencl", m.Backend, strings.Join(names, ", "))
	}
	d := &Devices{}
	if err := m.openAll(d); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

// processor is the name of the backend that computes on the processor.
const processor = "cpu"

// openAll opens what -devices or -gpu-layers ask for.
func (m *Model) openAll(d *Devices) error {
	layers, err := m.Division.layers()
	switch {
	case err != nil:
		return err
	case m.Division.Devices != "" && m.Division.given():
		return Usagef("-gpu-layers %s with -devices: it must be one of the two", m.Division.GPULayers)
	case m.Division.Devices != "":
		for _, item := range strings.Split(m.Division.Devices, ",") {
			if err := m.openListed(d, item); err != nil {
				return err
			}
		}
		return nil
	case m.Backend == processor && m.Division.given():
		return Usagef("-gpu-layers %s with -backend %s: it must be a backend for graphics cards", m.Division.GPULayers, m.Backend)
	case m.Backend == processor || m.Division.GPULayers == "" || m.Division.GPULayers == allLayers:
		return m.open(d, m.Backend, "", 0)
	case layers < 0: // as many as fit
		if err := m.open(d, m.Backend, "", 0); err != nil || backend.Room(d.list[0].Backend) == 0 {
			return err
		}
	case layers > 0:
		if err := m.open(d, m.Backend, "", layers); err != nil {
			return err
		}
	}
	if err := m.open(d, processor, "", 0); err != nil {
		return err
	}
	slices.Reverse(d.list) // the processor's layers are the first
	return nil
}

// given reports whether somebody has asked for a number of layers.
func (d *Division) given() bool { return d.GPULayers != "" && d.GPULayers != autoLayers }

// layers returns the number of layers, below 0 for as many as fit.
func (d *Division) layers() (int, error) {
	if !d.given() || d.GPULayers == allLayers {
		return -1, nil
	}
	n, err := strconv.Atoi(d.GPULayers)
	if err != nil || n < 0 {
		return 0, Usagef("-gpu-layers %s: it must be a number of layers, %s or %s", d.GPULayers, autoLayers, allLayers)
	}
	return n, nil
}

// openListed opens a device of -devices.
func (m *Model) openListed(d *Devices, item string) error {
	name, layers := item, 0
	if i := strings.LastIndexByte(item, ':'); i >= 0 {
		n, err := strconv.Atoi(item[i+1:])
		if err != nil || n < 1 {
			return Usagef("-devices %s: %q must be a device, or one with a number of layers, such as 0:20", m.Division.Devices, item)
		}
		name, layers = item[:i], n
	}
	switch {
	case name == processor:
		return m.open(d, processor, "", layers)
	case name == "" || m.Backend == processor:
		return Usagef("-devices %s: %q must be %s, or a device of a -backend for graphics cards", m.Division.Devices, item, processor)
	}
	return m.open(d, m.Backend, name, layers)
}

// open opens a device and adds it.
func (m *Model) open(d *Devices, name, device string, layers int) error {
	b, err := backend.Open(name, backend.Options{Threads: m.Threads, Record: m.Record, Device: device})
	if err != nil {
		return err
	}
	d.list, d.owned = append(d.list, llama.DeviceLayers{Backend: b, Layers: layers}), append(d.owned, b)
	return nil
}
