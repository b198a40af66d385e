// Package calls knows how model families write function calls in their answers: as data, for constraints, and as a [Parser], for reading
// answers while they come.
//
// # Calls and content
//
// A call is read in the places in which its family writes calls (see [Family]), if its name is one of those on offer and its arguments are
// one object, without a mistake. Everything else is content, verbatim: a mistake is never an error, and text that only looks like a call
// loses no byte. White space around calls, separators and marks are not content. White space between a text before the calls and a text
// after them is kept.
//
// # A call comes in pieces
//
// Text that may yet become a call is held back until that is decided: a call begins to come when its name is known to be right and its
// arguments have begun. From then on its arguments come as JSON, as they are written: the part that has come is always the beginning of the
// whole. If a mistake follows, or the answer is cut off, the call is taken back: a [Delta] says that it is broken, and its text comes as
// content. So the contents and the calls that were not taken back are, put together, what parsing the text in one go gives.
//
// A text is read once, in time linear in its length: if a supposed call fails, everything before the byte at which it fails is content, and
// the search for calls goes on with that byte.
package calls

import (
	"fmt"
	"strings"
)

// Format says how a model writes calls: it is an index of [Families].
type Format int

// The formats. All have the numbers of llama.CallFormat.
const (
	None          Format = iota // no way of writing calls is known
	LlamaJSON                   // {"name": "f", "parameters": {"a": 1}}; {"name": "g", "parameters": {}}
	LlamaPythonic               // [f(a=1), g()]
	Hermes                      // <tool_call>{"name": "f", "arguments": {"a": 1}}</tool_call> each
	Mistral                     // [TOOL_CALLS][{"name": "f", "arguments": {"a": 1}}, {"name": "g", "arguments": {}}]
	MistralArgs                 // [TOOL_CALLS]f[ARGS]{"a": 1} each
	Granite                     // <|tool_call|>[{"name": "f", "arguments": {"a": 1}}, {"name": "g", "arguments": {}}]
	Phi                         // <|tool_call|>{"name": "f", "arguments": {"a": 1}}<|/tool_call|> each
	Olmo                        // <function_calls>f(a=1), a line break, g()</function_calls>
	Tagged                      // <tool_call><function=f><parameter=a>1</parameter></function></tool_call> each, with line breaks between tags
	LFM                         // <|tool_call_start|>[f(a=1), g()]<|tool_call_end|>
	Gemma                       // <|tool_call>call:f{a:1,b:<|"|>x<|"|>}<tool_call|> each
	Harmony                     // <|channel|>commentary to=functions.f <|constrain|>json<|message|>{"a": 1}<|call|>, one in an answer
	GLM                         // <tool_call>f<arg_key>a</arg_key><arg_value>1</arg_value></tool_call> each, with line breaks between the parts up to GLM 4.6
)

// Family is how the models of one format write calls. The exported fields are the proper way to write calls; a Parser reads more than that:
// other white space, other orders of keys, and both of Mistral's ways.
//
// An answer's calls are written
//
//	Begin, a call, Between, a call, …, End
//
// and each of them
//
//	BeforeName, its name, BeforeArguments, its arguments, AfterArguments
//
// A name stands as it is, also between the quotes of a JSON string, so that a name with other characters than letters, digits, '_',
// '-' and '.' cannot be written in every family.
type Family struct {
	Name string // in words: "Llama's JSON"

	Begin, Between, End                         []Part
	BeforeName, BeforeArguments, AfterArguments []Part
	// Channels is not nil if an answer is messages in channels. Then it has one call at most, which ends the answer, and nothing stands between
	// calls.
	Channels *Channels
	// Python says that arguments are written as Python's keyword arguments, a=1, b=[True, None], and not as a JSON object.
	Python bool
	// Tags is not nil if arguments are written between tags, and not as a JSON object.
	Tags *Tags
	// Bare says that arguments are written with bare keys, and with marks around strings (QuoteMark), and not as a JSON object.
	Bare bool
	// Opening is a regular expression in RE2's syntax. A text in which it does not match, and in which there are no marks as control
	// tokens, holds no call: it is what a constraint excludes from the text around calls.
	Opening string

	// How a family is recognised: its chat template contains all of template and nothing of notTemplate or, if the template shows no
	// family, the vocabulary has the added token.
	template, notTemplate []string
	token                 string

	// How a Parser reads.
	open      string // a mark after which calls begin, wherever it stands
	close     string // a mark after each call
	bare      byte   // calls also begin with this byte where only white space stands before it in its line; 0: with the mark alone
	separator string // one of these bytes may stand between two calls
	list      bool   // calls are in brackets
	mayList   bool   // calls may be in brackets
	body      body   // what one call looks like
	lines     bool   // a string of a Python call may go on in the next line: LFM2.5's template writes strings as they are, between quotes
	withArgs  bool   // one call may also be a name, [ARGS] and an object, without brackets
}

// Channels is how the messages of an answer are written, as OpenAI's open models do (harmony). Each stands between two lists of parts. An answer
// is any number of thoughts and preambles, and then a text or a call.
type Channels struct {
	Thought, Preamble, Text Around
	// Calls are the ways of writing the texts around a call's name and before its arguments. The first is Family's BeforeName and
	// BeforeArguments.
	Calls []Around
}

// Tags is how a parameter is written between tags: BeforeName, its name, AfterName, its value, AfterValue. A text stands as it is, other values
// are JSON. End is the text in AfterValue that ends a value: no value has it within.
type Tags struct {
	BeforeName, AfterName, AfterValue []Part
	End                               string
}

// Around is the texts before and after something.
type Around struct{ Before, After []Part }

// body is what a call looks like between marks, brackets and separators.
type body int

const (
	objectBody body = iota // a JSON object with its name and its arguments
	pythonBody             // a Python call
	taggedBody             // a function's tag with tags of parameters within
	keyedBody              // a name, and tags of keys and of values
	gemmaBody              // call:, a name, and arguments with bare keys
)

// Part is a stretch of the written text: text, or a mark.
type Part struct {
	Text string
	// Mark says that Text is a single control token, if the vocabulary has one of this text. Otherwise it is text.
	Mark bool
	// Maybe says that some models of the family write the part and others do not.
	Maybe bool
}

func text(s string) []Part { return []Part{{Text: s}} }

// lineBreak is a line break that models of a family write or leave out.
var lineBreak = []Part{{Text: "\n", Maybe: true}}

func mark(s string) []Part { return []Part{{Text: s, Mark: true}} }

// The marks that a call may have within.
const (
	argsMark = "[ARGS]"    // between a name and its arguments
	idMark   = "[CALL_ID]" // between a name and an id, which argsMark follows
)

// The first bytes of calls without a mark.
const (
	lineStart  = `(^|\n)[ \t\r]*`
	whiteSpace = `[ \t\r\n]*`
)

// families is indexed by Format. The order is that in which templates are looked at: a template of Hermes' kind also contains the sign of
// Llama's.
var families = [...]Family{
	None: {Name: "none"},
	LlamaJSON: {
		Name:       "Llama's JSON",
		BeforeName: text(`{"name": "`), BeforeArguments: text(`", "parameters": `), AfterArguments: text(`}`), Between: text("; "),
		Opening:  lineStart + `\{` + whiteSpace + `"(name|arguments|parameters|type|id)"|<\|python_tag\|>`,
		template: []string{`{"name": `, `"parameters"`}, token: "<|python_tag|>",
		open: "<|python_tag|>", bare: '{', separator: ";,",
	},
	LlamaPythonic: {
		Name:  "Llama's Python",
		Begin: text("["), BeforeArguments: text("("), AfterArguments: text(")"), Between: text(", "), End: text("]"),
		Python:   true,
		Opening:  lineStart + `\[` + whiteSpace + `[A-Za-z0-9_.-]+\(|<\|python_start\|>`,
		template: []string{"[func_name1("}, token: "<|python_start|>",
		open: "<|python_start|>", close: "<|python_end|>", bare: '[', separator: ",", list: true, body: pythonBody,
	},
	Hermes: {
		Name:       "Hermes'",
		BeforeName: []Part{{Text: "<tool_call>", Mark: true}, {Text: "\n" + `{"name": "`}}, BeforeArguments: text(`", "arguments": `),
		AfterArguments: []Part{{Text: "}\n"}, {Text: "</tool_call>", Mark: true}}, Between: text("\n"),
		Opening:  `<tool_call>`,
		template: []string{"<tool_call>"}, notTemplate: []string{"<function="}, token: "<tool_call>",
		open: "<tool_call>", close: "</tool_call>",
	},
	Mistral: {
		Name:  "Mistral's",
		Begin: []Part{{Text: "[TOOL_CALLS]", Mark: true}, {Text: "["}}, BeforeName: text(`{"name": "`), BeforeArguments: text(`", "arguments": `),
		AfterArguments: text("}"), Between: text(", "), End: text("]"),
		Opening:  `\[TOOL_CALLS\]`,
		template: []string{"[TOOL_CALLS]"}, notTemplate: []string{argsMark}, token: "[TOOL_CALLS]",
		open: "[TOOL_CALLS]", separator: ",", list: true, withArgs: true,
	},
	MistralArgs: {
		Name:       "Mistral's with a mark before arguments",
		BeforeName: mark("[TOOL_CALLS]"), BeforeArguments: mark(argsMark),
		Opening:  `\[TOOL_CALLS\]`,
		template: []string{"[TOOL_CALLS]", argsMark}, token: argsMark,
		open: "[TOOL_CALLS]", separator: ",", list: true, withArgs: true,
	},
	Granite: {
		Name:  "Granite's",
		Begin: []Part{{Text: "<|tool_call|>", Mark: true}, {Text: "["}}, BeforeName: text(`{"name": "`), BeforeArguments: text(`", "arguments": `),
		AfterArguments: text("}"), Between: text(", "), End: text("]"),
		Opening:  `<\|tool_call\|>`,
		template: []string{"<|tool_call|>"}, notTemplate: []string{phiEnd, "<tool_call>"}, token: "<|tool_call|>",
		open: "<|tool_call|>", separator: ",", list: true,
	},
	Phi: {
		Name:       "Phi's",
		BeforeName: []Part{{Text: "<|tool_call|>", Mark: true}, {Text: `{"name": "`}}, BeforeArguments: text(`", "arguments": `),
		AfterArguments: []Part{{Text: "}"}, {Text: phiEnd, Mark: true}},
		Opening:        `<\|tool_call\|>`,
		template:       []string{"<|tool_call|>", phiEnd}, token: phiEnd,
		open: "<|tool_call|>", close: phiEnd, separator: ",", mayList: true,
	},
	Olmo: {
		Name:  "OLMo's",
		Begin: mark(olmoStart), BeforeArguments: text("("), AfterArguments: text(")"), Between: text("\n"), End: mark(olmoEnd),
		Python:   true,
		Opening:  olmoStart,
		template: []string{olmoStart, "<functions>"}, notTemplate: []string{"<tool_call>"}, token: olmoStart,
		open: olmoStart, close: olmoEnd, body: pythonBody,
	},
	Tagged: {
		Name:       "Qwen 3.5's tags",
		BeforeName: []Part{{Text: "<tool_call>", Mark: true}, {Text: "\n" + functionTag}}, BeforeArguments: text(">\n"),
		AfterArguments: []Part{{Text: functionEnd + "\n"}, {Text: "</tool_call>", Mark: true}}, Between: text("\n"),
		Tags:     &functionTags,
		Opening:  `<tool_call>`,
		template: []string{"<tool_call>", functionTag},
		open:     "<tool_call>", close: "</tool_call>", body: taggedBody,
	},
	LFM: {
		Name:  "LFM2's",
		Begin: []Part{{Text: lfmStart, Mark: true}, {Text: "["}}, BeforeArguments: text("("), AfterArguments: text(")"), Between: text(", "),
		End:      []Part{{Text: "]"}, {Text: lfmEnd, Mark: true}},
		Python:   true,
		Opening:  `<\|tool_call_start\|>`,
		template: []string{"<|tool_list_start|>"}, token: lfmStart,
		open: lfmStart, close: lfmEnd, separator: ",", list: true, body: pythonBody, lines: true,
	},
	Gemma: {
		Name:       "Gemma's",
		BeforeName: []Part{{Text: gemmaOpen, Mark: true}, {Text: gemmaCall}}, AfterArguments: mark(gemmaClose),
		Bare:     true,
		Opening:  `<\|tool_call>`,
		template: []string{gemmaOpen}, token: gemmaOpen,
		open: gemmaOpen, close: gemmaClose, body: gemmaBody,
	},
	Harmony: {
		Name:       "harmony's",
		BeforeName: harmony.Calls[0].Before, BeforeArguments: harmony.Calls[0].After,
		Channels: &harmony,
		template: []string{"<|channel|>", "<|message|>", "<|call|>"},
		withArgs: true,
	},
	GLM: {
		Name:       "GLM's",
		BeforeName: mark("<tool_call>"), BeforeArguments: lineBreak, AfterArguments: mark("</tool_call>"), Between: lineBreak,
		Tags:     &keyTags,
		Opening:  `<tool_call>`,
		template: []string{"<tool_call>", keyOpen}, token: keyOpen,
		open: "<tool_call>", close: "</tool_call>", body: keyedBody,
	},
}

// QuoteMark is the mark before and after a string as Gemma writes it.
const QuoteMark = quoteMark

// The marks around LFM2's calls.
const (
	lfmStart = "<|tool_call_start|>"
	lfmEnd   = "<|tool_call_end|>"
)

// The marks around OLMo 3's calls.
const (
	olmoStart = "<function_calls>"
	olmoEnd   = "</function_calls>"
)

// phiEnd ends Phi's calls, and distinguishes them from Granite's.
const phiEnd = "<|/tool_call|>"

// order is the order in which the families' rules are tried: those that others' templates or vocabularies satisfy too come last.
var order = [...]Format{Harmony, Gemma, MistralArgs, Mistral, Phi, Granite, GLM, Tagged, Hermes, Olmo, LFM, LlamaPythonic, LlamaJSON}

// Formats is how many formats there are, None among them.
const Formats = len(families)

// Family returns how calls are written in a format. What it holds must not be changed.
func (f Format) Family() *Family {
	if f < 0 || int(f) >= len(families) {
		f = None
	}
	return &families[f]
}

// OwnLine reports whether calls may begin without a mark, where only white space stands before them in their line.
func (f *Family) OwnLine() bool { return f.bare != 0 }

// Quoted reports whether every call has a quote behind the mark that it begins with. Then no string of a JSON text holds a call, since a quote
// in it stands behind a backslash.
func (f *Family) Quoted() bool { return f.body == objectBody && !f.withArgs }

// JSON reports whether arguments are written as a JSON object.
func (f *Family) JSON() bool { return !f.Python && f.Tags == nil && !f.Bare }

// Mark returns the mark that calls begin with, "" if they have no mark or may begin without it.
func (f *Family) Mark() string {
	if f.bare != 0 {
		return ""
	}
	return f.open
}

// String names the format in words.
func (f Format) String() string {
	if f < 0 || int(f) >= len(families) {
		return fmt.Sprintf("Format(%d)", int(f))
	}
	return families[f].Name
}

// Of returns the format by a model's chat template and by which added tokens its vocabulary has.
func Of(template string, has func(token string) bool) Format {
	for _, f := range order {
		if families[f].writes(template) {
			return f
		}
	}
	for _, f := range order {
		if has(families[f].token) {
			return f
		}
	}
	return None
}

// writes reports whether a template is one of the family's.
func (f *Family) writes(template string) bool {
	for _, s := range f.template {
		if !strings.Contains(template, s) {
			return false
		}
	}
	for _, s := range f.notTemplate {
		if strings.Contains(template, s) {
			return false
		}
	}
	return true
}
