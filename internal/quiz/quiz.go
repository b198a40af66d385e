// Package quiz holds the questions that Pebble was not trained with: the model's tests ask them, and so do the tools that measure how
// much a model still knows when its cache forgets.
package quiz

import (
	"compress/gzip"
	_ "embed"
	"io"
	"strings"
)

//go:embed pebble.jsonl.gz
var pebble string

// Pebble reads the questions of Pebble, one a line: {"skill":"…","messages":[["user","…"],…],"answer":"…"}. The readers that it returns
// are independent of each other.
func Pebble() (io.Reader, error) { return gzip.NewReader(strings.NewReader(pebble)) }
