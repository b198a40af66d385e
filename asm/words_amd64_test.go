package asm

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// spelled are the instructions of the generated files that are spelled out as bytes, by the comments above them.
func spelled(t *testing.T) map[string][]byte {
	t.Helper()
	directive := regexp.MustCompile(`^\t(LONG|WORD|BYTE) +\$0x([0-9a-f]+)$`)
	instructions := make(map[string][]byte)
	for _, name := range filesNamed(t, "_amd64.s") {
		file, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		comment, code := "", []byte(nil)
		for line := range strings.Lines(string(file) + "\n") {
			m := directive.FindStringSubmatch(strings.TrimRight(line, "\n"))
			if m == nil {
				if code != nil {
					if earlier := instructions[comment]; earlier != nil && !bytes.Equal(earlier, code) {
						t.Errorf("%s is both % x and % x", comment, earlier, code)
					}
					instructions[comment] = code
				}
				comment, code = strings.TrimPrefix(strings.TrimSpace(line), "// "), nil
				continue
			}
			v, err := strconv.ParseUint(m[2], 16, 32)
			if err != nil {
				t.Fatal(err)
			}
			word := binary.LittleEndian.AppendUint32(nil, uint32(v))
			code = append(code, word[:map[string]int{"LONG": 4, "WORD": 2, "BYTE": 1}[m[1]]]...)
		}
	}
	return instructions
}

// TestSpelled holds the bytes of instructions that Go's assembler does not know against LLVM's disassembler.
func TestSpelled(t *testing.T) {
	instructions := spelled(t)
	if len(instructions) == 0 {
		t.Fatal("no instruction is spelled out")
	}
	llvm, err := exec.LookPath("llvm-mc")
	if err != nil {
		t.Skip("no llvm-mc to hold the bytes against")
	}
	var source strings.Builder
	var comments []string
	for comment, code := range instructions {
		for _, b := range code {
			fmt.Fprintf(&source, "%#02x ", b)
		}
		source.WriteByte('\n')
		comments = append(comments, comment)
	}
	cmd := exec.Command(llvm, "-disassemble", "-triple=x86_64", "-mattr=+avxvnni,+amx-int8", "-output-asm-variant=1")
	cmd.Stdin = strings.NewReader(source.String())
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	n := 0
	for line := range strings.Lines(string(out)) {
		text := strings.Join(strings.Fields(line), " ")
		if text == "" || strings.HasPrefix(text, ".") {
			continue
		}
		if n == len(comments) {
			t.Fatalf("LLVM sees more than %d instructions: %s", n, text)
		}
		if text != comments[n] {
			t.Errorf("%q is %q for LLVM", comments[n], text)
		}
		n++
	}
	if n != len(comments) {
		t.Errorf("LLVM sees %d instructions, not %d", n, len(comments))
	}
}
