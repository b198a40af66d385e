package limits

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

func TestPortableChains(t *testing.T) {
	for name, c := range map[string]Chain{"integers": IntegersPortable, "floats": FloatsPortable} {
		if first, second := c.Run(), c.Run(); first != c.turns*c.macs || first <= 0 || second != first {
			t.Errorf("%s: %d multiply-adds, then %d; there are %d turns of %d", name, first, second, c.turns, c.macs)
		}
	}
}

// read returns a file of this folder.
func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestCountsAMD64 holds how many multiply-adds a turn is said to have against the instructions between its label and its jump.
func TestCountsAMD64(t *testing.T) {
	perStep := map[*regexp.Regexp]int{ // multiply-adds of the instructions
		regexp.MustCompile(`VPMADDUBSW .*, Y\d+\n`):          32,
		regexp.MustCompile(`VPMADDUBSW .*, Z\d+\n`):          64,
		regexp.MustCompile(`// \{vex\} vpdpbusd ymm\d+, .*`): 32,
		regexp.MustCompile(`VPDPBUSD .*, Z\d+\n`):            64,
		regexp.MustCompile(`VFMADD231PS .*, Y\d+\n`):         8,
		regexp.MustCompile(`VFMADD231PS .*, Z\d+\n`):         16,
		regexp.MustCompile(`// tdpbssd tmm\d+, .*`):          16 * 16 * 64,
	}
	assembly := read(t, "limits_amd64.s")
	chains := regexp.MustCompile(`= Chain\{run: (\w+), turns: \d+, macs: (\d+)\}`).FindAllStringSubmatch(read(t, "limits_amd64.go"), -1)
	if functions := strings.Count(assembly, "\nTEXT "); len(chains) != functions || functions == 0 {
		t.Fatalf("%d chains for %d functions", len(chains), functions)
	}
	for _, c := range chains {
		_, function, _ := strings.Cut(assembly, "TEXT ·"+c[1]+"(SB)")
		_, loop, _ := strings.Cut(function, "\nturn:\n")
		loop, _, _ = strings.Cut(loop, "JNE")
		macs := 0
		for instruction, n := range perStep {
			macs += n * len(instruction.FindAllString(loop, -1))
		}
		if want, _ := strconv.Atoi(c[2]); macs != want || macs == 0 {
			t.Errorf("a turn of %s has instructions for %d multiply-adds, and counts as %d", c[1], macs, want)
		}
	}
}

// TestSumsARM64 compares the constant number of sums with the steps of a turn, which have a register each.
func TestSumsARM64(t *testing.T) {
	said := regexp.MustCompile(`(?m)^const sumsNEON = (\d+)$`).FindStringSubmatch(read(t, "limits_arm64.go"))
	if said == nil {
		t.Fatal("limits_arm64.go does not say how many sums there are")
	}
	registers := make(map[string]bool)
	for _, m := range regexp.MustCompile(`(?m)^\t(?:EVEN|ODD)\((\d+)\)`).FindAllStringSubmatch(read(t, "limits_arm64.s"), -1) {
		registers[m[1]] = true
	}
	if want, _ := strconv.Atoi(said[1]); len(registers) != want {
		t.Errorf("%d registers take turns, and %d are counted", len(registers), want)
	}
}
