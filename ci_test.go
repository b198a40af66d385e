package antigravity

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// fuzzed is a line of .ci/run with a folder, its fuzz target, and how many inputs to try.
var fuzzed = regexp.MustCompile(`(?m)^\t\t(\S+) (Fuzz\w+) \d+$`)

// TestFuzzTargetsExist looks for the fuzz targets that .ci/run names, since these run in turns: a wrong name would be found weeks later.
func TestFuzzTargetsExist(t *testing.T) {
	script, err := os.ReadFile(".ci/run")
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("there is no .ci/run")
	} else if err != nil {
		t.Fatal(err)
	}
	targets := fuzzed.FindAllSubmatch(script, -1)
	if len(targets) == 0 {
		t.Error(".ci/run names no fuzz targets")
	}
	for _, target := range targets {
		files, err := filepath.Glob(filepath.Join(string(target[1]), "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		function := regexp.MustCompile(`(?m)^func ` + string(target[2]) + `\(`)
		found := false
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			found = found || function.Match(text)
		}
		if !found {
			t.Errorf(".ci/run names the target %s of %s, which is not there", target[2], target[1])
		}
	}
}
