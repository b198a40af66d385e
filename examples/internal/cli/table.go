package cli

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// Table lines rows of text up in columns: the leading columns are aligned to the left, the others, of numbers mostly, to the
// right. The zero value aligns all columns to the right.
type Table struct {
	Left int // how many leading columns are aligned to the left
	rows [][]string
}

// Row adds a row. A row of a single cell is a line of its own, such as a title, and widens no column.
func (t *Table) Row(cells ...string) { t.rows = append(t.rows, cells) }

// WriteTo writes the table.
func (t *Table) WriteTo(w io.Writer) (int64, error) {
	var width []int
	for _, row := range t.rows {
		for i, cell := range row {
			if i == len(width) {
				width = append(width, 0)
			}
			if len(row) > 1 {
				width[i] = max(width[i], utf8.RuneCountInString(cell))
			}
		}
	}
	var b strings.Builder
	for _, row := range t.rows {
		line := ""
		for i, cell := range row {
			pad := strings.Repeat(" ", max(0, width[i]-utf8.RuneCountInString(cell)))
			if i < t.Left {
				line += cell + pad
			} else {
				line += pad + cell
			}
			line += "  "
		}
		fmt.Fprintln(&b, strings.TrimRight(line, " "))
	}
	n, err := io.WriteString(w, b.String())
	return int64(n), err
}
