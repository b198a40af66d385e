package main

import (
	"io"
	"slices"
	"strconv"

	"github.com/antigravity-go/antigravity/examples/internal/cli"
)

// column is a column of a table of values.
type column[T any] struct {
	show  bool
	title string
	cell  func(T) string
}

// table is values in rows.
type table[T any] struct {
	columns []column[T] // those that are shown
	text    cli.Table
}

func newTable[T any](columns []column[T]) *table[T] {
	t := &table[T]{columns: slices.DeleteFunc(columns, func(c column[T]) bool { return !c.show }), text: cli.Table{Left: 1}}
	t.row(func(c column[T]) string { return c.title })
	return t
}

// add adds a row.
func (t *table[T]) add(v T) { t.row(func(c column[T]) string { return c.cell(v) }) }

func (t *table[T]) row(cell func(column[T]) string) {
	cells := make([]string, len(t.columns))
	for i, c := range t.columns {
		cells[i] = cell(c)
	}
	t.text.Row(cells...)
}

// WriteTo writes the table.
func (t *table[T]) WriteTo(w io.Writer) (int64, error) { return t.text.WriteTo(w) }

// fixed writes a number with two digits behind the point.
func fixed(x float64) string { return strconv.FormatFloat(x, 'f', 2, 64) }

// present writes a number with two digits behind the point, and "" for 0, which means that there is no number.
func present(x float64) string {
	if x == 0 {
		return ""
	}
	return fixed(x)
}
