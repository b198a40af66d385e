package openai

import (
	"cmp"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"math"
	"net/http"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/serve/internal/ask"
	"github.com/antigravity-go/antigravity/llama/serve/internal/wire"
)

// embeddingRequest is what POST /v1/embeddings reads.
type embeddingRequest struct {
	Model      string `json:"model"`
	Input      inputs `json:"input" wire:"required"`
	Encoding   string `json:"encoding_format"` // "": float
	Dimensions *int   `json:"dimensions"`      // the first ones, scaled to unit length again
	Task       string `json:"input_type"`      // what the vectors are for: "query" or "document", or another task that the model names
}

// tasks are Cohere's names of tasks, and the models'.
var tasks = map[string]string{"search_query": "query", "search_document": "document"}

// embeddingNames are the parameters by the fields that llama's errors name.
var embeddingNames = ask.FieldNames{"EmbedOptions.Dimensions": "dimensions", "EmbedOptions.Task": "input_type"}

// embeddingRules are those of the parameters that are not read.
var embeddingRules = wire.Rules{"user": wire.Ignored()}

// maxInputs is how many texts a request may have: OpenAI's bound.
const maxInputs = 2048

// inputs are texts: a string or a list of strings.
type inputs struct {
	texts []string
	list  bool
}

// ReadJSON reads either. Lists of tokens are errors that say so.
func (in *inputs) ReadJSON(at string, value json.RawMessage) error {
	if in.list = value[0] == '['; !in.list {
		in.texts = make([]string, 1)
		return wire.Decode(at, value, &in.texts[0])
	}
	if first := wire.FirstByte(value); first == '[' || first == '-' || first >= '0' && first <= '9' {
		return wire.Unsupported(at, "%s is a list of tokens, which are not supported, since those of another model mean something else: send texts (LangChain does with check_embedding_ctx_length=False)", at)
	}
	if err := wire.Decode(at, value, &in.texts); err != nil {
		return err
	}
	if n := len(in.texts); n == 0 || n > maxInputs {
		return wire.Invalid(at, "%s has %d texts; it must have 1 to %d", at, n, maxInputs)
	}
	return nil
}

// place names a text's place in the request.
func (in *inputs) place(i int) string {
	if !in.list {
		return "input"
	}
	return place("input", i)
}

// embedding is a vector, as the list of an answer has it.
type embedding struct {
	Object string `json:"object"`
	Index  int    `json:"index"`
	Vector any    `json:"embedding"` // numbers, or their bytes in base64
}

type embeddingUsage struct {
	Prompt int `json:"prompt_tokens"`
	Total  int `json:"total_tokens"`
}

// Embeddings serves POST /v1/embeddings.
func (a *API) Embeddings(w http.ResponseWriter, r *http.Request) error {
	var in embeddingRequest
	if err := a.Service.Read(w, r, embeddingRules, &in); err != nil {
		return err
	}
	encode, ok := encodings[in.Encoding]
	if !ok {
		return wire.Invalid("encoding_format", `encoding_format is %.40q; it must be "float" or "base64"`, in.Encoding)
	}
	o := llama.EmbedOptions{Task: cmp.Or(tasks[in.Task], in.Task)}
	if in.Dimensions != nil {
		if o.Dimensions = *in.Dimensions; o.Dimensions < 1 {
			return wire.Invalid("dimensions", "dimensions is %d; it must be 1 or more", o.Dimensions)
		}
	}
	m, err := a.Service.OpenAny(r.Context(), in.Model)
	if err != nil {
		return err
	}
	defer m.Close()
	vectors, tokens, err := m.Embed(r.Context(), ask.Compared{Texts: in.Input.texts, Place: in.Input.place, Names: embeddingNames}, o)
	if err != nil {
		return err
	}
	m.Close() // a client that reads slowly must not keep the model from being given back
	out := wire.NewJSONWriter(w)
	out.Raw(`{"object":"list","data":`)
	out.List(len(vectors), func(i int) { out.Value(embedding{"embedding", i, encode(vectors[i])}) })
	out.Raw(`,"model":`)
	out.Value(m.Name)
	out.Raw(`,"usage":`)
	out.Value(embeddingUsage{tokens, tokens})
	out.Raw("}")
	return out.End()
}

// encodings are the forms of a vector, by encoding_format.
var encodings = map[string]func([]float32) any{
	"": func(v []float32) any { return v }, "float": func(v []float32) any { return v }, "base64": base64Floats,
}

// base64Floats returns the numbers of a vector as float32, the lowest byte first, in base64.
func base64Floats(v []float32) any {
	bytes := make([]byte, 0, 4*len(v))
	for _, x := range v {
		bytes = binary.LittleEndian.AppendUint32(bytes, math.Float32bits(x))
	}
	return base64.StdEncoding.EncodeToString(bytes)
}
