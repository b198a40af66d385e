// Single builds one executable with a model of the caller's in it.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/antigravity-go/antigravity/examples/internal/cli"
	"github.com/antigravity-go/antigravity/internal/atomicfile"
	"github.com/antigravity-go/antigravity/llama"
)

func main() { cli.Main("single", run) }

const about = `
single builds a program that has a model in its executable: one file to copy, and nothing else to install.

  single -model small.gguf -out answer
  ./answer -question "What is the capital of Japan?"

The program is examples/single/program, with go:embed: copy it into your own. The system maps the model from the executable, and no second copy of the
file is made. It needs Go and this repository, since it compiles the program.`

// program is the package with the model.
const program = "github.com/antigravity-go/antigravity/examples/single/program"

// run builds the program.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) error {
	f := cli.NewFlags("single", about)
	var model, out string
	f.StringVar(&model, "model", "", "`FILE` in GGUF, in one part")
	f.StringVar(&out, "out", "answer", "`path` of the program to write")
	if err := f.Parse(args, stdout); err != nil {
		return err
	}
	if model == "" {
		return cli.Usagef("-model is missing: a .gguf file to put into the program")
	}
	if _, err := llama.Inspect(model); err != nil { // before the linker copies it
		return err
	}
	file, err := filepath.Abs(model)
	if err != nil {
		return err
	}
	listed, err := exec.CommandContext(ctx, "go", "list", "-f", "{{.Dir}}", program).Output()
	if err != nil {
		return fmt.Errorf("go list %s: %w", program, err)
	}
	// The program's model.gguf is a placeholder. An overlay puts the file in its place.
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(strings.TrimSpace(string(listed)), "model.gguf"): file}})
	if err != nil {
		return err
	}
	scratch, err := os.MkdirTemp("", "single-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	replace := filepath.Join(scratch, "overlay.json")
	if err := atomicfile.WriteBytes(replace, overlay); err != nil {
		return err
	}
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags=-s -w", "-overlay", replace, "-o", out, program)
	if said, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("go build %s: %w\n%s", program, err, said)
	}
	info, err := os.Stat(out)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(stdout, "%s has %d MB\n", out, info.Size()>>20)
	return err
}
