package cli

import (
	"bytes"
	"errors"
	"flag"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/tensor"
)

// example is a flag set with a flag of each kind.
type example struct {
	*Flags
	count int
	ratio float32
	kind  tensor.DType
	texts []string
}

func newExample() *example {
	e := &example{}
	e.Flags = NewFlags("example", "\nexample shows flags.\n")
	e.Group("Numbers", func() {
		e.IntVar(&e.count, "count", 3, "`number` of things")
		e.Float32(&e.ratio, "ratio", "`part` of them")
	})
	e.Group("Others", func() {
		e.DType(&e.kind, "kind", "of the things", tensor.F16, tensor.Q8_0)
		e.Strings(&e.texts, "text", "`word` to add; may be repeated")
	})
	return e
}

func TestFlags(t *testing.T) {
	e := newExample()
	if err := e.Parse([]string{"-ratio", "0.25", "-kind", "Q8_0", "-text", "a", "-text", "b"}, nil); err != nil {
		t.Fatal(err)
	}
	if e.count != 3 || e.ratio != 0.25 || e.kind != tensor.Q8_0 || strings.Join(e.texts, "") != "ab" {
		t.Errorf("%+v", e)
	}
	if e.Given("count") || !e.Given("kind") {
		t.Error("-kind was given, -count was not")
	}
}

func TestMistakesAreUsageErrors(t *testing.T) {
	for _, args := range [][]string{{"-ratio", "1x"}, {"-kind", "q4_0"}, {"-none"}, {"word"}, {"-count"}} {
		var usage *UsageError
		if err := newExample().Parse(args, nil); !errors.As(err, &usage) {
			t.Errorf("%v: %v, want a usage error", args, err)
		}
	}
}

func TestHelpShowsGroups(t *testing.T) {
	var b bytes.Buffer
	if err := newExample().Parse([]string{"-h"}, &b); !errors.Is(err, flag.ErrHelp) {
		t.Fatal(err)
	}
	const want = `example shows flags.

Numbers
  -count number              number of things (default 3)
  -ratio part                part of them

Others
  -kind type                 type of the things: f16, q8_0
  -text word                 word to add; may be repeated
`
	if b.String() != want {
		t.Errorf("help:\n%s\nwant:\n%s", b.String(), want)
	}
}

func TestArgumentsStandAnywhereBesideFlags(t *testing.T) {
	e := newExample()
	got, err := e.ParseMixed([]string{"a", "-count", "5", "b", "-text=x", "--", "-c"}, nil)
	if err != nil || strings.Join(got, " ") != "a b -c" || e.count != 5 || len(e.texts) != 1 {
		t.Errorf("%q, %v, %+v", got, err, e)
	}
	var usage *UsageError
	if _, err := newExample().ParseMixed([]string{"a", "-unknown"}, nil); !errors.As(err, &usage) {
		t.Errorf("an unknown flag: %v", err)
	}
	var help bytes.Buffer
	if _, err := newExample().ParseMixed([]string{"a", "-h"}, &help); !errors.Is(err, flag.ErrHelp) || !strings.Contains(help.String(), "-count") {
		t.Errorf("-h: %v\n%s", err, &help)
	}
}

// TestHelpFitsTheLine has a flag with a long description, one with a long value, and one with a default of zero.
func TestHelpFitsTheLine(t *testing.T) {
	f := NewFlags("example", "\nexample "+strings.Repeat("shows flags and ", 10)+"ends.\n\n  example "+strings.Repeat("-flag value ", 12)+"\n")
	f.Group("All", func() {
		f.String("adapter", "", "`NAME=PATH[:SCALE]`: an adapter")
		f.String("a-flag-of-a-long-name", "", "`value` that is "+strings.Repeat("quite long, ", 20)+"and ends")
		f.Duration("wait", 0, "`time` to wait; 0: none")
	})
	var b bytes.Buffer
	if err := f.Parse([]string{"-h"}, &b); !errors.Is(err, flag.ErrHelp) {
		t.Fatal(err)
	}
	for line := range strings.Lines(b.String()) {
		if line = strings.TrimSuffix(line, "\n"); len(line) > usualColumns && !strings.HasPrefix(line, "  example") {
			t.Errorf("%d characters: %s", len(line), line)
		}
	}
	for _, want := range []string{"  -adapter NAME=PATH[:SCALE] an adapter\n", "  -wait time                 time to wait; 0: none\n", "  -a-flag-of-a-long-name value\n   "} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
}
