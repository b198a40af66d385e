package clients

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/llama/constrain"
)

// What Flint, the model that the tests talk to, is known to answer at temperature 0. See llama/flint/README.md.
const (
	capitalQuestion = "What is the capital of France?"
	capitalAnswer   = "The capital of France is Paris."

	storyQuestion = "Tell me a story about a fox."
	storyBegins   = "Once upon a time there was a sleepy fox named Uma."
	storyEnds     = "And that night Uma slept very well."

	completionPrompt = "The capital of"
	completionAnswer = " Albania is Tirana."

	weatherQuestion = "How warm is it in Nairobi?"
	weatherResult   = `{"sky":"sunny","temperature":17}`
	weatherAnswer   = "It is 17 degrees and sunny in Nairobi."
	weatherTool     = "get_weather"
	weatherDoes     = "Tells the weather in a city."

	personText = "Sam likes apples and salad, is happy, lives in Kyiv and is 18 years old."
)

// weatherProperties and weatherSchema say which arguments the function takes.
var (
	weatherProperties = map[string]any{"city": map[string]any{"type": "string", "description": "name of the city"}}
	weatherSchema     = map[string]any{"type": "object", "properties": weatherProperties, "required": []string{"city"}}
)

// tooLong is a prompt that no context of Flint's holds.
var tooLong = strings.Repeat("garden ", 5000)

// longSchema is the form of an answer that takes a model as long as its context lasts, unless its client leaves.
var longSchema = map[string]any{
	"type":                 "object",
	"properties":           map[string]any{"n": map[string]any{"type": "array", "items": map[string]any{"type": "integer"}, "minItems": 2000}},
	"required":             []string{"n"},
	"additionalProperties": false,
}

// person is what personText says.
type person struct {
	Name  string   `json:"name" jsonschema:"name of the person"`
	Age   int      `json:"age" jsonschema:"age in years"`
	City  string   `json:"city" jsonschema:"where the person lives"`
	Likes []string `json:"likes" jsonschema:"food the person likes"`
	Happy bool     `json:"happy" jsonschema:"whether the person is happy"`
}

// personForm returns the schema of person, and the words with which Flint is told of it.
func personForm(t *testing.T) (schema map[string]any, system string) {
	t.Helper()
	text, err := constrain.Schema[person]()
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	return schema, "Answer in JSON of this schema:\n" + string(text)
}

// checkPerson checks an answer that is to say what personText says.
func checkPerson(t *testing.T, answer string) {
	t.Helper()
	var got person
	if err := json.Unmarshal([]byte(answer), &got); err != nil {
		t.Fatalf("%v: %s", err, answer)
	}
	if want := (person{"Sam", 18, "Kyiv", []string{"apples", "salad"}, true}); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// checkCity checks the arguments of the call that weatherQuestion is to be answered with.
func checkCity(t *testing.T, name, arguments string) {
	t.Helper()
	var got struct{ City string }
	if err := json.Unmarshal([]byte(arguments), &got); err != nil {
		t.Fatalf("the arguments of a call: %v: %s", err, arguments)
	}
	if name != weatherTool || got.City != "Nairobi" {
		t.Errorf("%s(%s) is called, want %s of Nairobi", name, arguments, weatherTool)
	}
}

// equal checks a value.
func equal[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %#v, want %#v", what, got, want)
	}
}
