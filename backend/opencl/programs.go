//go:build opencl && (amd64 || arm64)

package opencl

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/antigravity-go/antigravity/backend/opencl/internal/compiler"
)

// kernelsVariable is the environment variable that names a folder with .cl files that replace the embedded ones.
const kernelsVariable = "ANTIGRAVITY_OPENCL_KERNELS"

//go:embed kernels/*.cl
var embedded embed.FS

// program is one of package compiler's.
type program = compiler.Program

// The programs without variants.
var (
	elementwise = compiler.Of("common exact elementwise", "-DGROUP=128")
	rows        = compiler.Of("common exact norm rows", "-DGROUP=128")
	widen       = compiler.Of("common formats widen", "-DGROUP=128")
	narrow      = compiler.Of("common exact narrow", "-DGROUP=128")
	split       = compiler.Of("common formats split", "-DGROUP=128")
	gemm        = compiler.Of("common gemm", "-DGROUP=128")
	routing     = compiler.Of("common exact norm keys rows experts", fmt.Sprint("-DGROUP=128 -DMOST_GROUPED=", mostGrouped))
	rounding    = compiler.Of("common exact activations round", "-DGROUP=128")
)

// groupSize is the GROUP of these programs.
const groupSize = 128

// sourcesOf returns a reader of sources: those of the folder of options, or of the environment, before the embedded ones.
func sourcesOf(o Options) func(name string) ([]byte, error) {
	folder := o.Kernels
	if folder == "" {
		folder = os.Getenv(kernelsVariable)
	}
	return func(name string) ([]byte, error) {
		if folder != "" {
			if text, err := fs.ReadFile(os.DirFS(folder), name); err == nil || !errors.Is(err, fs.ErrNotExist) {
				return text, err
			}
		}
		return embedded.ReadFile("kernels/" + name)
	}
}
