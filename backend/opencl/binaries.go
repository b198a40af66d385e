//go:build opencl && (amd64 || arm64)

package opencl

import (
	"os"
	"path/filepath"

	"github.com/antigravity-go/antigravity/backend/opencl/internal/cl"
)

// cacheVariable is the environment variable that names the folder for compiled kernels, or "off".
const cacheVariable = "ANTIGRAVITY_OPENCL_CACHE"

// cacheFolder returns where compiled kernels are kept, "" for nowhere. pocl keeps what it has compiled in a cache of its own: unless somebody
// names a folder, its binaries are not stored, for which it would compile every kernel of a program once more, those that nobody runs too.
func cacheFolder(wanted string, d *cl.Device) string {
	if wanted == "" {
		wanted = os.Getenv(cacheVariable)
	}
	switch {
	case wanted == "off", wanted == "" && d.Platform == poclPlatform:
		return ""
	case wanted != "":
		return wanted
	}
	user, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(user, "antigravity", "opencl")
}

// poclPlatform is the name of pocl's platform.
const poclPlatform = "Portable Computing Language"
