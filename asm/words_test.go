package asm

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
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
	bits, rest, err := evaluate(symbol.FindAllString(expression, -1))
	if err != nil || len(rest) > 0 {
		t.Fatalf("%s: before %q: %v", expression, rest, err)
	}
	return word{assembly, bits}
}

var symbol = regexp.MustCompile(`\w+|<<|>>|\S`)

// evaluate computes an expression of numbers, parentheses, |, and &, << and >>, which bind stronger, as Go does: 1 | 2<<4&7>>1 is 1 | (((2<<4)&7)>>1).
// It returns the symbols that follow.
func evaluate(symbols []string) (or uint64, rest []string, err error) {
	for {
		var product uint64
		for operator := ""; ; symbols = symbols[1:] {
			var v uint64
			switch {
			case len(symbols) == 0:
				return 0, nil, errors.New("a number is missing")
			case symbols[0] != "(":
				if v, err = strconv.ParseUint(symbols[0], 0, 64); err != nil {
					return 0, symbols, err
				}
			default:
				if v, symbols, err = evaluate(symbols[1:]); err != nil {
					return 0, symbols, err
				}
				if len(symbols) == 0 || symbols[0] != ")" {
					return 0, symbols, errors.New("a parenthesis is open")
				}
			}
			switch symbols = symbols[1:]; operator {
			case "":
				product = v
			case "&":
				product &= v
			case "<<":
				product <<= v
			case ">>":
				product >>= v
			}
			if operator = ""; len(symbols) > 0 {
				operator = symbols[0]
			}
			if operator != "&" && operator != "<<" && operator != ">>" {
				break
			}
		}
		if or |= product; len(symbols) == 0 || symbols[0] != "|" {
			return or, symbols, nil
		}
		symbols = symbols[1:]
	}
}

// TestEvaluate computes what Go does.
func TestEvaluate(t *testing.T) {
	for expression, want := range map[string]uint64{
		"(0x4F80E000 | ((3)&1)<<21 | (9)<<16 | ((3)>>1)<<11 | 5)": 0x4F80E000 | (3&1)<<21 | 9<<16 | (3>>1)<<11 | 5,
		"1 | 2<<4&48>>1 | ((7)>>1&1)<<3":                          1 | 2<<4&48>>1 | (7>>1&1)<<3,
	} {
		if got, rest, err := evaluate(symbol.FindAllString(expression, -1)); got != want || len(rest) > 0 || err != nil {
			t.Errorf("%s is %x before %q (%v), want %x", expression, got, rest, err, want)
		}
	}
	for _, wrong := range []string{"", "1 |", "(1", "1 << x"} {
		if got, _, err := evaluate(symbol.FindAllString(wrong, -1)); err == nil {
			t.Errorf("%q is %x", wrong, got)
		}
	}
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
