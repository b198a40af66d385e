package chat

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	controls "github.com/nikolalohinski/gonja/v2/builtins/control_structures"
	"github.com/nikolalohinski/gonja/v2/config"
	"github.com/nikolalohinski/gonja/v2/exec"
	"github.com/nikolalohinski/gonja/v2/loaders"
	"github.com/nikolalohinski/gonja/v2/parser"
)

// program is a parsed Jinja template.
type program struct {
	template *exec.Template
	texts    []string // every text in it: no fence may occur in one
}

// Parse prepares a model's Jinja template. Texts of specials, bos and eos are recognised as special tokens where the
// template itself writes them; bos and eos are the template's bos_token and eos_token.
//
// The Jinja of chat templates is there: if, for, set, macro, break, continue, raw, generation, namespace(), range(),
// raise_exception(), strftime_now(), and the operators, tests, filters and methods of strings and dictionaries that
// templates use, with Python's results. What else Jinja has (include, import, extends, call, filter blocks, …) is an error,
// which names it and its line.
func Parse(source string, specials []string, bos, eos string) (t *Template, err error) {
	defer recoverTo(&err, "parsing the chat template")
	scanned, err := rewrite(source)
	if err != nil {
		return nil, fmt.Errorf("parsing the chat template: %w", err)
	}
	statements := exec.NewControlStructureSet(map[string]parser.ControlStructureParser{"set": parseSet, "macro": parseMacro})
	for _, name := range []string{"if", "for", "break", "continue"} {
		parse, _ := controls.All.Get(name)
		if err := statements.Register(name, parse); err != nil {
			return nil, fmt.Errorf("parsing the chat template: %w", err)
		}
	}
	environment := &exec.Environment{Context: exec.EmptyContext(), ControlStructures: statements}
	template, err := exec.NewTemplate(templateName, config.New(), onlySource(scanned.out.String()), environment)
	if err != nil {
		return nil, fmt.Errorf("parsing the chat template: %w", scanned.syntaxError(err))
	}
	h := &hardener{constants: scanned.constants, lines: scanned.lines}
	h.nodes(template.Root().Nodes)
	if h.err != nil {
		return nil, fmt.Errorf("parsing the chat template: %w", h.err)
	}
	return &Template{
		specials: newSpecials(append([]string{bos, eos}, specials...)...),
		bos:      bos,
		eos:      eos,
		jinja:    &program{template, append(scanned.constants, bos, eos)},
	}, nil
}

// render is Render for a Jinja template.
func (t *Template) render(messages []Message, o Options) (_ []Segment, err error) {
	defer recoverTo(&err, "rendering the chat template")
	r := &run{work: maxWork, operations: operations}
	variables, err := r.variables(t, messages, o)
	if err != nil {
		return nil, fmt.Errorf("rendering the chat template: %w", err)
	}
	variables[runName] = r
	variables[callName] = r.call
	variables["raise_exception"] = r.native(raiseException)
	variables["range"] = r.native(rangeOf)
	variables["namespace"] = r.native(newNamespace)
	variables["dict"] = r.native(newDict)
	out := &output{run: r}
	err = t.jinja.template.Execute(out, exec.NewContext(variables))
	if err = cmp.Or(r.err, rootCause(err)); err != nil { // gonja ignores errors in the filter of a loop
		return nil, fmt.Errorf("rendering the chat template: %w", err)
	}
	return r.fence.segments(out.String(), t.specials), nil
}

// variables returns what the template finds by name, and chooses the fence for this rendering.
func (r *run) variables(t *Template, messages []Message, o Options) (map[string]any, error) {
	tools, err := parseTools(o.Tools)
	if err != nil {
		return nil, err
	}
	turns, err := conversation(messages)
	if err != nil {
		return nil, err
	}
	extra, err := extraVariables(o.Vars)
	if err != nil {
		return nil, err
	}
	if !o.Date.IsZero() {
		if _, given := o.Vars["date_string"]; !given {
			extra = append(extra, member{"date_string", o.Date.Format(dateLayout)})
		}
		r.date = o.Date
	}
	all := list{tools, turns, extra}
	r.work += weigh(all)
	r.fence, err = newFence(func(c string) bool {
		return contains(all, c) || slices.ContainsFunc(t.jinja.texts, func(s string) bool { return strings.Contains(s, c) })
	})
	if err != nil {
		return nil, err
	}
	variables := map[string]any{
		"messages":              r.encloseTurns(turns, t.specials),
		"tools":                 r.enclose(tools),
		"documents":             none,
		"add_generation_prompt": o.AddGenerationPrompt,
		"bos_token":             t.bos,
		"eos_token":             t.eos,
		"none":                  none,
	}
	if !o.Date.IsZero() {
		variables["strftime_now"] = r.native(strftimeNow)
	}
	for _, m := range extra {
		variables[m.key] = r.enclose(m.value)
	}
	return variables, nil
}

// templateName is what gonja calls the template.
const templateName = "chat template"

// onlySource is a loader that knows one template, and no file.
type onlySource string

func (s onlySource) Read(name string) (io.Reader, error) {
	if name != templateName {
		return nil, fmt.Errorf("a chat template cannot read %q", name)
	}
	return strings.NewReader(string(s)), nil
}

func (s onlySource) Resolve(name string) (string, error) { return name, nil }

func (s onlySource) Inherit(string) (loaders.Loader, error) { return s, nil }

// recoverTo turns a panic into an error.
func recoverTo(err *error, doing string) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("%s: %v", doing, p)
	}
}

// rootCause drops the layers that gonja wraps around an error, each of which quotes the template.
func rootCause(err error) error {
	for inner := err; inner != nil; inner = errors.Unwrap(inner) {
		err = inner
	}
	return err
}

// syntaxError is what gonja found wrong, with the line of the template instead of the rewritten one's.
func (s *scanner) syntaxError(err error) error {
	err = rootCause(err)
	var syntax *parser.SyntaxError
	if !errors.As(err, &syntax) {
		return err
	}
	near := syntax.Raw
	if number, ours := strings.CutPrefix(near, reserved); ours {
		if i, err := strconv.Atoi(number); err == nil && i < len(s.constants) {
			near = strconv.Quote(s.constants[i])
		}
	}
	return fmt.Errorf("line %d, near %.40s: %s", s.lines.line(syntax.Column), near, syntax.Message)
}

// sortedKeys returns the keys of m in order.
func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
