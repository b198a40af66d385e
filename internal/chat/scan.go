package chat

import (
	"fmt"
	"slices"
	"sort"
	"strings"
	"unicode"
)

// Bounds on a template. The templates of published models stay an order of magnitude below each.
const (
	maxSource  = 1 << 20 // bytes
	maxTokens  = 2000    // in one tag
	maxNesting = 64      // of tags, and of brackets within a tag
)

// reserved starts each name that only this package writes. It is a letter to gonja; a template's names are ASCII.
const reserved = "ǃ"

// A scanner cuts a Jinja template into tags and text and writes it anew in the subset of Jinja that gonja reads
// correctly. What it settles here, because gonja differs from Jinja:
//
//   - white space around tags (trim_blocks and lstrip_blocks are on, as in Hugging Face's environment): gonja also strips
//     before a tag in the middle of a line;
//   - string literals, adjacent ones and escapes included; they and the text between tags become numbered constants;
//   - line breaks within a tag;
//   - (a if c else b) anywhere: gonja knows it at the top of a tag only;
//   - the right side of "in", which takes an arithmetic expression and filters;
//   - {% generation %} … {% endgeneration %}, which only marks a stretch for training;
//   - comments and {% raw %}.
type scanner struct {
	source    string
	pos       int
	lineStart bool // the text at pos begins a line, as far as lstrip_blocks is concerned
	trimLeft  bool // the last tag ended in "-": drop white space
	trimLine  bool // the last tag was a block or a comment: drop one line break
	depth     int  // of open blocks
	out       strings.Builder
	constants []string
	lines     lineTable
}

// lineTable says which line of a template each stretch of the rewritten one, which is a single line, comes from.
type lineTable []struct{ offset, line int }

// line returns the source line of a column. An entry holds the line of what ends at its offset.
func (t lineTable) line(column int) int {
	i := sort.Search(len(t), func(i int) bool { return t[i].offset >= column })
	if i == len(t) {
		i--
	}
	if i < 0 {
		return 1
	}
	return t[i].line
}

// rewrite returns a scanner that holds the template in gonja's dialect and the constants it refers to.
func rewrite(source string) (*scanner, error) {
	if len(source) > maxSource {
		return nil, fmt.Errorf("%d bytes long; at most %d are allowed", len(source), maxSource)
	}
	source = strings.ReplaceAll(strings.ReplaceAll(source, "\r\n", "\n"), "\r", "\n")
	s := &scanner{source: strings.TrimSuffix(source, "\n"), lineStart: true}
	for line, seen := 1, 0; s.pos < len(s.source); {
		if err := s.next(); err != nil {
			return nil, fmt.Errorf("line %d: %w", line+strings.Count(s.source[seen:s.pos], "\n"), err)
		}
		line, seen = line+strings.Count(s.source[seen:s.pos], "\n"), s.pos
		s.lines = append(s.lines, struct{ offset, line int }{s.out.Len(), line})
	}
	return s, nil
}

// next consumes the text up to the next tag, and the tag.
func (s *scanner) next() error {
	at := s.pos
	for at < len(s.source) && !(s.source[at] == '{' && at+1 < len(s.source) && strings.IndexByte("{%#", s.source[at+1]) >= 0) {
		at++
	}
	text := s.leading(s.source[s.pos:at])
	if at == len(s.source) {
		s.text(text)
		s.pos = at
		return nil
	}
	kind := s.source[at+1]
	s.pos = at + 2
	control := s.take("-+")
	switch {
	case control == '-':
		text = strings.TrimRightFunc(text, unicode.IsSpace)
	case control == 0 && kind != '{':
		text = s.stripIndent(text)
	}
	s.text(text)
	switch kind {
	case '#':
		return s.comment()
	case '{':
		return s.variable()
	default:
		return s.block()
	}
}

// leading applies what the previous tag asked for to the text after it.
func (s *scanner) leading(text string) string {
	rest := text
	switch {
	case s.trimLeft:
		rest = strings.TrimLeftFunc(text, unicode.IsSpace)
	case s.trimLine:
		rest = strings.TrimPrefix(text, "\n")
	}
	if dropped := text[:len(text)-len(rest)]; dropped != "" {
		s.lineStart = strings.HasSuffix(dropped, "\n")
	}
	return rest
}

// stripIndent drops the white space between the start of the line and a block or comment.
func (s *scanner) stripIndent(text string) string {
	line := strings.LastIndexByte(text, '\n') + 1
	if line == 0 && !s.lineStart {
		return text
	}
	if strings.TrimLeftFunc(text[line:], unicode.IsSpace) != "" {
		return text
	}
	return text[:line]
}

// text writes a stretch of literal text as {{ constant }}, so that gonja finds no tag in it.
func (s *scanner) text(text string) {
	if text != "" {
		s.out.WriteString("{{ " + s.constant(text) + " }}")
	}
}

func (s *scanner) constant(text string) string {
	s.constants = append(s.constants, text)
	return fmt.Sprintf("%s%d", reserved, len(s.constants)-1)
}

// take consumes the next byte when it is one of set.
func (s *scanner) take(set string) byte {
	if s.pos < len(s.source) && strings.IndexByte(set, s.source[s.pos]) >= 0 {
		s.pos++
		return s.source[s.pos-1]
	}
	return 0
}

// ended notes how a tag closed.
func (s *scanner) ended(control byte, block bool) {
	s.trimLeft, s.trimLine, s.lineStart = control == '-', block && control == 0, false
}

func (s *scanner) comment() error {
	body, _, found := strings.Cut(s.source[s.pos:], "#}")
	if !found {
		return fmt.Errorf("comment without its #}")
	}
	s.pos += len(body) + len("#}")
	var control byte
	if body != "" && strings.IndexByte("-+", body[len(body)-1]) >= 0 {
		control = body[len(body)-1]
	}
	s.ended(control, true)
	return nil
}

func (s *scanner) variable() error {
	tokens, control, err := s.tokens("}}")
	if err != nil {
		return err
	}
	if len(tokens) == 0 {
		return fmt.Errorf("{{ }} without an expression")
	}
	s.ended(control, false)
	s.emit("{{", s.expression(tokens), "}}")
	return nil
}

// blocks are the statements a template may use, with their effect on the nesting.
var blocks = map[string]int{
	"if": +1, "elif": 0, "else": 0, "endif": -1,
	"for": +1, "endfor": -1, "break": 0, "continue": 0,
	"set": 0, "endset": -1, // {% set x %} opens a block, {% set x = 1 %} does not
	"macro": +1, "endmacro": -1,
	"generation": +1, "endgeneration": -1,
}

func (s *scanner) block() error {
	tokens, control, err := s.tokens("%}")
	if err != nil {
		return err
	}
	if len(tokens) == 0 {
		return fmt.Errorf("{%% %%} without a statement")
	}
	s.ended(control, true)
	name, tokens := tokens[0], tokens[1:]
	if name == "raw" {
		s.ended(control, false) // trim_blocks spares the line break after it
		return s.raw()
	}
	step, known := blocks[name]
	if !known {
		return fmt.Errorf("{%% %s %%} is not supported in a chat template", name)
	}
	assignment := slices.Index(tokens, "=")
	if name == "set" && assignment < 0 {
		step = 1
	}
	if s.depth += step; s.depth > maxNesting {
		return fmt.Errorf("blocks nested deeper than %d", maxNesting)
	}
	switch name {
	case "generation", "endgeneration":
		return nil
	case "for":
		if slices.Contains(tokens, "recursive") {
			return fmt.Errorf("recursive loops are not supported in a chat template")
		}
		tokens = s.loop(tokens)
	case "set":
		tokens = append(slices.Clone(tokens[:assignment+1]), s.expression(tokens[assignment+1:])...)
	default:
		tokens = s.expression(tokens)
	}
	s.emit("{% "+name, tokens, "%}")
	return nil
}

func (s *scanner) raw() error {
	at := s.pos
	for {
		i := strings.Index(s.source[at:], "{%")
		if i < 0 {
			return fmt.Errorf("{%% raw %%} without its {%% endraw %%}")
		}
		at += i
		end := &scanner{source: s.source, pos: at + 2}
		control := end.take("-+")
		if tokens, after, err := end.tokens("%}"); err == nil && slices.Equal(tokens, []string{"endraw"}) {
			text := s.leading(s.source[s.pos:at])
			if control == '-' {
				text = strings.TrimRightFunc(text, unicode.IsSpace)
			} else if control == 0 {
				text = s.stripIndent(text)
			}
			s.text(text)
			s.pos = end.pos
			s.ended(after, true)
			return nil
		}
		at += 2
	}
}

func (s *scanner) emit(open string, tokens []string, end string) {
	s.out.WriteString(open)
	for _, t := range tokens {
		s.out.WriteByte(' ')
		s.out.WriteString(t)
	}
	s.out.WriteString(" " + end)
}

// expression rewrites conditional expressions and the operands of "in".
func (s *scanner) expression(tokens []string) []string {
	return conditionals(operands(tokens))
}

// loop rewrites the head of a loop, whose "if" outside of brackets is a filter and no conditional expression.
func (s *scanner) loop(tokens []string) []string {
	test := topLevel(tokens, "if")
	if test < 0 {
		return s.expression(tokens)
	}
	return slices.Concat(s.expression(tokens[:test]), []string{"if"}, s.expression(tokens[test+1:]))
}

// closing maps each opening bracket to its partner.
var closing = map[string]string{"(": ")", "[": "]", "{": "}"}

// group returns the index just past the bracket that closes tokens[i].
func group(tokens []string, i int) int {
	for depth := 0; i < len(tokens); i++ {
		switch tokens[i] {
		case "(", "[", "{":
			depth++
		case ")", "]", "}":
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return len(tokens)
}

// endsOperand are the tokens at which the right side of "in" ends.
var endsOperand = []string{"and", "or", "not", "if", "else", "is", "in", "==", "!=", "<", "<=", ">", ">=", ",", ":", "=", ")", "]", "}"}

// operands puts brackets around the right side of each "in".
func operands(tokens []string) []string {
	var out []string
	var ends []int // where open operands end, innermost last
	for i := 0; i <= len(tokens); i++ {
		for len(ends) > 0 && ends[len(ends)-1] == i {
			out = append(out, ")")
			ends = ends[:len(ends)-1]
		}
		if i == len(tokens) {
			return out
		}
		out = append(out, tokens[i])
		if tokens[i] == "in" && !(i > 0 && tokens[i-1] == ".") {
			end := i + 1
			for end < len(tokens) && !slices.Contains(endsOperand, tokens[end]) {
				if closing[tokens[end]] != "" {
					end = group(tokens, end)
				} else {
					end++
				}
			}
			out = append(out, "(")
			ends = append(ends, end)
		}
	}
	return out
}

// conditionals replaces each "a if c else b" by "((c) and [a] or [b])[0]", which evaluates the same side. In passing it
// drops the trailing comma of a dictionary, which gonja does not take.
func conditionals(tokens []string) []string {
	var out, part []string
	flush := func() {
		out = append(out, conditional(part)...)
		part = nil
	}
	for i := 0; i < len(tokens); {
		switch tokens[i] {
		case ",", ":", "=":
			flush()
			out = append(out, tokens[i])
			i++
		case "(", "[", "{":
			end := group(tokens, i)
			inner := tokens[i+1 : end-1]
			if n := len(inner); tokens[i] == "{" && n > 0 && inner[n-1] == "," {
				inner = inner[:n-1]
			}
			part = append(part, tokens[i])
			part = append(part, conditionals(inner)...)
			part = append(part, tokens[end-1])
			i = end
		default:
			part = append(part, tokens[i])
			i++
		}
	}
	flush()
	return out
}

// conditional rewrites one expression without separators outside of brackets.
func conditional(part []string) []string {
	test := topLevel(part, "if")
	if test < 0 {
		return part
	}
	value, rest, otherwise := part[:test], part[test+1:], []string{reserved + "undefined"}
	if i := topLevel(rest, "else"); i >= 0 {
		rest, otherwise = rest[:i], conditional(rest[i+1:])
	}
	return slices.Concat([]string{"(", "("}, rest, []string{")", "and", "["}, value, []string{"]", "or", "["}, otherwise, []string{"]", ")", "[", "0", "]"})
}

// topLevel returns the index of the first token equal to name outside of brackets, or -1.
func topLevel(tokens []string, name string) int {
	for i := 0; i < len(tokens); {
		if closing[tokens[i]] != "" {
			i = group(tokens, i)
			continue
		}
		if tokens[i] == name {
			return i
		}
		i++
	}
	return -1
}
