//go:build opencl && (amd64 || arm64)

package opencl

import (
	_ "embed"
	"encoding/json"
	"sync"

	"github.com/antigravity-go/antigravity/backend/opencl/internal/cl"
)

// known.json has the results of tuning on some devices, by the devices' names as OpenCL gives them, for the shapes of usual models. On such
// a device
//
//	go test -tags opencl ./backend/opencl -run TestKnownDevices -update-known
//
// tunes all of them, which takes some minutes, and writes what it finds to the file; the other devices' results stay. Results of the user's own
// device, which are kept with the compiled kernels, come before those of the file.

//go:embed known.json
var knownFile []byte

// knownDevices returns the results of the file, by devices' names.
var knownDevices = sync.OnceValue(func() (devices map[string][]tuned) {
	if err := json.Unmarshal(knownFile, &devices); err != nil {
		return nil // a test reads it
	}
	return devices
})

// hopper is the device of the file that stands for those of its generation, and, until somebody tunes them, for NVIDIA's others: its results
// suit them better than the first candidates do, and each trial while a model is loaded would compile a kernel.
const hopper = "NVIDIA H100 80GB HBM3"

// knownAs returns the name by which the file may have results for a device.
func knownAs(d *cl.Device) string {
	if _, ok := knownDevices()[d.Name]; !ok && isNVIDIA(d) {
		return hopper
	}
	return d.Name
}
