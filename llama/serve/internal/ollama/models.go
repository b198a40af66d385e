package ollama

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"math"
	"net/http"
	"time"

	"github.com/antigravity-go/antigravity/llama/serve/internal/models"
	"github.com/antigravity-go/antigravity/llama/serve/internal/wire"
)

// listed is a model in a list.
type listed struct {
	Name         string    `json:"name"`
	Model        string    `json:"model"` // the same
	Modified     time.Time `json:"modified_at"`
	Size         int64     `json:"size"`
	Digest       string    `json:"digest"`
	Details      details   `json:"details"`
	Capabilities []string  `json:"capabilities"`
}

// Tags serves GET /api/tags: all models, whether they are loaded or not.
func (a *API) Tags(w http.ResponseWriter, _ *http.Request) error {
	list := []listed{}
	for _, s := range a.Service.Models.List() {
		facts := a.Service.Models.Describe(s.Name)
		list = append(list, listed{s.Name, s.Name, s.Created.UTC(), cmp.Or(s.Size, s.Bytes), digest(&s, facts), newDetails(facts), capabilities(facts)})
	}
	return wire.Write(w, http.StatusOK, map[string][]listed{"models": list})
}

// digest returns an identifier of a model: a SHA-256 of its fingerprint or, as long as that is not known, of its name.
func digest(s *models.Status, facts *models.Facts) string {
	what := "name " + s.Name
	if facts != nil && facts.Fingerprint != "" {
		what = "model " + facts.Fingerprint
	}
	sum := sha256.Sum256([]byte(what))
	return hex.EncodeToString(sum[:])
}

// running is a model that is loaded.
type running struct {
	Name    string    `json:"name"`
	Model   string    `json:"model"` // the same
	Size    int64     `json:"size"`
	Digest  string    `json:"digest"`
	Details details   `json:"details"`
	Expires time.Time `json:"expires_at"`
	VRAM    int64     `json:"size_vram"` // 0: nothing is said of devices
	Context int       `json:"context_length"`
}

// Ps serves GET /api/ps: the models that are loaded. They stay until others need their memory, which Ollama says with the latest time that
// it can.
func (a *API) Ps(w http.ResponseWriter, _ *http.Request) error {
	list := []running{}
	for _, s := range a.Service.Models.List() {
		if !s.Loaded {
			continue
		}
		facts := a.Service.Models.Describe(s.Name)
		list = append(list, running{s.Name, s.Name, s.Bytes, digest(&s, facts), newDetails(facts), s.Created.Add(math.MaxInt64).UTC(), 0, s.Context})
	}
	return wire.Write(w, http.StatusOK, map[string][]running{"models": list})
}

// shown is the description of a model.
type shown struct {
	Details      details        `json:"details"`
	Info         map[string]any `json:"model_info"`
	Capabilities []string       `json:"capabilities"`
	Modified     time.Time      `json:"modified_at"`
}

// showRules are those of what asks for another description.
var showRules = wire.Rules{"verbose": wire.Ignored(), "system": wire.Ignored(), "template": wire.Ignored(), "options": wire.Ignored()}

// Show serves POST /api/show. A model that nothing is known of is loaded for that.
func (a *API) Show(w http.ResponseWriter, r *http.Request) error {
	var in struct {
		Model string `json:"model"`
		Name  string `json:"name"` // the older name of model
	}
	if err := a.Service.Read(w, r, showRules, &in); err != nil {
		return err
	}
	name := a.name(cmp.Or(in.Model, in.Name))
	facts := a.Service.Models.Describe(name)
	if facts == nil {
		m, err := a.lease(r.Context(), name)
		if err != nil {
			return err
		}
		m.Close()
		facts = a.Service.Models.Describe(name)
	}
	s, _ := a.Service.Models.Find(name)
	return wire.Write(w, http.StatusOK, shown{newDetails(facts), info(s.Name, facts), capabilities(facts), s.Created.UTC()})
}
