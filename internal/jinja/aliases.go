package jinja

import (
	"github.com/antigravity-go/antigravity/internal/jinja/texts"
	"github.com/antigravity-go/antigravity/internal/jinja/values"
)

// What the caller of Render deals with is declared in the packages below; these are their names here.
type (
	// Text is a string that knows the origin of each of its bytes.
	Text = texts.Text
	// Origin is the source of bytes of a text.
	Origin = texts.Origin
	// BudgetError says that a template asked for more than one rendering may take.
	BudgetError = texts.BudgetError

	// Value is what a template computes with.
	Value = values.Value
	// List is a sequence of values.
	List = values.List
	// Dict is a dictionary, which keeps its keys' order.
	Dict = values.Dict
	// Namespace is an object with attributes that {% set ns.x = … %} changes.
	Namespace = values.Namespace
	// Function is a function that the caller of Render provides.
	Function = values.Function
	// Undefined is the value of a name, key or attribute that does not exist.
	Undefined = values.Undefined
	// Decoder makes values of JSON.
	Decoder = values.Decoder
)

// From returns a text of one origin.
func From(s string, o Origin) Text { return texts.From(s, o) }

// Joined returns a text of parts.
func Joined(parts ...Text) Text { return texts.Joined(parts...) }

// NewList returns a list of the values.
func NewList(items ...Value) *List { return values.NewList(items...) }

// NewDict returns an empty dictionary.
func NewDict() *Dict { return values.NewDict() }

// TrimSpace is Python's str.strip.
func TrimSpace(s string) string { return texts.TrimSpace(s) }
