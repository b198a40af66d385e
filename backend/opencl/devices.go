//go:build opencl && (amd64 || arm64)

package opencl

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/antigravity-go/antigravity/backend/opencl/internal/cl"
)

// deviceVariable is the environment variable that chooses a device if the options do not.
const deviceVariable = "ANTIGRAVITY_OPENCL_DEVICE"

// ErrNoLibrary is wrapped by New's and Devices' error if the system has no OpenCL library.
var ErrNoLibrary = cl.ErrNoLibrary

// ErrNoDevice is wrapped by New's error if the system has no OpenCL device, or not the one asked for.
var ErrNoDevice = errors.New("no such OpenCL device")

// Device describes a device of the system.
type Device struct {
	Name, Platform        string
	Version               string // of OpenCL
	Driver                string // version of the driver
	Kind                  string // "GPU", "accelerator", "CPU"
	Units                 int    // compute units
	GlobalBytes, MaxAlloc int64  // memory, and the largest part of it that one buffer may be
	LocalBytes            int64  // memory of a work-group
	SharedMemory          bool   // with the host
}

// Devices lists the system's devices in the order of their numbers: GPUs first, processors last.
func Devices() ([]Device, error) {
	driver, err := cl.Open()
	if err != nil {
		return nil, fmt.Errorf("opencl: %w", err)
	}
	found, err := cl.New(driver).Devices()
	if err != nil {
		return nil, fmt.Errorf("opencl: list devices: %w", err)
	}
	var list []Device
	for _, d := range found {
		list = append(list, Device{
			Name: d.Name, Platform: d.Platform, Version: d.Version, Driver: d.Driver, Kind: d.Kind.String(),
			Units: d.Units, GlobalBytes: d.GlobalBytes, MaxAlloc: d.MaxAlloc, LocalBytes: d.LocalBytes, SharedMemory: d.Shared,
		})
	}
	return list, nil
}

// choose finds the device that is asked for by number or name.
func choose(api *cl.API, wanted string) (*cl.Device, error) {
	if wanted == "" {
		wanted = os.Getenv(deviceVariable)
	}
	devices, err := api.Devices()
	if err != nil {
		return nil, fmt.Errorf("list devices: %w", err)
	}
	if len(devices) == 0 {
		return nil, fmt.Errorf("%w: the OpenCL library is there, but no driver offers a device", ErrNoDevice)
	}
	if wanted == "" {
		return devices[0], nil
	}
	if i, err := strconv.Atoi(wanted); err == nil && i >= 0 && i < len(devices) {
		return devices[i], nil
	}
	var names []string
	for i, d := range devices {
		if strings.Contains(strings.ToLower(d.String()), strings.ToLower(wanted)) {
			return d, nil
		}
		names = append(names, fmt.Sprintf("%d: %v", i, d))
	}
	return nil, fmt.Errorf("%w: %q, where there are %s", ErrNoDevice, wanted, strings.Join(names, "; "))
}
