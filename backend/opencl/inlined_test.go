//go:build opencl && (amd64 || arm64)

package opencl

import (
	"io/fs"
	"regexp"
	"strings"
	"testing"
)

// TestFunctionsWithLocalMemoryAreInlined looks for functions that take local memory, by name or by a macro, and are not INLINED:
// common.cl says what becomes of them.
func TestFunctionsWithLocalMemoryAreInlined(t *testing.T) {
	macro := regexp.MustCompile(`(?m)^#define (\w+)((?:.*\\\n)*.*)$`)
	function := regexp.MustCompile(`(?m)^ *(static inline|INLINED) [^;{]*\)\s*\\?\s*\{`)
	files, err := fs.Glob(embedded, "kernels/*.cl")
	must(t, err)
	sources := map[string]string{}
	local := []string{"__local"}
	for _, name := range files {
		text, err := embedded.ReadFile(name)
		must(t, err)
		sources[name] = string(text)
		for _, m := range macro.FindAllStringSubmatch(sources[name], -1) {
			if strings.HasSuffix(m[1], "_ARGUMENTS") && strings.Contains(m[2], "__local") {
				local = append(local, m[1])
			}
		}
	}
	takesLocal := regexp.MustCompile(strings.Join(local, "|"))
	inlined := 0
	for name, source := range sources {
		for _, m := range function.FindAllStringSubmatch(source, -1) {
			switch {
			case m[1] == "INLINED":
				inlined++
			case takesLocal.MatchString(m[0]):
				t.Errorf("%s: %s", name, m[0])
			}
		}
	}
	if inlined < 30 {
		t.Errorf("%d functions are INLINED: does the test find them?", inlined)
	}
}
