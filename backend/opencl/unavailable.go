//go:build !opencl || !(amd64 || arm64)

package opencl

import (
	"fmt"
	"runtime"

	"github.com/antigravity-go/antigravity/backend"
)

func init() {
	backend.Register("opencl", func(backend.Options) (backend.Backend, error) {
		return nil, fmt.Errorf("this program has no OpenCL in it: build it with -tags opencl, for amd64 or arm64 (this is %s): %w",
			runtime.GOARCH, backend.ErrUnsupported)
	})
}
