package chat

import (
	"encoding/json"
	"fmt"
	"strings"
)

// The special tokens of Llama 3's chat format.
const (
	startHeader = "<|start_header_id|>"
	endHeader   = "<|end_header_id|>"
	endOfTurn   = "<|eot_id|>"
)

// defaultDate is the date that Llama 3's template names when it is not told another.
const defaultDate = "26 Jul 2024"

// dateLayout is the form of a date in Llama 3's system turn, day first.
const dateLayout = "02 Jan 2006"

// Llama3 returns the chat format of Llama 3.1 and 3.2, written in Go, for models that carry no template. It renders what
// the template published with Llama 3.2 does, except that bos is left out when empty. The variables it heeds are
// tools_in_user_message (bool, default true) and date_string (string; wins over Options.Date).
//
// A marker of the format that is not among specials is written as plain text.
func Llama3(specials []string, bos, eos string) *Template {
	return &Template{specials: newSpecials(append([]string{bos, eos}, specials...)...), bos: bos, eos: eos}
}

// llama3Writer renders one conversation in the Llama 3 format.
type llama3Writer struct {
	segments
	known specials
}

func (w *llama3Writer) header(role string) {
	w.trusted(startHeader, w.known)
	w.plain.WriteString(role)
	w.trusted(endHeader, w.known)
	w.plain.WriteString("\n\n")
}

func (w *llama3Writer) turn(role, text string) {
	w.header(role)
	w.plain.WriteString(text)
	w.end()
}

func (w *llama3Writer) end() { w.trusted(endOfTurn, w.known) }

func (t *Template) llama3(messages []Message, o Options) ([]Segment, error) {
	functions, err := functionList(o.Tools)
	if err != nil {
		return nil, err
	}
	w := &llama3Writer{known: t.specials}
	w.trusted(t.bos, t.specials)

	system := ""
	if len(messages) > 0 && messages[0].Role == "system" {
		system, messages = trimSpace(messages[0].Content), messages[1:]
	}
	withUser := len(o.Tools) > 0 && o.Vars["tools_in_user_message"] != false
	w.system(system, functions, withUser, dateString(o))

	if withUser {
		if len(messages) == 0 {
			return nil, fmt.Errorf("rendering the Llama 3 chat format: tools go into the first user message, and there is none")
		}
		w.turn("user", toolsInUser+functions+trimSpace(messages[0].Content))
		messages = messages[1:]
	}
	for i, m := range messages {
		if err := w.message(m); err != nil {
			return nil, fmt.Errorf("rendering message %d (%s) in the Llama 3 chat format: %w", i, m.Role, err)
		}
	}
	if o.AddGenerationPrompt {
		w.header("assistant")
	}
	w.flush()
	return w.list, nil
}

const (
	answerFormat  = `Respond in the format {"name": function name, "parameters": dictionary of argument name and its value}.` + "Do not use variables.\n\n"
	toolsInUser   = "Given the following functions, please respond with a JSON for a function call with its proper arguments that best answers the given prompt.\n\n" + answerFormat
	toolsInSystem = "You have access to the following functions. To call a function, please respond with JSON for a function call." + answerFormat
)

// system writes the first turn, which every conversation in this format has.
func (w *llama3Writer) system(text, functions string, withUser bool, date string) {
	w.header("system")
	if functions != "" {
		w.plain.WriteString("Environment: ipython\n")
	}
	w.plain.WriteString("Cutting Knowledge Date: December 2023\nToday Date: " + date + "\n\n")
	if functions != "" && !withUser {
		w.plain.WriteString(toolsInSystem + functions)
	}
	w.plain.WriteString(text)
	w.end()
}

func (w *llama3Writer) message(m Message) error {
	switch {
	case len(m.ToolCalls) > 0:
		return w.call(m.ToolCalls)
	case m.Role == "tool" || m.Role == "ipython":
		var text jsonWriter // the published template quotes a tool's answer, because a string is iterable
		text.text(m.Content)
		w.turn("ipython", text.String())
	default:
		w.turn(m.Role, trimSpace(m.Content))
	}
	return nil
}

func (w *llama3Writer) call(calls []ToolCall) error {
	if len(calls) != 1 {
		return fmt.Errorf("%d tool calls in one message; this format has room for one", len(calls))
	}
	arguments, err := printJSON(calls[0].arguments(), "")
	if err != nil {
		return fmt.Errorf("arguments of the call to %q: %w", calls[0].Name, err)
	}
	w.turn("assistant", `{"name": "`+calls[0].Name+`", "parameters": `+arguments+"}")
	return nil
}

// arguments returns the call's arguments, {} by default.
func (c ToolCall) arguments() json.RawMessage {
	if len(c.Arguments) == 0 {
		return json.RawMessage("{}")
	}
	return c.Arguments
}

// functionList prints the tools one below the other, as the format wants them.
func functionList(tools []json.RawMessage) (string, error) {
	var b strings.Builder
	for i, t := range tools {
		s, err := printJSON(t, "    ")
		if err != nil {
			return "", fmt.Errorf("tool %d: %w", i, err)
		}
		b.WriteString(s + "\n\n")
	}
	return b.String(), nil
}

func printJSON(data json.RawMessage, indent string) (string, error) {
	v, err := parseJSON(data)
	if err != nil {
		return "", err
	}
	w := jsonWriter{indent: indent, limit: maxOutput}
	err = w.value(v, 0)
	return w.String(), err
}

// dateString is today's date as Llama 3's system turn prints it.
func dateString(o Options) string {
	if s, ok := o.Vars["date_string"].(string); ok {
		return s
	}
	if o.Date.IsZero() {
		return defaultDate
	}
	return o.Date.Format(dateLayout)
}
