package antigravity

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	fuzzTarget = regexp.MustCompile(`(?m)^func (Fuzz\w+)\(`)
	fuzzCount  = regexp.MustCompile(`(?m)^(\S+ Fuzz\w+) \d+$`)
	fuzzShare  = regexp.MustCompile(`(?m)^fuzz_(\d+)\(\) \{ fuzz (\d+); \}$`)
)

// TestFuzzTargetsRun compares the fuzz targets that .ci/run lists with those that the tree has, since they run in turns: one that is missing
// would never be missed. Targets with a count of their own exist, and each share has its turn.
func TestFuzzTargetsRun(t *testing.T) {
	text, err := os.ReadFile(".ci/run")
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("there is no .ci/run")
	} else if err != nil {
		t.Fatal(err)
	}
	var targets []string
	err = filepath.WalkDir(".", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		source, err := os.ReadFile(path)
		for _, target := range fuzzTarget.FindAllSubmatch(source, -1) {
			targets = append(targets, filepath.ToSlash(filepath.Dir(path))+" "+string(target[1]))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(targets)
	script := string(text)
	for _, counted := range fuzzCount.FindAllStringSubmatch(script, -1) {
		if !slices.Contains(targets, counted[1]) {
			t.Errorf(".ci/run has a count for %s, which is not there", counted[1])
		}
	}
	_, turns, _ := strings.Cut(script, "turns=(")
	turns, _, _ = strings.Cut(turns, "\n)")
	shares := fuzzShare.FindAllStringSubmatch(script, -1)
	for i, share := range shares {
		if share[1] != share[2] || share[1] != fmt.Sprint(i+1) || !regexp.MustCompile(`\bfuzz_`+share[1]+`\b`).MatchString(turns) {
			t.Errorf("%s is not in .ci/run's turns", share[0])
		}
	}
	if n := fmt.Sprint(len(shares)); !strings.Contains(script, "n % "+n+" == share % "+n) {
		t.Errorf(".ci/run has %s shares, and divides the targets into others", n)
	}
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("there is no bash")
	}
	listed, err := exec.Command("bash", ".ci/run", "fuzz_targets").Output()
	if err != nil {
		t.Fatal(err)
	}
	if lines := strings.Split(strings.TrimSpace(string(listed)), "\n"); !slices.Equal(lines, targets) {
		t.Errorf(".ci/run lists the targets\n%q, and there are\n%q", lines, targets)
	}
}

var (
	longRun = regexp.MustCompile(`ANTIGRAVITY_EVAL=(?:long|all) go test ([^;\n]*)`)
	sampled = regexp.MustCompile(`\beffort\.(?:Of|Share|Turn|Long)\(`)
	braces  = regexp.MustCompile(`^(.*)\{(.*)\}(.*)$`)
)

// TestSamplesAreTriedWhole looks for folders with tests that try a share: a run of .ci/run tries the whole in each. A case that never has its
// turn fails for nobody.
func TestSamplesAreTriedWhole(t *testing.T) {
	script, err := os.ReadFile(".ci/run")
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("there is no .ci/run")
	} else if err != nil {
		t.Fatal(err)
	}
	whole := map[string]bool{}
	for _, run := range longRun.FindAllStringSubmatch(string(script), -1) {
		for _, word := range strings.Fields(run[1]) {
			if parts := braces.FindStringSubmatch(word); parts != nil {
				for one := range strings.SplitSeq(parts[2], ",") {
					whole[parts[1]+one+parts[3]] = true
				}
			}
			whole[word] = true
		}
	}
	err = filepath.WalkDir(".", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		source, err := os.ReadFile(path)
		folder := "./" + filepath.ToSlash(filepath.Dir(path))
		top, _, _ := strings.Cut(folder[len("./"):], "/")
		if sampled.Match(source) && folder != "./internal/effort" && !whole[folder] && !whole["./"+top+"/..."] {
			t.Errorf("%s tries a share, and no run of .ci/run with ANTIGRAVITY_EVAL has %s", path, folder)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
