package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// A table is written from the names of the functions that were generated, so that it lists them all and no others. A name ends with its
// unit, and a tile's name with the number of tokens. The functions addAVX2, mulAVX2 and q4_0AVX512x12 become, in the tables of vectors and
// of panels:
//
//	var AVX2 = Unit{
//		add: addAVX2,
//		mul: mulAVX2,
//	}
//
//	tiles: []panels.BlockTile{
//		{Tokens: 12, Run: q4_0AVX512x12},

// vectorUnits are the units of the kernels over vectors, by the suffix of their functions.
var vectorUnits = []struct {
	name         string
	width        int // elements of a register
	instructions string
}{
	{"AVX2", 8, "AVX2, FMA and F16C"},
	{"AVX512", 16, "AVX-512 F, BW, VL and DQ"},
}

// of returns the functions of a unit, without its name at their ends.
func of(functions []string, unit string) (stems []string) {
	for _, f := range functions {
		if stem, ok := strings.CutSuffix(f, unit); ok {
			stems = append(stems, stem)
		}
	}
	return stems
}

// vectorsTable is the table of package vectors: a unit's fields have the names of the functions.
func vectorsTable(functions []string) string {
	var b strings.Builder
	for _, u := range vectorUnits {
		fmt.Fprintf(&b, "// %s is the unit of %s.\nvar %s = Unit{\n", u.name, u.instructions, u.name)
		for _, stem := range of(functions, u.name) {
			fmt.Fprintf(&b, "\t%s: %s%s,\n", stem, stem, u.name)
		}
		b.WriteString("}\n\n")
	}
	return b.String()
}

// recurrentTable is the table of package recurrent.
func recurrentTable([]string) string {
	var b strings.Builder
	for _, u := range vectorUnits {
		fmt.Fprintf(&b, "// %s is the unit of %s.\nvar %s = Unit{recur%s, %d}\n\n", u.name, u.instructions, u.name, u.name, u.width)
	}
	return b.String()
}

// storage are the formats that keys, values and rows of numbers are stored in, by the names in the functions.
var storage = []struct {
	name   string
	blocks bool
}{
	{"F32", false}, {"F16", false}, {"BF16", false}, {"Q8_0", true}, {"Q4_0", true}, {"Q4_1", true},
}

// has returns the function of a name, if there is one, or nil in Go's terms.
func has(functions []string, name string) string {
	for _, f := range functions {
		if f == name {
			return f
		}
	}
	return "nil"
}

// convertTable is the table of package convert.
func convertTable(functions []string) string {
	var b strings.Builder
	b.WriteString("import \"github.com/antigravity-go/antigravity/quant\"\n\n")
	for _, u := range vectorUnits {
		fmt.Fprintf(&b, "// %s is the unit of %s.\nvar %s = Unit{\n", u.name, u.instructions, u.name)
		for _, f := range storage {
			quantize, dequantize := has(functions, "quantize"+f.name+u.name), has(functions, "dequantize"+f.name+u.name)
			if dequantize == "nil" {
				continue
			}
			step := lanes
			if f.blocks {
				step = 32
			}
			fmt.Fprintf(&b, "\t{quant.%s, %d, %s, %s},\n", f.name, step, quantize, dequantize)
		}
		b.WriteString("}\n\n")
	}
	return b.String()
}

// attentionTable is the table of package attention.
func attentionTable(functions []string) string {
	var b strings.Builder
	b.WriteString(`import (
	"github.com/antigravity-go/antigravity/asm/internal/convert"
	"github.com/antigravity-go/antigravity/asm/internal/vectors"
	"github.com/antigravity-go/antigravity/quant"
)

`)
	for _, u := range vectorUnits {
		fmt.Fprintf(&b, "// %s is the unit of %s.\nvar %s = Unit{\n", u.name, u.instructions, u.name)
		fmt.Fprintf(&b, "\tvectors: &vectors.%s,\n\tconvert: convert.%s,\n", u.name, u.name)
		fmt.Fprintf(&b, "\tkernels: kernels{\n\t\tweights: weights%s,\n\t\tmerge: merge%s,\n\t\tfloats: []floatKernels{\n", u.name, u.name)
		var rows []string
		for _, n := range (&unit{width: u.width}).blocks() {
			rows = append(rows, fmt.Sprint(n.rows))
		}
		for _, f := range storage {
			if product := has(functions, "product"+f.name+u.name); product != "nil" {
				fmt.Fprintf(&b, "\t\t\t{quant.%s, %s, []int{%s}},\n", f.name, product, strings.Join(rows, ", "))
			}
		}
		fmt.Fprintf(&b, "\t\t},\n\t},\n\tintegerKernels: integers%s,\n}\n\n", u.name)
	}
	return b.String()
}

// transposeTable has the functions that pack weights, by the bytes of their units, and those that quantise them, by their formats.
func transposeTable(functions []string) string {
	var b strings.Builder
	for _, choice := range []struct{ doc, name, stem, parameters, arguments string }{
		{"is transposition.portable for fields of whole chunks of each row", "transpose", "transpose", "dst, src *byte, rowBytes, blocks, srcStep, dstStep, chunks int", "dst, src, rowBytes, blocks, srcStep, dstStep, chunks"},
		{"is transposition.portable for fields of one unit", "column", "column", "dst, src *byte, rowBytes, blocks, srcStep, dstStep int", "dst, src, rowBytes, blocks, srcStep, dstStep"},
	} {
		fmt.Fprintf(&b, "// %s %s, by the bytes of a unit. It is no table of functions, since what these are given would then be memory of the heap.\n", choice.name, choice.doc)
		fmt.Fprintf(&b, "func %s(unit int, %s) {\n\tswitch unit {\n", choice.name, choice.parameters)
		for _, unit := range []string{"1", "2", "4"} {
			if f := has(functions, choice.stem+unit+"AVX2"); f != "nil" {
				fmt.Fprintf(&b, "\tcase %s:\n\t\t%s(%s)\n", unit, f, choice.arguments)
			}
		}
		b.WriteString("\t}\n}\n\n")
	}
	b.WriteString("// quantizers quantise panels of floats.\nvar quantizers = []quantizer{\n")
	for _, to := range []string{"Q4_0", "Q8_0"} {
		for _, from := range panelFloats {
			fmt.Fprintf(&b, "\t{Layout%s, Layout%s, %s},\n", to, from.name, has(functions, "quantize"+to+"From"+from.name+"AVX2"))
		}
	}
	b.WriteString("}\n\n")
	return b.String()
}

// integersTable is the table of the kernels of package attention that multiply bytes.
func integersTable(functions []string) string {
	var b strings.Builder
	for _, u := range append(integerUnits, unitAMX) {
		fmt.Fprintf(&b, "// integers%s are the kernels of %s.\nvar integers%s = integerKernels{\n", u.name, u.name, u.name)
		for _, stem := range of(functions, u.name) {
			fmt.Fprintf(&b, "\t%s: %s%s,\n", stem, stem, u.name)
		}
		b.WriteString("}\n\n")
	}
	return b.String()
}

// importPanels is what the tables of panels import.
const importPanels = "import \"github.com/antigravity-go/antigravity/asm/internal/panels\"\n\n"

// panelsTable returns the table of the tiles of a unit, written from functions FORMATUNITxTOKENS, with x4 at the end if a function takes
// several panels. FORMATManyUNIT and FORMATFewUNIT may stand before them.
func panelsTable(u panelUnit) func(functions []string) string {
	name := regexp.MustCompile(`^(\w+?)` + u.name + `x(\d+)(x\d+)?$`)
	return func(functions []string) string {
		g := &tile{panelUnit: u}
		var blocks, floats, tiles []string
		for _, f := range functions {
			if strings.HasSuffix(f, "Many"+u.name) || strings.HasSuffix(f, "Few"+u.name) {
				continue // it stands in its format's row
			}
			m := name.FindStringSubmatch(f)
			if m == nil {
				panic("asmgen: " + f + " is not the name of a tile")
			}
			if m[3] == "" {
				tiles = append(tiles, fmt.Sprintf("{Tokens: %s, Run: %s}", m[2], f))
				continue
			}
			// The function of several panels is the last of its format.
			layout, all := "panels.Layout"+strings.ToUpper(m[1]), "\n"+strings.Join(tiles, ",\n")+",\n"
			if !slices.ContainsFunc(formatsFloat, func(f formatFloat) bool { return f.name == m[1] }) {
				rows := g.rows()
				if both256(u) && slices.ContainsFunc(formatsBytes256(), func(f formatBytes256) bool { return f.name == m[1] }) {
					rows = 16
				}
				blocks = append(blocks, fmt.Sprintf("{\nlayout: %s, rows: %d, single: %s%s,\ntiles: []panels.BlockTile{%s},\n},\n", layout, rows, f, chunksOf(u, m[1], functions), all))
			} else {
				floats = append(floats, fmt.Sprintf("{\nLayout: %s, Single: %s,\nTiles: []panels.FloatTile{%s},\n},\n", layout, f, all))
			}
			tiles = nil
		}
		if tiles != nil {
			panic("asmgen: tiles without a function of several panels")
		}
		var b strings.Builder
		fmt.Fprintf(&b, "%s// unit%s are the tiles of %s.\nvar unit%s = unit{\n", importPanels, u.name, u.name, u.name)
		fmt.Fprintf(&b, "\tblocks: []blockFormat{\n%s\t},\n", strings.Join(blocks, ""))
		if floats != nil {
			fmt.Fprintf(&b, "\tfloats: []panels.FloatTiles{\n%s\t},\n", strings.Join(floats, ""))
		}
		return b.String() + "}\n\n"
	}
}

// chunksOf returns the fields of a format's kernels for several tokens, if it has such.
func chunksOf(u panelUnit, format string, functions []string) string {
	few, many := has(functions, format+"Few"+u.name), has(functions, format+"Many"+u.name)
	if many != "nil" && u.wide {
		blocks, leastBlocks := blocksPairs256, 1
		if slices.ContainsFunc(formats32(u), func(f format32) bool { return f.name == format }) {
			blocks, leastBlocks = blocksPairs32, leastBlocksPairs32
		}
		return fmt.Sprintf(", several: &chunks{many: %s, blocks: %d, leastTokens: %d, leastBlocks: %d}", many, blocks, leastTokensPairs, leastBlocks)
	}
	for _, f := range formats32(u) {
		if f.name == format && many != "nil" {
			return fmt.Sprintf(", several: &chunks{few: %s, many: %s, room: %d}", few, many, newTileMany(nil, u, f, patterns32{}).panelBlocks())
		}
	}
	return ""
}

// panelsTableNear is the table of the tiles for a single token that ask the first-level cache, by their formats.
func panelsTableNear(functions []string) string {
	var blocks, floats strings.Builder
	for _, f := range functions {
		format, _, _ := strings.Cut(f, unitNear.name)
		list := &blocks
		if slices.ContainsFunc(formatsFloat, func(f formatFloat) bool { return f.name == format }) {
			list = &floats
		}
		fmt.Fprintf(list, "\tpanels.Layout%s: %s,\n", strings.ToUpper(format), f)
	}
	return importPanels + "// singlesNear and floatsNear are the kernels for single rows of activations that ask the first-level cache.\nvar (\n" +
		"singlesNear = map[*panels.Layout]singleKernel{\n" + blocks.String() + "}\n" +
		"floatsNear = map[*panels.Layout]panels.FloatKernel{\n" + floats.String() + "}\n)\n\n"
}

// How many tiles a call of AMX computes at most: a few tens of microseconds.
const (
	tilesOfCallAMX    = 16
	tilesOfCallAMX256 = 32
)

// panelsTableAMX is the table of the tiles of AMX.
func panelsTableAMX(functions []string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s// tilesAMX are the tiles of AMX.\nvar tilesAMX = []amxFormat{\n", importPanels)
	for _, format := range of(functions, unitAMX.name) {
		if strings.HasSuffix(format, "Few") {
			continue // it stands in its format's row
		}
		tokens, blocks, tiles := tokensAMX, blocksAMX, tilesOfCallAMX
		for _, f := range formatsBytes256() {
			if f.name == format {
				tokens, blocks, tiles = tokensAMX256, f.blocks(), tilesOfCallAMX256
			}
		}
		few := has(functions, format+"Few"+unitAMX.name)
		fmt.Fprintf(&b, "\t{panels.Layout%s, %d, %d, %d, %sAMX, %s},\n", strings.ToUpper(format), tokens, blocks, tiles, format, few)
	}
	return b.String() + "}\n\n"
}
