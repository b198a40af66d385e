package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/ir"
	. "github.com/mmcloughlin/avo/operand" //nolint:staticcheck // the field's own notation for operands
	"github.com/mmcloughlin/avo/reg"
)

// What the generators of kernels over floats share: registers of one of two widths, constants in memory, and the loop over strips of 16
// elements, with a mask for the last. strips generates code that handles 40 elements as follows:
//
//	elements 0 to 15    body without masks
//	elements 16 to 31   the same
//	elements 32 to 39   body with masks: AVX2 has all ones for the first register and zeros for the second, AVX-512 has K = 0x00ff

// lanes is asm.Lanes: how many elements a step works on, and the virtual lanes of a sum.
const lanes = 16

// unit writes code for one width of registers. A strip of lanes elements is two registers of AVX2, or one of AVX-512.
type unit struct {
	Context
	name  string // suffix of the functions
	width int    // elements of a register
	data  map[string]Mem
}

// strip is lanes elements in registers.
type strip []reg.VecVirtual

// units returns the two units.
func units(c *build.Context) []*unit {
	data := map[string]Mem{}
	return []*unit{{c, "AVX2", 8, data}, {c, "AVX512", 16, data}}
}

// function begins a function; the name gets the unit's suffix.
func (u *unit) function(name, signature string, doc ...string) {
	u.Function(name + u.name)
	u.Attributes(attr.NOSPLIT)
	u.SignatureExpr(signature)
	u.Pragma("noescape")
	u.Doc(append([]string{name + u.name + " computes"}, doc...)...)
}

// end returns from a function.
func (u *unit) end() {
	u.VZEROUPPER()
	u.RET()
}

// integer loads a parameter that is a pointer or an int.
func (u *unit) integer(name string) reg.GPVirtual {
	r := u.GP64()
	u.Load(u.Param(name), r)
	return r
}

// everywhere loads a float32 parameter into each lane of a register.
func (u *unit) everywhere(name string) reg.VecVirtual {
	m, err := u.Param(name).Resolve()
	if err != nil {
		panic(err)
	}
	v := u.vector()
	u.VBROADCASTSS(m.Addr, v)
	return v
}

// vector returns a register.
func (u *unit) vector() reg.VecVirtual {
	if u.width == 16 {
		return u.ZMM()
	}
	return u.YMM()
}

// strip returns registers for lanes elements.
func (u *unit) strip() strip {
	s := make(strip, lanes/u.width)
	for i := range s {
		s[i] = u.vector()
	}
	return s
}

// zero returns a register of zeros.
func (u *unit) zero() reg.VecVirtual {
	v := u.vector()
	u.VXORPS(v, v, v)
	return v
}

// zeros returns a strip of zeros.
func (u *unit) zeros() strip {
	s := make(strip, lanes/u.width)
	for i := range s {
		s[i] = u.zero()
	}
	return s
}

// table returns memory with a number for each of lanes lanes. Equal names must have equal numbers.
func (u *unit) table(name string, number func(lane int) uint32) Mem {
	m, ok := u.data[name]
	if !ok {
		m = u.StaticGlobal(name)
		u.DataAttributes(attr.RODATA | attr.NOPTR)
		for i := range lanes {
			u.AppendDatum(U32(number(i)))
		}
		u.data[name] = m
	}
	return m
}

// inEveryLane begins the names of numbers of 32 bits that stand in every lane. Eight digits follow.
const inEveryLane = "every"

// bits returns memory with one number in every lane.
func (u *unit) bits(b uint32) Mem {
	return u.table(fmt.Sprintf("%s%08x", inEveryLane, b), func(int) uint32 { return b })
}

// broadcastConstant lets an instruction with registers of 64 bytes read one lane of a number that stands in every lane. Go's linker puts
// data at multiples of 32 bytes: 64 bytes of it may stand in two cache lines, as other data have it, which takes two reads. Attention took
// a tenth to a sixth longer so on a Zen 5.
func broadcastConstant(i *ir.Instruction) {
	wide, constant := false, false
	for _, o := range i.Operands {
		switch o := o.(type) {
		case reg.Register:
			wide = wide || o.Size() == 64
		case Mem:
			digits, named := strings.CutPrefix(o.Symbol.Name, inEveryLane)
			_, err := strconv.ParseUint(digits, 16, 32)
			constant = constant || named && err == nil
		}
	}
	switch {
	case !wide || !constant:
	case i.Opcode == "VMOVUPS":
		i.Opcode = "VBROADCASTSS"
	default:
		i.Suffixes = append([]string{"BCST"}, i.Suffixes...)
	}
}

// float returns memory with one number in every lane.
func (u *unit) float(v float32) Mem { return u.bits(math.Float32bits(v)) }

// numbers returns memory with the numbers of the lanes.
func (u *unit) numbers() Mem {
	return u.table("numbers", func(lane int) uint32 { return uint32(lane) })
}

// access loads and stores strips, whole ones or the first elements of one.
type access struct {
	*unit
	masks []reg.Register // one for each register, nil for whole strips
}

// masked returns the access to the first n elements of a strip.
func (u *unit) masked(n reg.GPVirtual) access {
	count := u.vector()
	x := u.XMM()
	u.VMOVD(n.As32(), x)
	u.VPBROADCASTD(x, count)
	if u.width == 16 {
		k := u.K()
		u.VPCMPD(Imm(6), u.numbers(), count, k) // n > number
		return access{u, []reg.Register{k}}
	}
	var masks []reg.Register
	for i := range lanes / u.width {
		mask := u.YMM()
		u.VPCMPGTD(u.numbers().Offset(4*u.width*i), count, mask)
		masks = append(masks, mask)
	}
	return access{u, masks}
}

// load returns the strip at p, zero if it is masked out.
func (a access) load(p reg.GPVirtual) strip { return a.at(Mem{Base: p}) }

// at returns the strip at m, zero if it is masked out.
func (a access) at(m Mem) strip {
	s := a.strip()
	for i, v := range s {
		switch m := m.Offset(4 * a.width * i); {
		case a.masks == nil:
			a.VMOVUPS(m, v)
		case a.width == 16:
			a.VMOVUPS_Z(m, a.masks[i], v)
		default:
			a.VMASKMOVPS(m, a.masks[i], v)
		}
	}
	return s
}

// store writes the strip at p.
func (a access) store(s strip, p reg.GPVirtual) { a.storeAt(s, Mem{Base: p}) }

// storeAt writes the strip at m.
func (a access) storeAt(s strip, m Mem) {
	for i, v := range s {
		switch m := m.Offset(4 * a.width * i); {
		case a.masks == nil:
			a.VMOVUPS(v, m)
		case a.width == 16:
			a.VMOVUPS(v, a.masks[i], m)
		default:
			a.VMASKMOVPS(v, a.masks[i], m)
		}
	}
}

// keep sets masked-out lanes to zero.
func (a access) keep(s strip) {
	for i := range a.masks {
		if a.width == 16 {
			a.VMOVAPS_Z(s[i], a.masks[i], s[i])
		} else {
			a.VANDPS(s[i], a.masks[i], s[i])
		}
	}
}

// strips repeats body for each strip of n elements at the pointers. The last may be masked. It uses up n and the pointers.
func (u *unit) strips(n reg.GPVirtual, pointers []reg.GPVirtual, body func(a access)) {
	u.stripsOf("", n, pointers, body)
}

// stripsOf is strips for functions that have several such loops, with names for their labels.
func (u *unit) stripsOf(name string, n reg.GPVirtual, pointers []reg.GPVirtual, body func(a access)) {
	u.Label("strips" + name)
	u.CMPQ(n, Imm(lanes))
	u.JLT(LabelRef("tail" + name))
	body(access{u, nil})
	for _, p := range pointers {
		u.ADDQ(Imm(4*lanes), p)
	}
	u.SUBQ(Imm(lanes), n)
	u.JMP(LabelRef("strips" + name))
	u.Label("tail" + name)
	u.TESTQ(n, n)
	u.JLE(LabelRef("done" + name))
	body(u.masked(n))
	u.Label("done" + name)
}

// fold reduces a strip to its first lane by op(src, dst), in halves: lane i with lane i+8, then i+4, i+2, i+1.
func (u *unit) fold(s strip, op func(src, dst reg.Register)) reg.Register {
	y := s[0].AsY()
	if u.width == 16 {
		high := u.YMM()
		u.VEXTRACTF64X4(Imm(1), s[0], high)
		op(high, y)
	} else {
		op(s[1], y)
	}
	x, other := s[0].AsX(), u.XMM()
	u.VEXTRACTF128(Imm(1), y, other)
	op(other, x)
	u.VMOVHLPS(x, x, other)
	op(other, x)
	u.VMOVSHDUP(x, other)
	op(other, x)
	return x
}
