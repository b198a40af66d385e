package tokens

import (
	"context"
	"net/http"
	"slices"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/serve/internal/ask"
	"github.com/antigravity-go/antigravity/llama/serve/internal/wire"
)

// infillRequest is the body of POST /infill: two texts. The model writes the text between them.
type infillRequest struct {
	Before string  `json:"input_prefix"`
	After  string  `json:"input_suffix"`
	Extra  []extra `json:"input_extra"` // other texts that the model sees; the first ones are left out if they do not fit
	Prompt string  `json:"prompt"`      // what the answer begins with
	answering
}

// extra is a text of another place or file.
type extra struct {
	Name string `json:"filename"`
	Text string `json:"text" wire:"required"`
}

// Rules are those of the members that editors send with a text.
func (extra) Rules() wire.Rules { return wire.Rules{"time": wire.Ignored()} }

// Infill serves POST /infill.
func (a *API) Infill(w http.ResponseWriter, r *http.Request) error {
	var in infillRequest
	if err := a.Service.Read(w, r, answeringRules, &in); err != nil {
		return err
	}
	ctx := r.Context()
	params, err := in.params(ctx, a.Service)
	if err != nil {
		return err
	}
	m, err := a.Service.Open(ctx, a.name(in.Model))
	if err != nil {
		return err
	}
	defer m.Close()
	names := ask.NewFieldNames("input_prefix", "n_predict")
	if err := in.fit(ctx, m, &params, names); err != nil {
		return err
	}
	prompt, err := in.prompt(ctx, a.Service, m, params.MaxTokens)
	if err != nil {
		return err
	}
	return in.answer(ctx, w, m, [][]llama.Token{prompt}, false, params, names)
}

// prompt returns the tokens of the request: the other texts, then the two texts. If not all other texts fit, the last ones that leave room
// for the answer are taken.
func (in *infillRequest) prompt(ctx context.Context, service *ask.Service, m *ask.Model, length int) ([]llama.Token, error) {
	prompt, err := m.Infill(ctx, in.Before, in.After, "input_suffix")
	if err != nil {
		return nil, err
	}
	t := m.Model.Tokenizer()
	begin := len(t.EncodeSpecial("", true))
	others, err := service.Encode(ctx, func() (others []llama.Token, err error) {
		prompt = append(prompt, t.EncodeContinuation(in.Prompt)...)
		for _, e := range slices.Backward(in.Extra) {
			tokens := t.EncodeContinuation(e.Name + "\n" + e.Text + "\n")
			if m.Context > 0 && len(tokens)+len(others)+len(prompt)+length >= m.Context {
				break
			}
			others = append(tokens, others...)
		}
		return others, nil
	})
	if err != nil {
		return nil, err
	}
	return slices.Insert(prompt, begin, others...), nil
}
