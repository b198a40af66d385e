package anthropic

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/antigravity-go/antigravity/llama/serve/internal/ask"
	"github.com/antigravity-go/antigravity/llama/serve/internal/models"
	"github.com/antigravity-go/antigravity/llama/serve/internal/wire"
)

// Version is the header that requests of Anthropic's clients have. At a path that both interfaces have, it says which one is meant.
const Version = "Anthropic-Version"

// modelInfo is a model, as Anthropic writes it.
type modelInfo struct {
	Type    string    `json:"type"`
	ID      string    `json:"id"`
	Name    string    `json:"display_name"`
	Created time.Time `json:"created_at"`
	Context *int      `json:"max_input_tokens,omitempty"` // that a conversation may have; nil if there is no bound, or it is not known yet
	Answer  *int      `json:"max_tokens,omitempty"`       // that an answer may have; likewise
}

// modelOf describes a model under one of its names.
func (a *API) modelOf(name string, s *models.Status) modelInfo {
	m := modelInfo{Type: "model", ID: name, Name: s.Name, Created: s.Created.UTC().Truncate(time.Second)}
	if s.Context > 0 {
		m.Context, m.Answer = &s.Context, &s.Context
	}
	if most := a.Service.MaxTokens; most > 0 {
		m.Answer = &most
	}
	return m
}

// list returns all models, then the aliases that requests may call them by.
func (a *API) list() (all []modelInfo) {
	for _, n := range a.Service.Models.Names() {
		all = append(all, a.modelOf(n.Name, &n.Status))
	}
	return all
}

// The bounds of a list's page.
const (
	defaultPage = 20
	maxPage     = 1000
)

// Models serves GET /v1/models to Anthropic's clients: the models and their aliases, in pages. The query may have a limit, and after_id or before_id.
func (a *API) Models(w http.ResponseWriter, r *http.Request) error {
	query, list, limit := r.URL.Query(), a.list(), defaultPage
	if text := query.Get("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > maxPage {
			return wire.Invalid("limit", "limit is %.40q; it must be 1 to %d", text, maxPage)
		}
		limit = n
	}
	find := func(parameter string) (int, error) {
		i := slices.IndexFunc(list, func(m modelInfo) bool { return m.ID == query.Get(parameter) })
		if i < 0 {
			return 0, wire.Invalid(parameter, "%s is %.80q; it must be the id of a model in the list", parameter, query.Get(parameter))
		}
		return i, nil
	}
	more := false
	switch {
	case query.Get("after_id") != "":
		i, err := find("after_id")
		if err != nil {
			return err
		}
		list = list[i+1:]
	case query.Get("before_id") != "":
		i, err := find("before_id")
		if err != nil {
			return err
		}
		list = list[:i]
		if more = len(list) > limit; more {
			list = list[len(list)-limit:]
		}
	}
	if len(list) > limit {
		list, more = list[:limit], true
	}
	page := struct {
		Data  []modelInfo `json:"data"`
		More  bool        `json:"has_more"`
		First *string     `json:"first_id"`
		Last  *string     `json:"last_id"`
	}{Data: append([]modelInfo{}, list...), More: more}
	if len(list) > 0 {
		page.First, page.Last = &list[0].ID, &list[len(list)-1].ID
	}
	return wire.Write(w, http.StatusOK, page)
}

// Model serves GET /v1/models/{name...} to Anthropic's clients. The name may be an alias.
func (a *API) Model(w http.ResponseWriter, r *http.Request) error {
	name := r.PathValue("name")
	if s, ok := a.Service.Models.Find(name); ok {
		return wire.Write(w, http.StatusOK, a.modelOf(name, &s))
	}
	known := ""
	for _, m := range a.list() {
		known += fmt.Sprintf(", %s", m.ID)
	}
	return ask.Explain(r.Context(), &models.UnknownError{Name: name, Known: []string{known[min(2, len(known)):]}}, nil)
}
