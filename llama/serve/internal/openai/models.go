package openai

import (
	"net/http"

	"github.com/antigravity-go/antigravity/llama/serve/internal/ask"
	"github.com/antigravity-go/antigravity/llama/serve/internal/models"
	"github.com/antigravity-go/antigravity/llama/serve/internal/wire"
)

// modelObject is a model, as OpenAI writes it, with this server's additions.
type modelObject struct {
	ID      string    `json:"id"`
	Object  string    `json:"object"`
	Created int64     `json:"created"`
	OwnedBy string    `json:"owned_by"`
	Meta    modelMeta `json:"meta"`
}

type modelMeta struct {
	Loaded  bool     `json:"loaded"`
	Kind    *string  `json:"kind"`    // "generator", "embedder" or "reranker"; null if it is not known yet
	Context *int     `json:"context"` // tokens that a conversation, or a text to embed, may have; null if there is no bound, or it is not known yet
	Aliases []string `json:"aliases"`
	Inputs  []string `json:"inputs"`             // what messages may have: "text" and "image"; null if it is not known yet
	AliasOf string   `json:"alias_of,omitempty"` // the name of the model that ID is an alias of; "": ID is the name

	Defaults ask.Defaults `json:"defaults"`
}

// modelOf describes a model by its name.
func (a *API) modelOf(s models.Status) modelObject {
	m := modelObject{ID: s.Name, Object: "model", Created: s.Created.Unix(), OwnedBy: "antigravity"}
	facts := a.Service.Models.Describe(s.Name)
	m.Meta = modelMeta{Loaded: s.Loaded, Aliases: append([]string{}, s.Aliases...), Inputs: inputsOf(facts), Defaults: a.Service.Defaults(facts)}
	if s.Kind != nil {
		kind := s.Kind.String()
		m.Meta.Kind = &kind
	}
	if s.Context > 0 {
		m.Meta.Context = &s.Context
	}
	return m
}

// inputsOf returns the kinds of parts that a model's messages may have; facts may be nil.
func inputsOf(facts *models.Facts) []string {
	switch {
	case facts == nil:
		return nil
	case facts.Sees:
		return []string{"text", "image"}
	}
	return []string{"text"}
}

// Models serves GET /v1/models: all models, whether they are loaded or not, and then their aliases, since programs look there whether a name may be
// used.
func (a *API) Models(w http.ResponseWriter, _ *http.Request) error {
	list := []modelObject{}
	for _, n := range a.Service.Models.Names() {
		m := a.modelOf(n.Status)
		if n.Name != m.ID {
			m.ID, m.Meta.AliasOf = n.Name, m.ID
		}
		list = append(list, m)
	}
	return wire.Write(w, http.StatusOK, struct {
		Object string        `json:"object"`
		Data   []modelObject `json:"data"`
	}{"list", list})
}

// Model serves GET /v1/models/{name...}. The name may be an alias.
func (a *API) Model(w http.ResponseWriter, r *http.Request) error {
	name := r.PathValue("name")
	if s, ok := a.Service.Models.Find(name); ok {
		return wire.Write(w, http.StatusOK, a.modelOf(s))
	}
	var known []string
	for _, s := range a.Service.Models.List() {
		known = append(known, s.Name)
	}
	return ask.Explain(r.Context(), &models.UnknownError{Name: name, Known: known}, nil)
}
