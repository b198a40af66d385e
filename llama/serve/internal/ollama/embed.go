package ollama

import (
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/antigravity-go/antigravity/internal/precise"
	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/serve/internal/ask"
	"github.com/antigravity-go/antigravity/llama/serve/internal/wire"
)

// embedRequest is what POST /api/embed reads.
type embedRequest struct {
	Model      string    `json:"model"`
	Input      inputs    `json:"input"`
	Truncate   *bool     `json:"truncate"` // leaves out the ends of texts that do not fit the context; nil: true
	Dimensions int       `json:"dimensions"`
	KeepAlive  keepAlive `json:"keep_alive"`
	Options    options   `json:"options"` // no option changes a vector
}

// maxInputs is how many texts a request may have.
const maxInputs = 2048

// inputs are texts: a string or a list of strings.
type inputs struct {
	texts []string
	list  bool
}

// ReadJSON reads either.
func (in *inputs) ReadJSON(at string, value json.RawMessage) error {
	if in.list = value[0] == '['; in.list {
		err := wire.Decode(at, value, &in.texts)
		if n := len(in.texts); err == nil && n > maxInputs {
			err = wire.Invalid(at, "%s has %d texts; it may have %d", at, n, maxInputs)
		}
		return err
	}
	in.texts = make([]string, 1)
	if err := wire.Decode(at, value, &in.texts[0]); err != nil {
		return err
	}
	if in.texts[0] == "" { // asks for nothing
		in.texts = nil
	}
	return nil
}

// place names a text's place in the request.
func (in *inputs) place(i int) string {
	if !in.list {
		return "input"
	}
	return fmt.Sprintf("input[%d]", i)
}

// compared returns the texts for the model.
func (in *inputs) compared() ask.Compared {
	return ask.Compared{Texts: in.texts, Place: in.place, Names: ask.FieldNames{"EmbedOptions.Dimensions": "dimensions"}}
}

// Embed serves POST /api/embed. Without texts it loads the model.
func (a *API) Embed(w http.ResponseWriter, r *http.Request) error {
	var in embedRequest
	if err := a.Service.Read(w, r, nil, &in); err != nil {
		return err
	}
	began := precise.Now()
	m, err := a.lease(r.Context(), in.Model)
	if err != nil {
		return err
	}
	q := &question{asking: &asking{KeepAlive: in.KeepAlive}, model: m}
	defer a.close(q)
	loaded := precise.Since(began)
	var vectors [][]float32
	tokens := 0
	if len(in.Input.texts) > 0 {
		if in.Truncate == nil || *in.Truncate {
			if err := m.Truncate(r.Context(), in.Input.texts); err != nil {
				return err
			}
		}
		if vectors, tokens, err = m.Embed(r.Context(), in.Input.compared(), llama.EmbedOptions{Dimensions: in.Dimensions}); err != nil {
			return err
		}
	}
	a.close(q) // a client that reads slowly must not keep the model from being given back
	out := wire.NewJSONWriter(w)
	out.Raw(`{"model":`)
	out.Value(in.Model)
	out.Raw(`,"embeddings":`)
	out.List(len(vectors), func(i int) { out.Value(vectors[i]) })
	out.Raw(`,"total_duration":`)
	out.Value(precise.Since(began))
	out.Raw(`,"load_duration":`)
	out.Value(loaded)
	out.Raw(`,"prompt_eval_count":`)
	out.Int(int64(tokens))
	out.Raw("}")
	return out.End()
}

// embeddingRequest is what POST /api/embeddings reads, the interface before /api/embed.
type embeddingRequest struct {
	Model     string    `json:"model"`
	Prompt    string    `json:"prompt"`
	KeepAlive keepAlive `json:"keep_alive"`
	Options   options   `json:"options"`
}

// Embedding serves POST /api/embeddings. Without a text it loads the model.
func (a *API) Embedding(w http.ResponseWriter, r *http.Request) error {
	var in embeddingRequest
	if err := a.Service.Read(w, r, nil, &in); err != nil {
		return err
	}
	m, err := a.lease(r.Context(), in.Model)
	if err != nil {
		return err
	}
	q := &question{asking: &asking{KeepAlive: in.KeepAlive}, model: m}
	defer a.close(q)
	vector := []float32{}
	if in.Prompt != "" {
		texts := ask.Compared{Texts: []string{in.Prompt}, Place: func(int) string { return "prompt" }}
		vectors, _, err := m.Embed(r.Context(), texts, llama.EmbedOptions{})
		if err != nil {
			return err
		}
		vector = vectors[0]
	}
	return wire.Write(w, http.StatusOK, map[string][]float32{"embedding": vector})
}
