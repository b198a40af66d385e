package main

import (
	"reflect"
	"testing"

	"github.com/antigravity-go/antigravity/llama/flint"
)

func TestStructsAreFilled(t *testing.T) {
	model, err := flint.Load(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer model.Close()
	got, err := extract[Person](t.Context(), model, "Sam likes apples and salad, is happy, lives in Kyiv and is 18 years old.")
	if err != nil {
		t.Fatal(err)
	}
	if want := (Person{"Sam", 18, "Kyiv", []string{"apples", "salad"}, true}); !reflect.DeepEqual(*got, want) {
		t.Errorf("%+v, want %+v", *got, want)
	}
	mood, err := extract[struct {
		Name  string `json:"name" jsonschema:"name of the person"`
		Happy bool   `json:"happy" jsonschema:"whether the person is happy"`
	}](t.Context(), model, "Eva is sad.")
	if err != nil {
		t.Fatal(err)
	}
	if mood.Name != "Eva" || mood.Happy {
		t.Errorf("%+v, want Eva, who is not happy", *mood)
	}
}
