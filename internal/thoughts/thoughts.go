// Package thoughts knows how families of models mark their thoughts before they answer, and takes thoughts out of answers while they come.
//
// A model of Qwen's kind writes
//
//	<think>⏎The user greets me.⏎</think>⏎⏎Hello!
//
// Here "The user greets me." is the thought and "Hello!" the answer. The marks are in neither, nor is the white space next to them. Some
// templates write "<think>⏎" themselves, at the end of the prompt: then the thought is open when the answer begins.
//
// A thought stands at the beginning of an answer: a mark that comes later is text. The channels of OpenAI's open models (harmony) may come
// in any order: the text of the channel "analysis" is the thought, and the rest is the answer. A message there may be addressed to a
// function ([Splitter.Opened]).
//
// If the vocabulary has a token of its own for a mark, only that token is the mark: the same characters as text are not.
package thoughts

import "strings"

// Format is a way in which models mark thoughts. It is immutable.
type Format struct {
	Name  string // in words: "<think>"
	Open  string // the mark before a thought
	Label string // the channel's name, between Open and the thought, and no part of it
	Close string // the mark after the thought

	// BeforeClose and AfterClose are what well-trained models write between a thought and Close, and between Close and the answer: white
	// space, or what begins the answer's channel.
	BeforeClose, AfterClose string
	// Next is what stands between Close and the next message if the format has channels, and Channel is the name of the thought's channel.
	Next, Channel string

	answerOpen, answerClose string // marks around the answer after a thought, which are no part of it; "": no marks

	channels bool     // harmony
	tells    []string // a template that has all of them is of the format
}

// The marks of harmony.
const (
	startMark   = "<|start|>"
	channelMark = "<|channel|>"
	messageMark = "<|message|>"
	endMark     = "<|end|>"
	formMark    = "<|constrain|>"
	callMark    = "<|call|>" // ends a message to a function
)

// thoughtChannel is the name of the channel of thoughts, and answerChannel that of the answer.
const (
	thoughtChannel = "analysis"
	answerChannel  = "final"
)

// formats are tried in this order, since a template of an earlier one may also have the sign of a later one.
var formats = [...]Format{
	{
		Name: "harmony", Open: channelMark + thoughtChannel + messageMark, Close: endMark,
		AfterClose: startMark + "assistant" + channelMark + answerChannel + messageMark, Next: startMark + "assistant", Channel: thoughtChannel,
		channels: true, tells: []string{channelMark, messageMark},
	},
	{Name: "Gemma 4's", Open: "<|channel>", Label: "thought\n", Close: "<channel|>", BeforeClose: "\n", tells: []string{"<|channel>", "<channel|>"}},
	{Name: "Mistral's", Open: "[THINK]", Close: "[/THINK]", tells: []string{"[THINK]"}},
	{Name: "Seed's", Open: "<seed:think>", Close: "</seed:think>", tells: []string{"<seed:think>"}},
	{
		Name: "Granite 3.2's", Open: "Here is my thought process:", Close: "Here is my response:", BeforeClose: "\n\n", AfterClose: "\n\n",
		tells: []string{"Here is my thought process:", "Here is my response:"},
	},
	{
		Name: "Granite 3.3's", Open: "<think>", Close: "</think>", answerOpen: "<response>", answerClose: "</response>",
		tells: []string{"<think>", "<response>"},
	},
	{Name: "<think>", Open: "<think>", Close: "</think>", BeforeClose: "\n", AfterClose: "\n\n", tells: []string{"</think>"}},
	{Name: "<think>", Open: "<think>", Close: "</think>", BeforeClose: "\n", AfterClose: "\n\n", tells: []string{"<think>"}},
}

// Of returns the format of a model by its chat template or, if that says nothing of thoughts, by which added tokens its vocabulary has.
// It is nil for a model that marks no thoughts.
func Of(template string, has func(token string) bool) *Format {
	for i := range formats {
		if formats[i].writes(template) {
			return &formats[i]
		}
	}
	for i := range formats {
		if f := &formats[i]; has(f.Open) && has(f.Close) && f.answerOpen == "" {
			return f
		}
	}
	return nil
}

// writes reports whether a template is of the format.
func (f *Format) writes(template string) bool {
	for _, s := range f.tells {
		if !strings.Contains(template, s) {
			return false
		}
	}
	return true
}

// Marks returns the marks of the format that may be tokens.
func (f *Format) Marks() []string {
	if f.channels {
		return []string{startMark, channelMark, messageMark, endMark, formMark, callMark}
	}
	marks := []string{f.Open, f.Close}
	if f.answerOpen != "" {
		marks = append(marks, f.answerOpen, f.answerClose)
	}
	return marks
}

// Begin returns what opens an answer without a thought: "" if nothing does.
func (f *Format) Begin() string {
	if f.channels {
		return channelMark + answerChannel + messageMark
	}
	return ""
}
