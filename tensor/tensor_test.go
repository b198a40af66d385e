package tensor_test

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strconv"
	"testing"
	"time"
	"unsafe"

	"github.com/antigravity-go/antigravity/quant"
	"github.com/antigravity-go/antigravity/tensor"
)

func TestDTypesAreTheFormats(t *testing.T) {
	list := tensor.DTypes()
	if want := len(quant.Formats()) + 2; len(list) != want || !slices.IsSorted(list) {
		t.Errorf("%v: there must be %d types, in order", list, want)
	}
	for _, d := range list {
		if f := d.Format(); !f.Valid() && d != tensor.U8 && d != tensor.I32 || f.Valid() && f.String() != d.String() {
			t.Errorf("%v has the format %v", d, f)
		}
		if again, err := tensor.ParseDType(d.String()); err != nil || again != d {
			t.Errorf("%v parsed as %v, %v", d, again, err)
		}
	}
	if tensor.DType(0).Valid() || tensor.DType(200).Valid() {
		t.Error("numbers that are no types are valid")
	}
	if _, err := tensor.ParseDType("iq2_xxs"); err == nil {
		t.Error("iq2_xxs was parsed")
	}
}

func TestDTypeBytes(t *testing.T) {
	for _, c := range []struct {
		d       tensor.DType
		n, want int
		ok      bool
	}{
		{tensor.F32, 3, 12, true}, {tensor.BF16, 3, 6, true}, {tensor.Q4_0, 64, 36, true}, {tensor.Q4_1, 32, 20, true},
		{tensor.Q8_0, 32, 34, true}, {tensor.Q6_K, 512, 420, true}, {tensor.Q4_0, 0, 0, true},
		{tensor.Q4_0, 33, 0, false}, {tensor.F32, -1, 0, false}, {tensor.F32, math.MaxInt, 0, false}, {0, 1, 0, false},
	} {
		if got, err := c.d.Bytes(c.n); got != c.want || (err == nil) != c.ok {
			t.Errorf("%d elements of %v: %d bytes, %v", c.n, c.d, got, err)
		}
	}
}

func TestShape(t *testing.T) {
	s := tensor.ShapeOf(2, 3, 4)
	if s.NDim() != 3 || s.Dim(0) != 2 || s.Dim(-1) != 4 || s.Dim(-3) != 2 || s.Dim(3) != 1 || s.Dim(-4) != 1 || s.NumElements() != 24 || s.Rows() != 6 {
		t.Errorf("%v answers wrongly", s)
	}
	if s != tensor.ShapeOf(2, 3, 4) || s == tensor.ShapeOf(2, 3) || s == tensor.ShapeOf(2, 3, 4, 1) {
		t.Error("shapes compare wrongly")
	}
	if s.String() != "[2 3 4]" || !slices.Equal(s.Dims(), []int{2, 3, 4}) {
		t.Errorf("%v has dimensions %v", s, s.Dims())
	}
	if (tensor.Shape{}).NumElements() != 0 || tensor.ShapeOf(0, 5).NumElements() != 0 {
		t.Error("empty shapes have elements")
	}
	for _, dims := range [][]int{{-1}, {1, 2, 3, 4, 5}, {math.MaxInt, 2}, {math.MaxInt / 2, 4}} {
		if _, err := tensor.NewShape(dims...); err == nil {
			t.Errorf("the shape %v was made", dims)
		}
	}
}

func TestGallocCounts(t *testing.T) {
	var g tensor.Galloc
	a, err := g.Alloc(1000, tensor.F32)
	if err != nil {
		t.Fatal(err)
	}
	b, err := g.Alloc(50, tensor.U8)
	if err != nil {
		t.Fatal(err)
	}
	if uintptr(unsafe.Pointer(&a.Bytes()[0]))%64 != 0 {
		t.Error("memory is not aligned to 64 bytes")
	}
	if g.Used() != 1050 {
		t.Errorf("%d bytes used, want 1050", g.Used())
	}
	for range 2 { // idempotent
		if err := a.Free(); err != nil {
			t.Error(err)
		}
	}
	if g.Used() != 50 || a.Bytes() != nil || a.Mapped() {
		t.Errorf("%d bytes used after freeing", g.Used())
	}
	runtime.KeepAlive(b)
	b = nil
	for i := 0; g.Used() != 0; i++ { // a forgotten buffer comes back too
		if i == 100 {
			t.Fatalf("%d bytes of a forgotten buffer stay used", g.Used())
		}
		runtime.GC()
		time.Sleep(time.Millisecond)
	}
	if _, err := g.Alloc(-1, tensor.F32); err == nil {
		t.Error("a negative size was allocated")
	}
	if _, err := g.Alloc(math.MaxInt/2, tensor.F32); err == nil && strconv.IntSize == 64 {
		t.Error("half of the address space was allocated")
	}
	if _, err := g.Alloc(8, 0); err == nil {
		t.Error("memory of no type was allocated")
	}
}

func TestTypedViews(t *testing.T) {
	x, err := tensor.FromFloats([]float32{1, 2, 3, 4, 5, 6}, 2, 3)
	if err != nil {
		t.Fatal(err)
	}
	if v, err := tensor.As[float32](x); err != nil || !slices.Equal(v, []float32{1, 2, 3, 4, 5, 6}) {
		t.Errorf("%v, %v", v, err)
	}
	if _, err := tensor.As[uint8](x); err == nil {
		t.Error("f32 was viewed as u8")
	}
	q, err := tensor.New(nil, tensor.Q4_0, tensor.ShapeOf(2, 64))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tensor.As[uint8](q); err == nil {
		t.Error("q4_0 was viewed as u8")
	}
	constant, err := tensor.Wrap(nil, tensor.WrapBytes(tensor.F32, make([]byte, 8), nil, true), tensor.ShapeOf(2))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tensor.Mut[float32](constant); !errors.Is(err, tensor.ErrReadOnly) {
		t.Errorf("writing to constant memory: %v", err)
	}
	if err := x.Free(); err != nil {
		t.Fatal(err)
	}
	if _, err := tensor.As[float32](x); err == nil {
		t.Error("a freed tensor was viewed")
	}
}

func TestSliceAndReshape(t *testing.T) {
	x, err := tensor.FromFloats([]float32{1, 2, 3, 4, 5, 6}, 3, 2)
	if err != nil {
		t.Fatal(err)
	}
	s, err := x.Slice(1, 3)
	if err != nil {
		t.Fatal(err)
	}
	r, err := s.Reshape(4, 1)
	if err != nil {
		t.Fatal(err)
	}
	v, err := tensor.Mut[float32](r)
	if err != nil || !slices.Equal(v, []float32{3, 4, 5, 6}) {
		t.Fatalf("%v, %v", v, err)
	}
	v[0] = 30 // the memory is shared
	if all, _ := tensor.As[float32](x); all[2] != 30 {
		t.Error("a view has memory of its own")
	}
	for _, c := range [][2]int{{-1, 2}, {2, 1}, {0, 4}} {
		if _, err := x.Slice(c[0], c[1]); err == nil {
			t.Errorf("rows %v of 3", c)
		}
	}
	if _, err := x.Reshape(5); err == nil {
		t.Error("6 elements reshaped to 5")
	}
	view := new(tensor.Tensor)
	if n := testing.AllocsPerRun(10, func() { x.SliceInto(view, 0, 1) }); n != 0 {
		t.Errorf("SliceInto allocates %v times", n)
	}
}

func TestWrapChecks(t *testing.T) {
	for _, c := range []struct {
		d     tensor.DType
		bytes int
		shape tensor.Shape
	}{
		{tensor.F32, 7, tensor.ShapeOf(2)},
		{tensor.Q4_0, 18, tensor.ShapeOf(2, 16)}, // rows are no whole blocks
	} {
		if _, err := tensor.Wrap(nil, tensor.WrapBytes(c.d, make([]byte, c.bytes), nil, false), c.shape); err == nil {
			t.Errorf("%d bytes as %v%v", c.bytes, c.d, c.shape)
		}
	}
}

func ExampleTensor() {
	x, err := tensor.FromFloats([]float32{1, 2, 3, 4, 5, 6}, 2, 3)
	if err != nil {
		panic(err)
	}
	second, err := x.Slice(1, 2)
	if err != nil {
		panic(err)
	}
	values, err := tensor.As[float32](second)
	if err != nil {
		panic(err)
	}
	fmt.Println(x, second, values)
	// Output: f32[2 3]@host f32[1 3]@host [4 5 6]
}
