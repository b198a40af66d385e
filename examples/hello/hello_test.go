package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

func Example() {
	main()
	// Output: The capital of Japan is Tokyo.
}

// TestHelp runs the program with -h, in a process of its own: it says what it does, and does not do it.
func TestHelp(t *testing.T) {
	if os.Getenv("HELP") != "" {
		os.Args = []string{"hello", "-h"}
		main()
	}
	child := exec.Command(os.Args[0], "-test.run=TestHelp$")
	child.Env = append(os.Environ(), "HELP=1")
	if out, err := child.CombinedOutput(); err != nil || !strings.HasPrefix(string(out), "hello asks") || strings.Count(string(out), "\n") > 1 {
		t.Errorf("%s, %v", out, err)
	}
}
