package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/examples/internal/cli"
	"github.com/antigravity-go/antigravity/tensor"
)

// everything is the -op that stands for all operations.
const everything = "all"

// testCase is one operation on operands of one shape.
type testCase struct {
	*operation
	m, n, k        int          // as operation.about explains them; 0 for a dimension that the operation does not have
	dtype          tensor.DType // of the weights, of the cache, or to convert to
	heads, kvHeads int          // of attention: of queries, and of keys and values
}

// String names the case.
func (c testCase) String() string {
	return fmt.Sprintf("%s m=%d n=%d k=%d %v", c.name, c.m, c.n, c.k, c.dtype)
}

// section is some cases under a title.
type section struct {
	title string
	cases []testCase
}

// sections returns what the command line asks for.
func (o *options) sections() ([]section, error) {
	if o.op == everything {
		if len(o.given) > 0 {
			return nil, cli.Usagef("-m, -n and -k are dimensions of one operation: choose it with -op")
		}
		list := llama1B(o.dtype)
		for _, s := range list {
			for _, c := range s.cases {
				if err := c.check(); err != nil {
					return nil, err
				}
			}
		}
		return list, nil
	}
	op := find(o.op)
	if op == nil {
		return nil, cli.Usagef("-op %q is no operation: there are %s and %s", o.op, strings.Join(operationNames(), ", "), everything)
	}
	c := testCase{op, op.m, op.n, op.k, op.types[0], o.heads, o.kvHeads}
	for name, field := range map[byte]*int{'m': &c.m, 'n': &c.n, 'k': &c.k} {
		if value, ok := o.given[name]; ok {
			if *field == 0 {
				return nil, cli.Usagef("-op %s has no -%c: it is %s", op.name, name, op.about)
			}
			if value < 1 {
				return nil, cli.Usagef("-%c %d: dimensions are at least 1", name, value)
			}
			*field = value
		}
	}
	if o.dtype != 0 {
		c.dtype = o.dtype
	}
	return []section{{cases: []testCase{c}}}, c.check()
}

// maxElements bounds each tensor, and so the memory that a command line can ask for.
const maxElements = 1 << 30

// check refuses what cannot be measured.
func (c testCase) check() error {
	if !slices.Contains(c.types, c.dtype) {
		return cli.Usagef("-op %s has no -dtype %v: it is one of %s", c.name, c.dtype, typeNames(c.types))
	}
	if block := c.dtype.BlockLen(); c.k%block != 0 {
		return cli.Usagef("-k %d: rows of %v are whole blocks of %d", c.k, c.dtype, block)
	}
	sizes := [][]int{{c.m, c.n}, {c.m, c.k}, {c.n, c.k}}
	if c.name == attentionName {
		if c.heads < 1 || c.kvHeads < 1 || c.heads%c.kvHeads != 0 {
			return cli.Usagef("-heads %d and -kv-heads %d: queries share keys evenly, so the one is a multiple of the other", c.heads, c.kvHeads)
		}
		if c.n < c.m {
			return cli.Usagef("-n %d and -m %d: the cache holds the tokens themselves, so there are at least as many slots", c.n, c.m)
		}
		sizes = [][]int{{c.m, c.heads, c.k}, {c.n, c.kvHeads, c.k}}
	}
	if c.name == recurName || c.name == scanName {
		sizes = [][]int{{c.m, c.n, c.k}, {c.n, c.k + backend.StateColumns, c.k}}
	}
	if c.name == expertsName {
		if block := c.dtype.BlockLen(); c.n%block != 0 {
			return cli.Usagef("-n %d: rows of %v are whole blocks of %d", c.n, c.dtype, block)
		}
		sizes = [][]int{{c.m * rowExperts, c.n}, {c.m * rowExperts, c.k}, {layerExperts, c.n, c.k}}
	}
	if c.name == ropeName {
		if c.k%2 != 0 {
			return cli.Usagef("-k %d: heads are rotated by pairs of elements", c.k)
		}
		sizes = [][]int{{c.m, c.n, c.k}}
	}
	for _, dims := range sizes {
		elements := int64(1)
		for _, d := range dims {
			if elements *= int64(max(d, 1)); d > maxElements || elements > maxElements {
				return cli.Usagef("%v: operands have at most %d elements", c, maxElements)
			}
		}
	}
	return nil
}

// llama1B returns the operations in the shapes of Llama 3.2 1B: 2048 wide, 8192 in the feed-forward network, 32 query and 8
// KV heads of 64, 128,256 tokens. Operations that it lacks have those of Qwen 3.5 0.8B, Qwen3-30B-A3B and gpt-oss. The linear layers are of the
// given type, Q4_0 when it is 0.
func llama1B(linear tensor.DType) []section {
	if linear == 0 {
		linear = tensor.Q4_0
	}
	const (
		hidden, wide, vocabulary = 2048, 8192, 128256
		heads, kvHeads, headDim  = 32, 8, 64
		slots, chunk             = 1024, 256
	)
	of := func(name string, m, n, k int, d tensor.DType) testCase {
		return testCase{find(name), m, n, k, d, heads, kvHeads}
	}
	activations := func(m int) []testCase {
		return []testCase{
			of(attentionName, m, slots, headDim, tensor.F16),
			of("rmsnorm", m, 0, hidden, tensor.F32),
			of(ropeName, m, heads, headDim, tensor.F32),
			of("silu", m, 0, wide, tensor.F32),
			of("add", m, 0, hidden, tensor.F32),
			of("scale", m, 0, hidden, tensor.F32),
			of("softmax", m, 0, hidden, tensor.F32),
			of("cast", m, 0, kvHeads*headDim, tensor.F16),
			of("quantize", m, 0, kvHeads*headDim, tensor.Q8_0),
			of("gather", m, vocabulary, hidden, tensor.Q6_K),
		}
	}
	linears := func(m int) []testCase {
		return []testCase{
			of("matmul", m, hidden, hidden, linear),
			of("matmul", m, wide, hidden, linear),
			of("matmul", m, hidden, wide, linear),
		}
	}
	gated := func(m int) []testCase {
		const stateHeads, keyDim, taps = 16, 128, 4
		return []testCase{
			of("convolve", m, taps, 3*stateHeads*keyDim, tensor.F32),
			of(recurName, m, stateHeads, keyDim, tensor.F32),
			of(scanName, m, stateHeads, keyDim, tensor.F32),
			of("multiply", m, 0, stateHeads, tensor.F32),
			of("sigmoid", m, 0, stateHeads*keyDim, tensor.F32),
			of("softplus", m, 0, stateHeads, tensor.F32),
		}
	}
	const expert, wideMXFP4 = 768, 2880
	sessions := func(name string, n, k int, d tensor.DType) []testCase {
		return []testCase{of(name, 1, n, k, d), of(name, 4, n, k, d), of(name, 16, n, k, d)}
	}
	head := of("matmul", 1, vocabulary, hidden, tensor.Q6_K)
	return []section{
		{"One token, as while generating", slices.Concat(linears(1), []testCase{head}, activations(1))},
		{fmt.Sprintf("%d tokens, as while reading a prompt", chunk), slices.Concat(linears(chunk), activations(chunk))},
		{"One token of a recurrent layer of Qwen 3.5 0.8B", gated(1)},
		{fmt.Sprintf("%d tokens of such a layer", chunk), gated(chunk)},
		{"1, 4 and 16 tokens with the experts of a layer of Qwen3-30B-A3B", sessions(expertsName, expert, hidden, linear)},
		{"The same in MXFP4, and a matrix as wide as those of gpt-oss", slices.Concat(
			sessions(expertsName, expert, hidden, tensor.MXFP4), sessions("matmul", wideMXFP4, wideMXFP4, tensor.MXFP4))},
		{"Weights, as while loading", []testCase{of("quantize", hidden, 0, wide, tensor.Q4_0), of("quantize", hidden, 0, wide, tensor.Q8_0)}},
	}
}
