package llama

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unsafe"

	"github.com/antigravity-go/antigravity/backend/cpu"
	"github.com/antigravity-go/antigravity/tensor"
)

// weightSource is where a model's tensors come from: a safetensors file or its shards, or a GGUF file. Names and layout are
// those of Hugging Face's Llama, whatever the file's own: projections are [out, in], heads of q and k are laid out for
// rotation of halves.
type weightSource interface {
	// has tells whether the tensor exists.
	has(name string) bool
	// find returns an existing tensor as the file has it, without reading its data.
	find(name string) (storedTensor, error)
	// tensor returns an existing tensor in our layout, a view of the file where that is possible. Its shape must have been
	// checked.
	tensor(name string) (*tensor.Tensor, error)
	// done tells that a tensor of a name has been copied, so that the file's pages need not stay in memory.
	done(name string, t *tensor.Tensor)
	// file names the source for messages.
	file() string
}

// storedTensor is a tensor as a file has it. Its type is one with a Format and its data are as long as type and shape say.
type storedTensor struct {
	dtype tensor.DType
	shape tensor.Shape
	data  []byte
	owner io.Closer // of data
}

// newStoredTensor is the one way from a file's tensor to ours: it refuses types that cannot be computed with, and shapes that
// do not fit the data. The type's name is the file's.
func newStoredTensor(d tensor.DType, typeName string, dims []int, data []byte, owner io.Closer) (storedTensor, error) {
	if !d.Format().Valid() {
		return storedTensor{}, fmt.Errorf("its type is %.20q: %w; weights can be %s", typeName, ErrUnsupported, weightTypes())
	}
	shape, err := tensor.NewShape(dims...)
	if err != nil {
		return storedTensor{}, err
	}
	if _, err := tensor.Wrap(nil, tensor.WrapBytes(d, data, owner, true), shape); err != nil {
		return storedTensor{}, err
	}
	return storedTensor{d, shape, data, owner}, nil
}

// weightTypes lists the types that weights can have.
func weightTypes() string {
	var names []string
	for _, d := range tensor.DTypes() {
		if d.Format().Valid() {
			names = append(names, d.String())
		}
	}
	return strings.Join(names, ", ")
}

// host returns a tensor of the file's bytes: a view where they are aligned for their type, else a copy.
func (s storedTensor) host(memory tensor.Memory) (*tensor.Tensor, error) {
	if len(s.data) == 0 || uintptr(unsafe.Pointer(&s.data[0]))%alignment(s.dtype) == 0 {
		return tensor.Wrap(nil, tensor.WrapBytes(s.dtype, s.data, s.owner, true), s.shape)
	}
	buffer, err := memory.Alloc(len(s.data), s.dtype)
	if err != nil {
		return nil, err
	}
	copy(buffer.Bytes(), s.data)
	return tensor.Wrap(nil, buffer, s.shape)
}

// floats returns the elements as numbers, which are few.
func (s storedTensor) floats() ([]float32, error) {
	values := make([]float32, s.shape.NumElements())
	return values, s.dtype.Format().Dequantize(values, s.data)
}

// alignment returns what typed views of a type need, in bytes: blocks begin with a 16-bit scale.
func alignment(d tensor.DType) uintptr {
	if d.Quantized() {
		return 2
	}
	return uintptr(d.BlockBytes())
}

// weightSpec says what one tensor is: its name in the source, the shape it must have, and what becomes of it.
type weightSpec struct {
	name  string
	shape tensor.Shape
	role  weightRole
	set   func(*tensor.Tensor)
}

// weightRole says how a tensor is used.
type weightRole uint8

const (
	linear    weightRole = iota // multiplied; LoadOptions.Weights applies
	head                        // the output head, or the embedding that serves as one too
	embedding                   // looked up only
	vector                      // norm weights and biases: F32
)

// specs lists every tensor of a model, in the order of computation.
func (m *Model) specs() []weightSpec {
	c := &m.config
	q, kv := c.Heads*c.HeadDim, c.KVHeads*c.HeadDim
	var list []weightSpec
	add := func(name string, role weightRole, set func(*tensor.Tensor), dims ...int) {
		list = append(list, weightSpec{name: name, shape: tensor.ShapeOf(dims...), role: role, set: set})
	}
	into := func(p **tensor.Tensor) func(*tensor.Tensor) { return func(t *tensor.Tensor) { *p = t } }

	embeddingRole := embedding
	if c.TiedEmbeddings {
		embeddingRole = head
	}
	add("model.embed_tokens.weight", embeddingRole, into(&m.embedding), c.VocabSize, c.HiddenSize)
	for i := range m.layers {
		l, prefix := &m.layers[i], "model.layers."+strconv.Itoa(i)+"."
		project := func(name string, p *projection, biased bool, out, in int) {
			add(prefix+name+".weight", linear, into(&p.weight), out, in)
			if biased {
				add(prefix+name+".bias", vector, into(&p.bias), out)
			}
		}
		add(prefix+"input_layernorm.weight", vector, into(&l.attentionNorm), c.HiddenSize)
		project("self_attn.q_proj", &l.q, c.AttentionBias, q, c.HiddenSize)
		project("self_attn.k_proj", &l.k, c.AttentionBias, kv, c.HiddenSize)
		project("self_attn.v_proj", &l.v, c.AttentionBias, kv, c.HiddenSize)
		project("self_attn.o_proj", &l.o, c.AttentionBias, c.HiddenSize, q)
		add(prefix+"post_attention_layernorm.weight", vector, into(&l.mlpNorm), c.HiddenSize)
		project("mlp.gate_proj", &l.gate, c.MLPBias, c.IntermediateSize, c.HiddenSize)
		project("mlp.up_proj", &l.up, c.MLPBias, c.IntermediateSize, c.HiddenSize)
		project("mlp.down_proj", &l.down, c.MLPBias, c.HiddenSize, c.IntermediateSize)
	}
	add("model.norm.weight", vector, into(&m.norm), c.HiddenSize)
	if !c.TiedEmbeddings {
		add("lm_head.weight", head, into(&m.head), c.VocabSize, c.HiddenSize)
	}
	return list
}

// targetType returns the type in which a tensor of a role is kept when the caller asks for quantised linear layers. The
// head decides between neighbouring tokens and gets eight bits, as the usual four-bit files give it six.
func targetType(role weightRole, stored, asked tensor.DType) tensor.DType {
	switch {
	case role == vector:
		return tensor.F32
	case asked == 0 || role == embedding:
		return stored
	case role == head && asked.Quantized():
		return tensor.Q8_0
	default:
		return asked
	}
}

// convertAtOnce is how many elements are converted between two looks at the context.
const convertAtOnce = 4 << 20

// convert returns t in another type: itself where it has that type already, else a copy in memory of our own.
func convert(ctx context.Context, t *tensor.Tensor, d tensor.DType, host *cpu.Backend) (*tensor.Tensor, error) {
	if t.DType() == d {
		return t, nil
	}
	if cols := t.Shape().Dim(-1); cols%d.BlockLen() != 0 {
		return nil, fmt.Errorf("convert %v to %v: rows of %d are no whole blocks of %d", t, d, cols, d.BlockLen())
	}
	result, err := tensor.New(host, d, t.Shape())
	if err != nil {
		return nil, err
	}
	if err := castRows(ctx, t, result, host); err != nil {
		result.Free()
		return nil, fmt.Errorf("convert: %w", err)
	}
	return result, nil
}

// castRows converts some rows after the other. A tensor with one dimension is one row.
func castRows(ctx context.Context, t, result *tensor.Tensor, host *cpu.Backend) error {
	if t.Shape().NDim() == 1 {
		return host.Cast(t, result)
	}
	rows := t.Shape().Dim(0)
	step := max(convertAtOnce/max(t.Shape().NumElements()/max(rows, 1), 1), 1)
	for lo := 0; lo < rows; lo += step {
		if err := ctx.Err(); err != nil {
			return err
		}
		from, err := t.Slice(lo, min(lo+step, rows))
		if err != nil {
			return err
		}
		to, err := result.Slice(lo, min(lo+step, rows))
		if err != nil {
			return err
		}
		if err := host.Cast(from, to); err != nil {
			return err
		}
	}
	return nil
}
