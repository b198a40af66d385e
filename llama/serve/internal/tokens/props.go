package tokens

import (
	"net/http"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/serve/internal/ask"
	"github.com/antigravity-go/antigravity/llama/serve/internal/wire"
)

// props are what programs ask llama-server about itself, of one model.
type props struct {
	Defaults struct {
		Context int            `json:"n_ctx"` // tokens that a conversation may have; 0: no bound
		Params  map[string]any `json:"params"`
	} `json:"default_generation_settings"`
	Slots      int             `json:"total_slots"` // answers that are computed at once
	Alias      string          `json:"model_alias"`
	Path       string          `json:"model_path"` // the name: where a model's file lies is nobody's business
	Modalities map[string]bool `json:"modalities"`
	BOS        string          `json:"bos_token"`
	EOS        string          `json:"eos_token"`
	Build      string          `json:"build_info"`
}

// params returns the parameters of an answer for which the request says nothing, in llama-server's words: seed -1 is a random one,
// n_predict -1 no bound.
func params(d ask.Defaults) map[string]any {
	most := -1
	if d.MaxTokens != nil {
		most = *d.MaxTokens
	}
	return map[string]any{
		"temperature": d.Temperature, "top_k": d.TopK, "top_p": d.TopP, "min_p": d.MinP, "repeat_penalty": 1, "repeat_last_n": 64,
		"presence_penalty": 0, "frequency_penalty": 0, "seed": -1, "max_tokens": most, "n_predict": most, "stop": []string{}, "stream": false,
	}
}

// Props serves GET /props, of the first model or of the one that the query's model names.
func (a *API) Props(w http.ResponseWriter, r *http.Request) error {
	m, err := a.open(r, r.URL.Query().Get("model"))
	if err != nil {
		return err
	}
	defer m.Close()
	t, config := m.Model.Tokenizer(), m.Model.Config()
	p := props{Slots: m.Queue.Places(), Alias: m.Name, Path: m.Name, Modalities: map[string]bool{"vision": false, "audio": false}, Build: "antigravity"}
	p.Defaults.Context, p.Defaults.Params = m.Context, params(a.Service.Defaults())
	p.BOS = name(t, config.BOS)
	if len(config.EOS) > 0 {
		p.EOS = name(t, config.EOS[0])
	}
	m.Close() // a client that reads slowly must not keep the model from being given back
	return wire.Write(w, http.StatusOK, p)
}

// name returns a token as the vocabulary writes it, "" if there is none.
func name(t *llama.Tokenizer, token llama.Token) string {
	if token < 0 {
		return ""
	}
	return t.Text(token)
}
