package flint_test

import (
	"encoding/json"
	"testing"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/constrain"
)

// person is a struct of five fields.
type person struct {
	Name    string   `json:"name"`
	Age     uint8    `json:"age"`
	City    string   `json:"city"`
	Married bool     `json:"married"`
	Likes   []string `json:"likes"`
}

// TestSpacesForce answers with a struct in each amount of white space that Flint has learned: it answers nonsense without blanks. The less of it
// may be chosen, the more tokens are forced.
func TestSpacesForce(t *testing.T) {
	s := session(t, nil)
	forced := map[constrain.Spaces]int{}
	for name, spaces := range map[string]constrain.Spaces{"OneBlank": constrain.OneBlank, "Uniform": constrain.Uniform, "Free": constrain.Free} {
		c, err := constrain.JSONForWith[person](model(t).Tokenizer(), constrain.SchemaOptions{Spaces: spaces})
		if err != nil {
			t.Fatal(err)
		}
		schema, err := constrain.Schema[person]()
		if err != nil {
			t.Fatal(err)
		}
		history := []llama.Message{
			{Role: llama.RoleSystem, Content: "Answer in JSON of this schema:\n" + string(schema)},
			{Role: llama.RoleUser, Content: "Lena is 41 and lives in Rome. She is married and likes soup and rice."},
		}
		answer := ask(t, s, history, llama.Params{Constraint: c})
		var p person
		if err := json.Unmarshal([]byte(answer.Text), &p); err != nil {
			t.Errorf("%s: %v", answer.Text, err)
		}
		forced[spaces] = answer.Stats.ForcedTokens
		t.Logf("%s: %d tokens, %d forced, %v: %s", name, answer.Stats.GeneratedTokens, answer.Stats.ForcedTokens, answer.Stats.DecodeTime, answer.Text)
	}
	for _, spaces := range []constrain.Spaces{constrain.OneBlank, constrain.Uniform} {
		if forced[spaces] < 2*forced[constrain.Free] {
			t.Errorf("%d tokens are forced, and %d of free JSON", forced[spaces], forced[constrain.Free])
		}
	}
}
