package asm

import (
	"bufio"
	"fmt"
	"go/constant"
	"go/token"
	"go/types"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// definition is a line of a words_arm64.h that defines an instruction.
var definition = regexp.MustCompile(`^#define \w+\(([\w, ]+)\) WORD \$(.*)$`)

// operandValues are how many values operands have that are not numbers of any register.
var operandValues = map[string]int{"i": 4, "h": 8, "e": 16}

// word is an instruction of a words_arm64.h with some operands.
type word struct {
	assembly string // in Arm's language
	bits     uint64
}

// expandWords reads all words_arm64.h and gives each instruction's operands some values. An operand called i is the number of an
// element, of four, and one called h of eight; e is a register of the lower sixteen.
func expandWords(t *testing.T) (words []word) {
	t.Helper()
	seen := make(map[string]bool) // definitions with their comments: several folders have the same
	for _, name := range filesNamed(t, "words_arm64.h") {
		file, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		comment := ""
		for line := range strings.Lines(string(file)) {
			line = strings.TrimSpace(line)
			if m := definition.FindStringSubmatch(line); m != nil && !seen[comment+line] {
				seen[comment+line] = true
				for _, start := range []int{0, 5, 21, 29} {
					words = append(words, expandWord(t, comment, strings.Split(m[1], ", "), m[2], start))
				}
			} else if m == nil && strings.HasPrefix(line, "#define") {
				t.Errorf("%s: %q is not a word as this test understands it", name, line)
			}
			comment = strings.TrimPrefix(line, "// ")
		}
	}
	return words
}

// filesNamed returns the files below internal whose names end so.
func filesNamed(t *testing.T, ending string) (names []string) {
	t.Helper()
	err := filepath.WalkDir("internal", func(name string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && strings.HasSuffix(name, ending) {
			names = append(names, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// expandWord replaces operands by values that differ from each other.
func expandWord(t *testing.T, assembly string, operands []string, expression string, start int) word {
	t.Helper()
	for n, operand := range operands {
		value := (start + n) % 32
		if n, ok := operandValues[operand]; ok {
			value %= n
		}
		assembly = strings.ReplaceAll(assembly, "{"+operand+"}", fmt.Sprint(value))
		expression = strings.ReplaceAll(expression, "("+operand+")", fmt.Sprint(value))
	}
	v, err := types.Eval(token.NewFileSet(), nil, token.NoPos, expression)
	if err != nil {
		t.Fatalf("%s: %v", expression, err)
	}
	bits, _ := constant.Uint64Val(v.Value)
	return word{assembly, bits}
}

// TestWords holds the words against LLVM's assembler.
func TestWords(t *testing.T) {
	words := expandWords(t)
	if len(words) == 0 {
		t.Fatal("no words_arm64.h defines an instruction")
	}
	llvm, err := exec.LookPath("llvm-mc")
	if err != nil {
		t.Skip("no llvm-mc to hold the words against")
	}
	var source strings.Builder
	for _, w := range words {
		fmt.Fprintln(&source, w.assembly)
	}
	cmd := exec.Command(llvm, "-triple=aarch64", "-mattr=+dotprod,+i8mm", "-show-encoding")
	cmd.Stdin = strings.NewReader(source.String())
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	encoding := regexp.MustCompile(`encoding: \[0x(..),0x(..),0x(..),0x(..)\]`)
	n := 0
	for lines := bufio.NewScanner(strings.NewReader(string(out))); lines.Scan(); {
		m := encoding.FindStringSubmatch(lines.Text())
		if m == nil {
			continue
		}
		if got, want := fmt.Sprintf("%08x", words[n].bits), m[4]+m[3]+m[2]+m[1]; got != want {
			t.Errorf("%s is %s here, LLVM has %s", words[n].assembly, got, want)
		}
		n++
	}
	if n != len(words) {
		t.Errorf("LLVM assembled %d instructions of %d", n, len(words))
	}
}
