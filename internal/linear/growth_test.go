package linear

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/internal/effort"
)

const (
	// margin is how many times as often the whole may run a block as the parts. Sorting 32,768 symbols compares each 15 times,
	// and 2,048 of them 11 times.
	margin = 2
	// few is how often any block may run. A quadratic algorithm for 32,768 bytes runs some block 500 million times.
	few = 1 << 21
)

// TestGrowth runs the tests named …Linear of the packages that have them, with the work whole and in parts. It builds them with
// counters, which takes a minute.
func TestGrowth(t *testing.T) {
	if !effort.Long() {
		t.Skip("compiles seven packages; ANTIGRAVITY_EVAL=long does it")
	}
	for _, folder := range []string{"internal/bpe", "internal/hftok", "internal/split", "internal/ngrams", "internal/calls", "internal/thoughts", "llama"} {
		t.Run(folder, func(t *testing.T) {
			binary := filepath.Join(t.TempDir(), "counting.test")
			root := filepath.Join("..", "..")
			call(t, root, nil, "go", "test", "-c", "-covermode=atomic", "-coverpkg=./internal/...,./llama", "-o", binary, "./"+folder)
			count := func(name string, environment ...string) map[string]int {
				profile := filepath.Join(t.TempDir(), name)
				call(t, filepath.Join(root, folder), environment, binary, "-test.run=Linear$", "-test.coverprofile="+profile)
				text, err := os.ReadFile(profile)
				if err != nil {
					t.Fatal(err)
				}
				return counts(t, string(text))
			}
			whole, inParts := count("whole"), count("parts", divided+"=1")
			for _, g := range grown(inParts, whole) {
				t.Error(g)
			}
			busiest := 0
			for _, n := range whole {
				busiest = max(busiest, n)
			}
			if busiest < 1<<18 {
				t.Errorf("no block ran more than %d times: the tests do no work", busiest)
			}
		})
	}
}

// A block with a count that grows with the square of n is found; one that grows with n log n, and one that runs only for large n, are not.
func TestGrown(t *testing.T) {
	inParts := counts(t, "mode: atomic\na.go:1.1,2.2 1 20000000\na.go:3.1,4.2 3 20000000\na.go:5.1,6.2 1 0\n")
	whole := counts(t, "mode: atomic\na.go:1.1,2.2 1 27000000\na.go:3.1,4.2 3 320000000\na.go:5.1,6.2 1 32768\n")
	if found := grown(inParts, whole); len(found) != 1 || !strings.HasPrefix(found[0], "a.go:3.1,4.2 ") {
		t.Errorf("%q", found)
	}
}

// grown says which blocks the whole runs far more often than the parts.
func grown(inParts, whole map[string]int) (found []string) {
	for block, n := range whole {
		if n > margin*inParts[block]+few {
			found = append(found, fmt.Sprintf("%s ran %d times in %d parts, and %d times at once", block, inParts[block], parts, n))
		}
	}
	return found
}

// counts reads a profile of coverage: how often each block ran.
func counts(t *testing.T, profile string) map[string]int {
	t.Helper()
	all := map[string]int{}
	lines := bufio.NewScanner(strings.NewReader(profile))
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "mode:") {
			continue
		}
		var block string
		var statements, n int
		if _, err := fmt.Sscan(lines.Text(), &block, &statements, &n); err != nil {
			t.Fatalf("%q is no line of a profile: %v", lines.Text(), err)
		}
		all[block] += n
	}
	return all
}

// call runs a command in a folder, with more variables in its environment, and fails the test if the command fails.
func call(t *testing.T, folder string, environment []string, name string, arguments ...string) {
	t.Helper()
	command := exec.CommandContext(t.Context(), name, arguments...)
	command.Dir = folder
	command.Env = append(os.Environ(), environment...)
	if output, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", command.Args, err, output)
	}
}
