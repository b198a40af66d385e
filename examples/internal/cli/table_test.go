package cli

import (
	"strings"
	"testing"
)

func TestTable(t *testing.T) {
	table := Table{Left: 1}
	table.Row("operation", "time", "GB/s")
	table.Row("a title as long as it likes")
	table.Row("add", "1.5 µs", "12")
	table.Row("softmax", "", "3.25")
	const want = `
operation    time  GB/s
a title as long as it likes
add        1.5 µs    12
softmax            3.25
`
	var b strings.Builder
	if _, err := table.WriteTo(&b); err != nil || "\n"+b.String() != want {
		t.Errorf("%v\n%s", err, b.String())
	}
}
