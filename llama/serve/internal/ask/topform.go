package ask

import (
	"encoding/json"

	"github.com/antigravity-go/antigravity/llama/serve/internal/wire"
)

// TopForm is the form of an answer as llama-server's programs ask for it, at the top level of a request. A request's struct embeds it,
// and its rules are without FormNames.
type TopForm struct {
	JSONSchema json.RawMessage `json:"json_schema"`
	Grammar    string          `json:"grammar"` // in GBNF; "": no grammar
}

// FormNames are the parameters of a TopForm, for which SamplingRules has rules.
var FormNames = []string{"json_schema", "grammar"}

// Form returns the form, and the name of the parameter that asks for it, or "".
func (f *TopForm) Form() (form Form, param string, err error) {
	switch {
	case f.JSONSchema != nil && f.Grammar != "":
		return form, "", wire.Invalid("grammar", "grammar stands next to json_schema; a request has one of them")
	case f.JSONSchema != nil:
		return Form{Schema: f.JSONSchema}, "json_schema", nil
	case f.Grammar != "":
		return Form{Grammar: f.Grammar}, "grammar", nil
	}
	return form, "", nil
}
