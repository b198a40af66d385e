// Package withtest has the conversations that the adapters' tests have with Flint: a question that needs a function, and a text that fills a
// struct. See llama/flint/README.md for what Flint knows.
package withtest

import (
	"sync"
	"testing"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/flint"
	"github.com/antigravity-go/antigravity/llama/with"
)

// The question, the function that it needs, and what Flint says when the function has returned Sunny.
const (
	Question = "How warm is it in Nairobi?"
	Function = "get_weather"
	Does     = "Tells the weather in a city."
	City     = "Nairobi"
	Answer   = "It is 17 degrees and sunny in Nairobi."
)

// Place is the function's argument.
type Place struct {
	City string `json:"city" jsonschema:"name of the city" description:"name of the city"`
}

// Weather is the function's result.
type Weather struct {
	Sky         string `json:"sky"`
	Temperature int    `json:"temperature"`
}

// Sunny is what the function returns. Its JSON is SunnyJSON.
var Sunny = Weather{"sunny", 17}

// SunnyJSON is Sunny in JSON.
const SunnyJSON = `{"sky":"sunny","temperature":17}`

// Person is the struct to fill.
type Person struct {
	Name  string   `json:"name" jsonschema:"name of the person" description:"name of the person"`
	Age   int      `json:"age" jsonschema:"age in years" description:"age in years"`
	City  string   `json:"city" jsonschema:"where the person lives" description:"where the person lives"`
	Likes []string `json:"likes" jsonschema:"food the person likes" description:"food the person likes"`
	Happy bool     `json:"happy" jsonschema:"whether the person is happy" description:"whether the person is happy"`
}

// About is a text about Sam, a Person.
const About = "Sam likes apples and salad, is happy, lives in Kyiv and is 18 years old."

// Sam is the Person that About is about.
func Sam() Person { return Person{"Sam", 18, "Kyiv", []string{"apples", "salad"}, true} }

var load = sync.OnceValues(func() (*llama.Model, error) { return flint.Load(nil) })

// Flint returns Flint, which all tests of a program share.
func Flint(t testing.TB) *llama.Model {
	t.Helper()
	model, err := load()
	if err != nil {
		t.Fatal(err)
	}
	return model
}

// Model returns Flint for frameworks, by the name "flint" unless o has another. It is closed when the test ends.
func Model(t testing.TB, o *with.Options) *with.Model {
	t.Helper()
	if o == nil {
		o = &with.Options{Name: "flint"}
	}
	m, err := with.New(Flint(t), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}
