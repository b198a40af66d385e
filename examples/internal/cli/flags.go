package cli

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/antigravity-go/antigravity/tensor"
)

// Flags is a program's flag set with a help text that shows the flags in groups.
type Flags struct {
	*flag.FlagSet
	about  string // what the program does, and examples
	groups []string
	member map[string]string // flag to group
	fields map[string]string // what the library's errors call a value that a flag sets, to the flag
}

// NewFlags makes a flag set. The text about says what the program does and gives an example; it opens the help.
func NewFlags(name, about string) *Flags {
	f := &Flags{FlagSet: flag.NewFlagSet(name, flag.ContinueOnError), about: about, member: map[string]string{}, fields: map[string]string{}}
	f.SetOutput(io.Discard) // Parse's errors are reported once, by Exit
	return f
}

// Group puts the flags that define defines under a title in the help.
func (f *Flags) Group(title string, define func()) {
	define()
	f.groups = append(f.groups, title)
	f.VisitAll(func(g *flag.Flag) {
		if _, ok := f.member[g.Name]; !ok {
			f.member[g.Name] = title
		}
	})
}

// Parse reads the arguments; each must be a flag. For -h it writes the help to w and returns flag.ErrHelp, which Exit takes for success.
func (f *Flags) Parse(args []string, w io.Writer) error {
	err := f.FlagSet.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		f.help(w)
		return err
	case err != nil:
		return Usagef("%v", err)
	case f.NArg() > 0:
		return Usagef("unexpected argument %q: every value belongs to a flag", f.Arg(0))
	}
	return nil
}

// ParseMixed is Parse for programs that take arguments too. These may stand before, between and after the flags.
func (f *Flags) ParseMixed(args []string, w io.Writer) (arguments []string, err error) {
	for {
		if f.FlagSet.Parse(args) != nil {
			return nil, f.Parse(args, w) // the same error in the words of all programs, or the help
		}
		if f.NArg() == 0 {
			return arguments, nil
		}
		arguments = append(arguments, f.Arg(0))
		args = f.Args()[1:]
	}
}

// Given reports whether a flag was set on the command line.
func (f *Flags) Given(name string) (given bool) {
	f.Visit(func(g *flag.Flag) { given = given || g.Name == name })
	return given
}

// help writes what the program does, and its flags by groups, in lines that fit a terminal.
func (f *Flags) help(w io.Writer) {
	WriteAbout(w, f.about)
	for _, title := range f.groups {
		fmt.Fprintf(w, "\n%s\n", title)
		f.VisitAll(func(g *flag.Flag) {
			if f.member[g.Name] == title {
				printFlag(w, g)
			}
		})
	}
}

// The widths of help, in characters: of lines that go to no terminal, the least and the most for terminals, and of the flags' names.
const (
	usualColumns = 100
	leastColumns = 50
	mostColumns  = 120
	nameColumns  = 28
)

// helpColumns returns how wide help is on a stream.
func helpColumns(w io.Writer) int {
	if columns := Columns(w); columns > 0 {
		return min(max(columns, leastColumns), mostColumns)
	}
	return usualColumns
}

// WriteAbout writes a program's description in lines that fit a terminal. Lines that are indented, such as those of examples, stay as
// they are.
func WriteAbout(w io.Writer, about string) {
	paragraph := ""
	flush := func() {
		for _, line := range wrapped(paragraph, helpColumns(w)) {
			fmt.Fprintln(w, line)
		}
		paragraph = ""
	}
	for line := range strings.SplitSeq(strings.TrimSpace(about), "\n") {
		switch {
		case line == "", strings.HasPrefix(line, " "):
			flush()
			fmt.Fprintln(w, line)
		default:
			paragraph += " " + line
		}
	}
	flush()
}

// printFlag writes a flag, its value and what it is for.
func printFlag(w io.Writer, g *flag.Flag) {
	value, usage := flag.UnquoteUsage(g)
	usage = strings.TrimPrefix(usage, value+": ") // "`NAME=PATH`: a file" does not name the form twice
	if !zero(g) {
		form := " (default %s)"
		if strings.Contains(g.DefValue, " ") {
			form = " (default %q)"
		}
		usage += fmt.Sprintf(form, g.DefValue)
	}
	WriteUsage(w, strings.TrimRight("-"+g.Name+" "+value, " "), usage)
}

// WriteUsage writes a flag or a command, and to its right what it is for, in lines that fit a terminal. If the first reaches into the
// second column, it has a line of its own.
func WriteUsage(w io.Writer, what, usage string) {
	begin := "  " + what
	if utf8.RuneCountInString(begin) > nameColumns {
		fmt.Fprintln(w, begin)
		begin = ""
	}
	for _, line := range wrapped(usage, helpColumns(w)-nameColumns-1) {
		fmt.Fprintf(w, "%-*s %s\n", nameColumns, begin, line)
		begin = ""
	}
}

// zero reports whether a flag's default says nothing: it is no text, false, or zero of a number or a time.
func zero(g *flag.Flag) bool {
	switch g.DefValue {
	case "", "0", "0s", "false":
		return true
	}
	return false
}

// wrapped breaks a text between words into lines of at most columns characters; a longer word has a line of its own.
func wrapped(text string, columns int) (lines []string) {
	line, length := "", 0
	for _, word := range strings.Fields(text) {
		n := utf8.RuneCountInString(word)
		if length > 0 && length+1+n > columns {
			lines = append(lines, line)
			line, length = "", 0
		}
		if length > 0 {
			line, length = line+" ", length+1
		}
		line, length = line+word, length+n
	}
	if length > 0 {
		lines = append(lines, line)
	}
	return lines
}

// Threads defines the flag -threads; usage goes on after "number of threads".
func (f *Flags) Threads(p *int, usage string) {
	f.Var(countValue{p}, "threads", "`number` of threads"+usage+"; 0: one for each processor")
	f.Sets(map[string]string{"LoadOptions.Threads": "threads"})
}

type countValue struct{ p *int }

func (v countValue) String() string {
	if v.p == nil {
		return ""
	}
	return strconv.Itoa(*v.p)
}

func (v countValue) Set(s string) error {
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 {
		return errors.New("must be 0 or more")
	}
	*v.p = n
	return nil
}

// Float32 defines a flag for a 32-bit floating-point number.
func (f *Flags) Float32(p *float32, name string, usage string) {
	f.Var(float32Value{p}, name, usage)
}

type float32Value struct{ p *float32 }

func (v float32Value) String() string {
	if v.p == nil {
		return ""
	}
	return fmt.Sprint(*v.p)
}

func (v float32Value) Set(s string) error {
	x, err := strconv.ParseFloat(s, 32)
	if err != nil {
		return errors.New("must be a number")
	}
	*v.p = float32(x)
	return nil
}

// DType defines a flag for one of several element types; its value stays 0 unless it is set.
func (f *Flags) DType(p *tensor.DType, name, usage string, known ...tensor.DType) {
	f.Var(dtypeValue{p, known}, name, "`type` "+usage+": "+names(known, ", "))
}

type dtypeValue struct {
	p     *tensor.DType
	known []tensor.DType
}

func (v dtypeValue) String() string {
	if v.p == nil || *v.p == 0 {
		return ""
	}
	return v.p.String()
}

func (v dtypeValue) Set(s string) error {
	for _, d := range v.known {
		if strings.EqualFold(s, d.String()) {
			*v.p = d
			return nil
		}
	}
	return fmt.Errorf("must be one of %s", names(v.known, ", "))
}

func names(types []tensor.DType, separator string) string {
	list := make([]string, len(types))
	for i, d := range types {
		list[i] = d.String()
	}
	return strings.Join(list, separator)
}

// Strings defines a flag that may be repeated.
func (f *Flags) Strings(p *[]string, name, usage string) { f.Var((*stringList)(p), name, usage) }

type stringList []string

func (l *stringList) String() string {
	if l == nil {
		return ""
	}
	return strings.Join(*l, ", ")
}

func (l *stringList) Set(s string) error {
	*l = append(*l, s)
	return nil
}
