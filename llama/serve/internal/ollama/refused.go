package ollama

import (
	"cmp"
	"net/http"

	"github.com/antigravity-go/antigravity/llama/serve/internal/wire"
)

// Requests to change Ollama's store of models. This server has no such store: its models are there as its operator says.

// Pull serves POST /api/pull: it succeeds for models that are there.
func (a *API) Pull(w http.ResponseWriter, r *http.Request) error {
	var in struct {
		Model string `json:"model"`
		Name  string `json:"name"`
	}
	rules := wire.Rules{"stream": wire.Ignored(), "insecure": wire.Ignored(), "username": wire.Ignored(), "password": wire.Ignored()}
	if err := a.Service.Read(w, r, rules, &in); err != nil {
		return err
	}
	name := cmp.Or(in.Model, in.Name)
	if name == "" {
		return wire.Missing("model", "the name of a model")
	}
	if _, known := a.Service.Models.Find(name); !known {
		return &wire.Error{Status: http.StatusNotFound, Code: "model_not_found", Param: "model",
			Message: "model '" + clipped(name) + "' not found: this server fetches no models on request, its operator names them when the program starts " +
				"(examples/serve: -model NAME=PATH, where the path may be that of a hub)"}
	}
	return wire.Write(w, http.StatusOK, map[string]string{"status": "success"})
}

// Refuse returns what serves a path that would change the models. instead says what to do.
func Refuse(what, instead string) func(http.ResponseWriter, *http.Request) error {
	return func(http.ResponseWriter, *http.Request) error {
		return &wire.Error{Status: http.StatusBadRequest, Code: "unsupported", Message: "this server " + what + ": " + instead}
	}
}
