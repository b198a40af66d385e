// Command model prints tables of how many cycles the loops of the arm64 kernels take by LLVM's models of processors, when all memory
// is in the first-level cache: what a product of one block of weights costs, and what attention does to one number. Run it in the
// module, with LLVM's tools, 19 or later, in PATH:
//
//	go run ./asm/internal/panels/arm64/model
package main

import (
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// processors are the models, by LLVM's names, with the highest tier that they have.
var processors = []struct {
	name string
	tier int
}{
	{"cortex-a72", neon}, {"neoverse-n1", sdot}, {"neoverse-v1", i8mm}, {"neoverse-n2", i8mm},
}

// The tiers.
const (
	neon = iota
	sdot
	i8mm
)

// kernel is a loop to model.
type kernel struct {
	name  string
	work  int // how many times a round of the loop does what the table is of
	inner int // rounds of the loop within
	tier  int
	loop  int // which loop of the function it is, by their ends, from 1 on; 0: the last, which is the outermost
}

// products are of 32 weights of one output. Of bytes256SDOTx8 there are two: weighed quants come last.
var products = []kernel{
	{"q4_0NEONx1", 8, 1, neon, 0},
	{"q4_0NEONx2", 8 * 2, 1, neon, 0},
	{"q4_1NEONx1", 8, 1, neon, 0},
	{"q4_1NEONx2", 8 * 2, 1, neon, 0},
	{"q8_0NEONx1", 8, 1, neon, 0},
	{"q8_0NEONx2", 8 * 2, 1, neon, 0},
	{"q4_KNEONx1", 8 * 8, 4, neon, 0},
	{"q5_KNEONx1", 8 * 8, 4, neon, 0},
	{"q6_KNEONx1", 8 * 8, 2, neon, 0},
	{"q4_0SDOTx1", 8, 1, sdot, 0},
	{"q4_0SDOTx4", 8 * 4, 1, sdot, 0},
	{"q4_0SDOTx8", 4 * 8, 1, sdot, 0},
	{"q4_1SDOTx1", 8, 1, sdot, 0},
	{"q4_1SDOTx4", 8 * 4, 1, sdot, 0},
	{"q4_1SDOTx8", 4 * 8, 1, sdot, 0},
	{"q8_0SDOTx1", 8, 1, sdot, 0},
	{"q8_0SDOTx4", 8 * 4, 1, sdot, 0},
	{"q8_0SDOTx8", 4 * 8, 1, sdot, 0},
	{"q4_KSDOTx1", 8 * 8, 4, sdot, 0},
	{"q4_KSDOTx2", 8 * 2 * 8, 4, sdot, 0},
	{"q4_KSDOTx8", 4 * 8 * 8, 2, sdot, 0},
	{"q5_KSDOTx1", 8 * 8, 4, sdot, 0},
	{"q5_KSDOTx2", 8 * 2 * 8, 4, sdot, 0},
	{"q5_KSDOTx8", 4 * 8 * 8, 2, sdot, 0},
	{"q6_KSDOTx1", 8 * 8, 2, sdot, 0},
	{"q6_KSDOTx2", 8 * 2 * 8, 2, sdot, 0},
	{"q6_KSDOTx8", 4 * 8 * 8, 2, sdot, 0},
	{"q4_0I8MMx8", 8 * 8, 1, i8mm, 0},
	{"q4_1I8MMx8", 8 * 8, 1, i8mm, 0},
	{"q8_0I8MMx8", 8 * 8, 1, i8mm, 0},
	{"q4_KI8MMx8", 4 * 8 * 8, 4, i8mm, 0},
	{"q5_KI8MMx8", 4 * 8 * 8, 4, i8mm, 0},
	{"q6_KI8MMx8", 4 * 8 * 8, 2, i8mm, 0},
	{"bytes32MinimumsSDOTx8", 4 * 8, 1, sdot, 0},
	{"bytes32PowersSDOTx8", 4 * 8, 1, sdot, 0},
	{"bytes256SDOTx8", 4 * 8 * 4, 1, sdot, 2},
	{"bytes256SDOTx8", 4 * 8 * 4, 1, sdot, 1},
	{"bytes32MinimumsI8MMx8", 8 * 8, 1, i8mm, 0},
	{"bytes32PowersI8MMx8", 8 * 8, 1, i8mm, 0},
	{"weighedMinimumsI8MMx8", 4 * 8 * 8, 4, i8mm, 0},
	{"weighedI8MMx8", 4 * 8 * 8, 4, i8mm, 0},
	{"runsI8MMx8", 4 * 8 * 8, 4, i8mm, 0},
}

// attention are those of its loops that do most. Products of quantised keys and values are among products.
var attention = []kernel{
	{"panels/arm64.f32NEONx4", 4 * 4 * 16, 1, neon, 1},
	{"panels/arm64.f16NEONx4", 4 * 4 * 16, 1, neon, 1},
	{"panels/arm64.bf16NEONx4", 4 * 4 * 16, 1, neon, 1},
	{"attention.valuesF32NEONx4", 4 * 4 * 16, 1, neon, 1},
	{"attention.valuesF16NEONx4", 4 * 4 * 16, 1, neon, 1},
	{"attention.valuesBF16NEONx4", 4 * 4 * 16, 1, neon, 1},
	{"vectors.exponentialsNEON", 16, 1, neon, 1},
	{"attention.weighNEON", 4 * 32, 4, neon, 0},
}

// states are the loops of recurrent layers, for one number: one multiply-add of a convolution of four taps, one element of a state that a token
// passes, with the difference of the delta rule and without it.
var states = []kernel{
	{"vectors.convolveNEON", 8 * 4, 4, neon, 2},
	{"recurrent.recurNEON", 4 * 8, 1, neon, 2},
	{"recurrent.recurNEON", 4 * 8, 1, neon, 3},
}

// unpacking brings 32 weights of one output into bytes, for formats that are multiplied as bytes.
var unpacking = []kernel{
	{"unpackFives", 16, 1, neon, 0},
	{"unpackNonlinear", 16, 1, neon, 0},
	{"unpackQ2_K", 8, 1, neon, 1},
	{"unpackQ3_K", 8, 1, neon, 1},
	{"weighLines", 8, 1, neon, 0},
	{"weighPairs", 8, 1, neon, 0},
	{"pairLines", 8, 1, neon, 0},
}

// asm is the package with all kernels in its test program.
const asm = "github.com/antigravity-go/antigravity/asm"

func main() {
	log.SetFlags(0)
	if v := version(); v < 19 {
		log.Fatalf("llvm-mca in PATH is of LLVM %d, whose models of these processors are not good: those of 19 are", v)
	}
	dir, err := os.MkdirTemp("", "model")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	binary := filepath.Join(dir, "asm.test")
	run("", []string{"GOARCH=arm64", "CGO_ENABLED=0"}, "go", "test", "-c", "-o", binary, asm)
	table(binary, "panels/arm64.", products)
	fmt.Println()
	table(binary, "", attention)
	fmt.Println()
	table(binary, "", states)
	fmt.Println()
	table(binary, "panels/arm64.", unpacking)
}

// table prints what kernels of a program take. Their names follow the prefix.
func table(binary, prefix string, kernels []kernel) {
	fmt.Print("| kernel |")
	for _, p := range processors {
		fmt.Printf(" %s |", p.name)
	}
	fmt.Printf("\n|---|%s\n", strings.Repeat("--:|", len(processors)))
	for _, k := range kernels {
		loop := k.round(binary, prefix)
		fmt.Printf("| %s |", k.name[strings.LastIndexByte(k.name, '.')+1:])
		for _, p := range processors {
			if k.tier > p.tier {
				fmt.Print(" – |")
				continue
			}
			fmt.Printf(" %.2f |", cycles(p.name, loop)/float64(k.work))
		}
		fmt.Println()
	}
}

// version returns that of LLVM.
func version() int {
	m := regexp.MustCompile(`LLVM version (\d+)`).FindStringSubmatch(run("", nil, "llvm-mca", "--version"))
	if m == nil {
		return 0
	}
	v, _ := strconv.Atoi(m[1]) // digits
	return v
}

// run returns what a command writes.
func run(input string, environment []string, name string, args ...string) string {
	cmd := exec.Command(name, args...)
	cmd.Env = append(os.Environ(), environment...)
	cmd.Stdin = strings.NewReader(input)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		log.Fatalf("%s %v: %v", name, args, err)
	}
	return string(out)
}

var (
	instruction = regexp.MustCompile(`^\s*([0-9a-f]+):\s+(.*)$`)
	branch      = regexp.MustCompile(`^b\.\w+\s+0x([0-9a-f]+)`)
	address     = regexp.MustCompile(`0x[0-9a-f]+ <.*>`)
)

// round returns a round of the kernel's loop, as text.
func (k *kernel) round(binary, prefix string) string {
	symbol := asm + "/internal/" + prefix + k.name + ".abi0"
	listing := run("", nil, "llvm-objdump", "-d", "--mattr=+dotprod,+i8mm", "--no-show-raw-insn",
		"--disassemble-symbols="+symbol, binary)
	var code []string
	index := map[string]int{} // of each address
	from, to, loops := -1, -1, 0
	type loop struct{ first, last int }
	var within loop
	for line := range strings.Lines(listing) {
		m := instruction.FindStringSubmatch(strings.TrimSpace(line))
		if m == nil {
			continue
		}
		index[m[1]] = len(code)
		text := strings.ReplaceAll(m[2], "\t", " ")
		if b := branch.FindStringSubmatch(text); b != nil {
			if target, ok := index[b[1]]; ok && (k.loop == 0 || loops < k.loop) {
				loops++
				if from >= 0 {
					within = loop{from, to}
				}
				from, to = target, len(code)
			}
		}
		code = append(code, address.ReplaceAllString(text, "0"))
	}
	if from < 0 {
		log.Fatalf("%s has no loop", k.name)
	}
	round := code[from : to+1]
	if k.inner > 1 {
		body := code[within.first : within.last+1]
		round = append([]string{}, code[from:within.first]...)
		for range k.inner {
			round = append(round, body...)
		}
		round = append(round, code[within.last+1:to+1]...)
	}
	return strings.Join(round, "\n")
}

var total = regexp.MustCompile(`Total Cycles:\s+(\d+)`)

// cycles returns how many a round takes.
func cycles(processor, loop string) float64 {
	const rounds = 100
	out := run(loop, nil, "llvm-mca", "-mtriple=aarch64", "-mcpu="+processor, "-iterations="+strconv.Itoa(rounds))
	n, err := strconv.Atoi(total.FindStringSubmatch(out)[1])
	if err != nil {
		log.Fatal(err)
	}
	return float64(n) / rounds
}
