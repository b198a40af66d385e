//go:build opencl && (amd64 || arm64)

package cl

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unsafe"
)

// maxListed bounds how many platforms or devices of a platform are asked for, whatever a driver claims.
const maxListed = 64

// maxInfo bounds the length of a text that a driver returns.
const maxInfo = 1 << 20

// Kind is a set of device types, as in clGetDeviceIDs.
type Kind uint64

// The kinds.
const (
	CPU         Kind = 1 << 1
	GPU         Kind = 1 << 2
	Accelerator Kind = 1 << 3
)

// String names the kind.
func (k Kind) String() string {
	switch {
	case k&GPU != 0:
		return "GPU"
	case k&Accelerator != 0:
		return "accelerator"
	case k&CPU != 0:
		return "CPU"
	}
	return "device"
}

// order says which devices come first when one is chosen: those that are GPUs, whatever else they say they are, then accelerators.
func (k Kind) order() int {
	for i, kind := range [...]Kind{GPU, Accelerator, CPU} {
		if k&kind != 0 {
			return i
		}
	}
	return 3
}

// Device is a device and what it says about itself.
type Device struct {
	api          *API
	id, platform uintptr

	Platform     string // the driver's name, such as "NVIDIA CUDA"
	Name         string
	Vendor       string
	Version      string // of OpenCL, such as "OpenCL 3.0 CUDA"
	Driver       string // version of the driver
	Extensions   string
	Kind         Kind
	Units        int   // compute units
	GroupSize    int   // largest work-group
	LocalBytes   int64 // local memory of a work-group
	GlobalBytes  int64
	MaxAlloc     int64 // the largest single buffer
	Shared       bool  // host and device share memory
	LocalIsCache bool  // local memory is ordinary memory, as on processors
	Rounds       bool  // it can round divisions and square roots correctly, when asked to
	Denormals    bool  // floats below the normal range are computed with
}

// Devices lists every device of every platform, GPUs first and processors last. A platform that fails is passed over; if no device remains,
// the error reports the failures; it is nil if there simply is no device.
func (a *API) Devices() ([]*Device, error) {
	var ids [maxListed]uintptr
	var n uint32
	err := a.status(GetPlatformIDs, maxListed, uintptr(unsafe.Pointer(&ids)), uintptr(unsafe.Pointer(&n)))
	if errors.Is(err, PlatformNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var list []*Device
	var failures []error
	for _, platform := range ids[:min(n, maxListed)] {
		devices, err := a.devicesOf(platform)
		if err != nil {
			failures = append(failures, err)
		}
		list = append(list, devices...)
	}
	if len(list) == 0 {
		return nil, errors.Join(failures...)
	}
	slices.SortStableFunc(list, func(a, b *Device) int { return a.Kind.order() - b.Kind.order() })
	return list, nil
}

// devicesOf lists the devices of a platform.
func (a *API) devicesOf(platform uintptr) ([]*Device, error) {
	name, err := a.text(GetPlatformInfo, platform, 0x0902)
	if err != nil {
		return nil, err
	}
	var ids [maxListed]uintptr
	var n uint32
	err = a.status(GetDeviceIDs, platform, uintptr(GPU|Accelerator|CPU), maxListed,
		uintptr(unsafe.Pointer(&ids)), uintptr(unsafe.Pointer(&n)))
	if errors.Is(err, DeviceNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("platform %s: %w", name, err)
	}
	var list []*Device
	var failures []error
	for _, id := range ids[:min(n, maxListed)] {
		d := &Device{api: a, id: id, platform: platform, Platform: name}
		if err := d.ask(); err != nil {
			failures = append(failures, fmt.Errorf("platform %s: %w", name, err))
			continue
		}
		list = append(list, d)
	}
	return list, errors.Join(failures...)
}

// ask fills in what the device says about itself.
func (d *Device) ask() error {
	for _, q := range []struct {
		what uintptr
		to   *string
	}{{0x102B, &d.Name}, {0x102C, &d.Vendor}, {0x102D, &d.Driver}, {0x102F, &d.Version}, {0x1030, &d.Extensions}} {
		text, err := d.api.text(GetDeviceInfo, d.id, q.what)
		if err != nil {
			return err
		}
		*q.to = text
	}
	var kind, units, group, local, global, alloc, shared, localKind, available, compiler, floats uint64
	for _, q := range []struct {
		what uintptr
		to   *uint64
	}{
		{0x1000, &kind}, {0x1002, &units}, {0x1004, &group}, {0x1023, &local}, {0x101F, &global}, {0x1010, &alloc},
		{0x1035, &shared}, {0x1022, &localKind}, {0x1027, &available}, {0x1028, &compiler}, {0x101B, &floats},
	} {
		var size uintptr // the answers are of 4 or 8 bytes; both kinds of processor here store the low one first
		if err := d.api.status(GetDeviceInfo, d.id, q.what, 8, uintptr(unsafe.Pointer(q.to)), uintptr(unsafe.Pointer(&size))); err != nil {
			return fmt.Errorf("%s: %w", d.Name, err)
		}
	}
	d.Kind, d.Units, d.GroupSize = Kind(kind), clamp(units), clamp(group)
	d.LocalBytes, d.GlobalBytes, d.MaxAlloc = int64(local), int64(global), int64(alloc)
	d.Shared, d.LocalIsCache = shared != 0, localKind == 2
	d.Rounds, d.Denormals = floats&(1<<7) != 0, floats&1 != 0
	if available == 0 || compiler == 0 {
		return fmt.Errorf("%s is not available or has no compiler", d.Name)
	}
	if d.MaxAlloc < 1 || d.GlobalBytes < 1 || strings.HasPrefix(d.Version, "OpenCL 1.0") || strings.HasPrefix(d.Version, "OpenCL 1.1") {
		return fmt.Errorf("%s offers %s: OpenCL 1.2 is needed", d.Name, d.Version)
	}
	return nil
}

// clamp keeps a driver's number within reason.
func clamp(n uint64) int { return int(min(max(n, 1), 1<<20)) }

// String is the name and the platform.
func (d *Device) String() string { return d.Name + " (" + d.Platform + ")" }

// text asks for a string in two steps: its length, then itself.
func (a *API) text(f Function, object, what uintptr) (string, error) {
	var size uintptr
	if err := a.status(f, object, what, 0, 0, uintptr(unsafe.Pointer(&size))); err != nil {
		return "", err
	}
	return a.readText(size, func(buffer []byte) error {
		return a.status(f, object, what, uintptr(len(buffer)), uintptr(unsafe.Pointer(&buffer[0])), 0)
	})
}

// readText reads a string of a length that a driver told.
func (a *API) readText(size uintptr, read func([]byte) error) (string, error) {
	if size == 0 || size > maxInfo {
		return "", nil
	}
	buffer := make([]byte, size)
	if err := read(buffer); err != nil {
		return "", err
	}
	text, _, _ := strings.Cut(string(buffer), "\x00")
	return strings.TrimSpace(text), nil
}
