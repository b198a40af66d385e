package tokens

import (
	"net/http"

	"github.com/antigravity-go/antigravity/llama/serve/internal/wire"
)

// slot is a place for an answer to be computed, as llama-server shows its slots. Here places are alike, and conversations keep no place:
// the first ones of the list are shown as taken.
type slot struct {
	ID          int  `json:"id"`
	Context     int  `json:"n_ctx"` // tokens that a conversation may have; 0: no bound
	Speculative bool `json:"speculative"`
	Processing  bool `json:"is_processing"`
}

// Slots serves GET /slots, of the first model or of the one that the query's model names. If the query has fail_on_no_slot and no place
// is free, it is an error with status 503.
func (a *API) Slots(w http.ResponseWriter, r *http.Request) error {
	query := r.URL.Query()
	m, err := a.open(r, query.Get("model"))
	if err != nil {
		return err
	}
	defer m.Close()
	taken := m.Queue.Stats().InUse
	list := make([]slot, m.Queue.Places())
	if query.Get("fail_on_no_slot") != "" && taken >= len(list) {
		return &wire.Error{Status: http.StatusServiceUnavailable, Code: "no_slot", Message: "no slot is free: as many answers are computed as may be at once"}
	}
	for i := range list {
		list[i] = slot{i, m.Context, m.Draft != nil, i < taken}
	}
	m.Close() // a client that reads slowly must not keep the model from being given back
	return wire.Write(w, http.StatusOK, list)
}
