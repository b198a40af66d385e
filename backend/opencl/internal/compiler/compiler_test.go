//go:build opencl && (amd64 || arm64)

package compiler

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/backend/opencl/internal/cl"
)

// TestOnly leaves each kernel of each file alone, and then finds one.
func TestOnly(t *testing.T) {
	files, err := filepath.Glob("../../kernels/*.cl")
	if err != nil || len(files) == 0 {
		t.Fatal(len(files), err)
	}
	head := regexp.MustCompile(`(?m)^(__kernel|KERNEL|SPLIT\(|WIDEN\(|WIDEN_SPLIT\()`)
	found := map[string]bool{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		text := string(data)
		kernels := kernelText.FindAllStringSubmatch(text, -1)
		if n := len(head.FindAllString(text, -1)); n != len(kernels) {
			t.Errorf("%s has %d kernels, %d are found", file, n, len(kernels))
		}
		for _, m := range kernels {
			name := m[1]
			if m[2] != "" {
				name = strings.ToLower(m[2]) + "_" + m[3]
			}
			found[name] = true
			one := only(text, name)
			if !strings.Contains(one, m[0]) || len(head.FindAllString(one, -1)) != 1 {
				t.Errorf("%s does not have %s alone", file, name)
			}
			if strings.Count(one, "\n") != strings.Count(text, "\n") {
				t.Errorf("%s has other lines for %s", file, name)
			}
		}
	}
	for _, name := range []string{"attend", "expert_matvec", "split_q6_k", "widen_split_mxfp4", "rms_norm", "scale"} {
		if !found[name] {
			t.Errorf("%s is not found", name)
		}
	}
}

// TestOrder takes programs that were asked for more often first, and of those that were asked for alike the one with fewer files.
func TestOrder(t *testing.T) {
	p := &Compiler{Patient: true, apart: true, held: true, made: map[kernelKey]*compilation{}, kernels: map[kernelKey]*cl.Kernel{}}
	for files, times := range map[string]int{"a b c": 3, "a": 1, "a b": 3} {
		for range times {
			if p.Ready(Of(files, ""), "k") {
				t.Fatal(files, "is ready")
			}
		}
	}
	p.held = false
	for _, want := range []string{"a b", "a b c", "a"} {
		if c := p.next(); c == nil || c.key.program.Files != want {
			t.Fatalf("%+v comes where %q should", c, want)
		}
	}
	if c := p.next(); c != nil {
		t.Fatalf("%+v comes last", c)
	}
}
