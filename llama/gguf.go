package llama

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unsafe"

	"github.com/antigravity-go/antigravity/internal/bpe"
	"github.com/antigravity-go/antigravity/internal/gguf"
	"github.com/antigravity-go/antigravity/tensor"
)

// ggufModel is a GGUF file of the llama architecture.
type ggufModel struct {
	*gguf.File
	path   string
	closer io.Closer
	memory tensor.Memory
	heads  int // rows of q are permuted by heads
	kv     int // rows of k, by key heads
}

// openGGUF opens a file.
func openGGUF(f files, name string, memory tensor.Memory) (*ggufModel, error) {
	data, closer, err := f.weights(name)
	if err != nil {
		return nil, fmt.Errorf("open the weights: %w", err)
	}
	parsed, err := gguf.Parse(data)
	if err != nil {
		closer.Close()
		return nil, formatError(f.path(name), err)
	}
	return &ggufModel{File: parsed, path: f.path(name), closer: closer, memory: memory}, nil
}

func (g *ggufModel) file() string { return g.path }

func (g *ggufModel) done(_ string, t *tensor.Tensor) { release(g.closer, t.Data()) }

// Close closes the file.
func (g *ggufModel) Close() error { return g.closer.Close() }

// ggufNames maps the end of Hugging Face's names to GGUF's; blk.N. stands for model.layers.N.
var ggufNames = []struct{ huggingFace, gguf string }{
	{"model.embed_tokens.", "token_embd."},
	{"model.norm.", "output_norm."},
	{"lm_head.", "output."},
	{"input_layernorm.", "attn_norm."},
	{"post_attention_layernorm.", "ffn_norm."},
	{"self_attn.q_proj.", "attn_q."},
	{"self_attn.k_proj.", "attn_k."},
	{"self_attn.v_proj.", "attn_v."},
	{"self_attn.o_proj.", "attn_output."},
	{"mlp.gate_proj.", "ffn_gate."},
	{"mlp.up_proj.", "ffn_up."},
	{"mlp.down_proj.", "ffn_down."},
}

// ggufName translates a tensor's name.
func ggufName(name string) string {
	name = strings.Replace(name, "model.layers.", "blk.", 1)
	for _, n := range ggufNames {
		if strings.Contains(name, n.huggingFace) {
			return strings.Replace(name, n.huggingFace, n.gguf, 1)
		}
	}
	return name
}

func (g *ggufModel) has(name string) bool {
	_, ok := g.Tensor(ggufName(name))
	return ok
}

func (g *ggufModel) find(name string) (storedTensor, error) {
	stored, _ := g.Tensor(ggufName(name))
	t, err := newStoredTensor(stored.DType, stored.Type.String(), stored.Shape, stored.Data, g.closer)
	return t, tensorError(g.path, stored.Name, stored.Offset, err)
}

func (g *ggufModel) tensor(name string) (*tensor.Tensor, error) {
	stored, err := g.find(name)
	switch {
	case err != nil:
		return nil, err
	case strings.Contains(name, "self_attn.q_proj."):
		return g.unpermute(stored, g.heads)
	case strings.Contains(name, "self_attn.k_proj."):
		return g.unpermute(stored, g.kv)
	}
	return stored.host(g.memory)
}

// unpermute undoes the reordering that llama.cpp's converter gives to the rows of q and k, and to the elements of their
// biases. Its RoPE rotates neighbouring pairs of a head's elements, so row i of the first half of a head and row i of the
// second half are stored as rows 2i and 2i+1; ours rotates halves.
func (g *ggufModel) unpermute(t storedTensor, heads int) (*tensor.Tensor, error) {
	if t.shape.NDim() == 1 && t.dtype.Quantized() { // the elements that change places share blocks
		values, err := t.floats()
		if err != nil {
			return nil, err
		}
		t.dtype, t.data = tensor.F32, unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(values))), 4*len(values))
	}
	rows := t.shape.Dim(0)
	if heads < 1 || rows == 0 || rows%(2*heads) != 0 {
		return nil, &FormatError{File: g.path, Offset: -1, Err: fmt.Errorf("a tensor has %d rows, which are no %d heads of an even size", rows, heads)}
	}
	rowBytes, err := t.dtype.Bytes(t.shape.NumElements() / rows)
	if err != nil {
		return nil, err
	}
	buffer, err := g.memory.Alloc(len(t.data), t.dtype)
	if err != nil {
		return nil, err
	}
	dst, half := buffer.Bytes(), rows/heads/2
	for row := range rows {
		head, in := row/(2*half), row%(2*half)
		from := head*2*half + in%half*2 + in/half
		copy(dst[row*rowBytes:(row+1)*rowBytes], t.data[from*rowBytes:])
	}
	release(g.closer, t.data)
	return tensor.Wrap(nil, buffer, t.shape)
}

// config reads the metadata.
func (g *ggufModel) config() (*Config, error) {
	c, err := g.readConfig()
	if err == nil {
		err = c.validate()
	}
	if errors.Is(err, ErrUnsupported) {
		return nil, err
	}
	if err != nil {
		return nil, &FormatError{File: g.path, Offset: -1, Err: err}
	}
	g.heads, g.kv = c.Heads, c.KVHeads
	return c, nil
}

func (g *ggufModel) readConfig() (*Config, error) {
	if arch, _ := g.String("general.architecture"); arch != "llama" {
		return nil, fmt.Errorf("general.architecture is %.100q; this package runs the llama architecture: %w", arch, ErrUnsupported)
	}
	if experts, _ := g.Uint("llama.expert_count"); experts > 0 {
		return nil, fmt.Errorf("a mixture of %d experts: %w", experts, ErrUnsupported)
	}
	number := func(key string, otherwise int) int {
		if v, ok := g.Uint("llama." + key); ok {
			return int(min(v, maxContext+1)) // validate refuses it
		}
		return otherwise
	}
	c := &Config{
		HiddenSize: number("embedding_length", 0), IntermediateSize: number("feed_forward_length", 0),
		Layers: number("block_count", 0), Heads: number("attention.head_count", 0),
		ContextLength: number("context_length", 0), RMSNormEps: 1e-5, RoPE: RoPE{Theta: 10000},
		TiedEmbeddings: !g.has("lm_head.weight"),
		AttentionBias:  g.has("model.layers.0.self_attn.q_proj.bias"), MLPBias: g.has("model.layers.0.mlp.gate_proj.bias"),
	}
	c.KVHeads = number("attention.head_count_kv", c.Heads)
	if c.Heads > 0 {
		c.HeadDim = number("attention.key_length", c.HiddenSize/c.Heads)
	}
	if rotated := number("rope.dimension_count", c.HeadDim); rotated != c.HeadDim {
		return nil, fmt.Errorf("RoPE over %d of %d elements of a head: %w", rotated, c.HeadDim, ErrUnsupported)
	}
	if table, ok := g.Tensor(ggufName("model.embed_tokens.weight")); ok && len(table.Shape) == 2 {
		c.VocabSize = table.Shape[0]
	}
	if v, ok := g.Float("llama.attention.layer_norm_rms_epsilon"); ok {
		c.RMSNormEps = float32(v)
	}
	if v, ok := g.Float("llama.rope.freq_base"); ok {
		c.RoPE.Theta = v
	}
	c.BOS, c.EOS = g.endTokens()
	return c, g.scaling(&c.RoPE)
}

// scaling reads how RoPE was stretched: by a factor, or by divisors for each frequency, which is llama3's way.
func (g *ggufModel) scaling(r *RoPE) error {
	if kind, ok := g.String("llama.rope.scaling.type"); ok && kind != "none" {
		r.Scaling = kind
		r.Factor, _ = g.Float("llama.rope.scaling.factor")
	}
	const name = "rope_freqs.weight"
	if !g.has(name) {
		return nil
	}
	divisors, err := g.find(name)
	if err != nil {
		return err
	}
	if n := divisors.shape.NumElements(); n > maxHeadDim/2 {
		return fmt.Errorf("%s has %d elements: there is one for each pair of a head's elements", name, n)
	}
	r.Divisors, err = divisors.floats()
	return err
}

// endTexts are the texts of tokens that end a turn or a text, in the chat formats of the Llama family: files name only one.
var endTexts = []string{"<|eot_id|>", "<|eom_id|>", "<|end_of_text|>", "<|im_end|>", "<|endoftext|>", "</s>"}

// endTokens returns the begin token and all that end a turn.
func (g *ggufModel) endTokens() (bos Token, eos []Token) {
	bos = -1
	if v, ok := g.Uint("tokenizer.ggml.bos_token_id"); ok && v < maxVocab {
		bos = Token(v)
	}
	for _, key := range []string{"eos", "eot", "eom"} {
		if v, ok := g.Uint("tokenizer.ggml." + key + "_token_id"); ok && v < maxVocab {
			eos = append(eos, Token(v))
		}
	}
	types := g.Int32s("tokenizer.ggml.token_type")
	for id, text := range g.Strings("tokenizer.ggml.tokens") {
		if id < len(types) && types[id] == controlToken && slices.Contains(endTexts, text) {
			eos = append(eos, Token(id))
		}
	}
	return bos, distinct(eos)
}

// controlToken is the number by which tokenizer.ggml.token_type marks a control token.
const controlToken = 3

// checkVocabulary refuses more tokens than the embedding table has rows, before they are read: a vocabulary takes many times the
// memory of its few bytes in the file. A file of nothing but a vocabulary has no table.
func (g *ggufModel) checkVocabulary() error {
	tokens, _ := g.Value("tokenizer.ggml.tokens")
	n, _ := tokens.Len()
	table, ok := g.Tensor(ggufName("model.embed_tokens.weight"))
	if ok && len(table.Shape) == 2 && n > table.Shape[0] {
		return &FormatError{File: g.path, Offset: -1, Err: fmt.Errorf("the tokenizer has %d entries, the embedding table only %d", n, table.Shape[0])}
	}
	return nil
}

// tokenizer reads the embedded vocabulary and chat template; a file without a vocabulary has no tokenizer.
func (g *ggufModel) tokenizer() (*Tokenizer, error) {
	if err := g.checkVocabulary(); err != nil {
		return nil, err
	}
	v := bpe.Vocab{
		Tokens: g.Strings("tokenizer.ggml.tokens"), Scores: g.Float32s("tokenizer.ggml.scores"),
		Types: g.Int32s("tokenizer.ggml.token_type"), Merges: g.Strings("tokenizer.ggml.merges"),
	}
	if v.Tokens == nil {
		return nil, nil
	}
	v.Model, _ = g.String("tokenizer.ggml.model")
	v.Pre, _ = g.String("tokenizer.ggml.pre")
	id := func(name string) int32 {
		n, ok := g.Uint("tokenizer.ggml." + name + "_token_id")
		if !ok || n >= maxVocab {
			return -1
		}
		return int32(n)
	}
	v.BOS, v.EOS, v.Unknown = id("bos"), id("eos"), id("unknown")
	truth := func(name string, otherwise bool) bool {
		if b, ok := g.Bool("tokenizer.ggml." + name); ok {
			return b
		}
		return otherwise
	}
	sentencePiece := v.Model == "llama"
	v.AddBOS = truth("add_bos_token", sentencePiece || v.Pre == "llama-bpe")
	v.AddSpacePrefix = truth("add_space_prefix", sentencePiece)
	b, err := bpe.FromVocab(v)
	if errors.Is(err, bpe.ErrUnsupported) {
		return nil, fmt.Errorf("%w: %w", ErrUnsupported, err)
	}
	if err != nil {
		return nil, &FormatError{File: g.path, Offset: -1, Err: err}
	}
	t := &Tokenizer{vocabulary: b}
	template, _ := g.String("tokenizer.chat_template")
	text := func(id int32) string {
		if id < 0 {
			return ""
		}
		return b.Text(id)
	}
	if err := t.setTemplate(template, text(v.BOS), text(v.EOS)); err != nil {
		return nil, err
	}
	return t, nil
}
