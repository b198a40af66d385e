package calls

import "strings"

// harmony is how OpenAI's open models write messages. The prompt ends with "<|start|>assistant". The model's template writes a call's address
// before the channel, and models write it behind, where <|constrain|> often stands before the kind of the arguments.
var harmony = Channels{
	Thought:  Around{inChannel("analysis"), nextMessage},
	Preamble: Around{inChannel("commentary"), nextMessage},
	Text:     Around{Before: inChannel("final")},
	Calls: []Around{
		{[]Part{{Text: "<|channel|>", Mark: true}, {Text: "commentary to=" + namespace}}, []Part{{Text: " "}, {Text: "<|constrain|>", Mark: true}, {Text: "json"}, {Text: "<|message|>", Mark: true}}},
		{[]Part{{Text: "<|channel|>", Mark: true}, {Text: "commentary to=" + namespace}}, []Part{{Text: " json"}, {Text: "<|message|>", Mark: true}}},
		{[]Part{{Text: " to=" + namespace}}, []Part{{Text: "<|channel|>", Mark: true}, {Text: "commentary "}, {Text: "<|constrain|>", Mark: true}, {Text: "json"}, {Text: "<|message|>", Mark: true}}},
		{[]Part{{Text: " to=" + namespace}}, []Part{{Text: "<|channel|>", Mark: true}, {Text: "commentary json"}, {Text: "<|message|>", Mark: true}}},
	},
}

// namespace stands before the names of functions that are on offer. Tools that models were trained with have other names: browser.search.
const namespace = "functions."

// nextMessage ends a message, and begins the header of the next one.
var nextMessage = []Part{{Text: "<|end|>", Mark: true}, {Text: "<|start|>", Mark: true}, {Text: "assistant"}}

// inChannel returns the beginning of a message in a channel.
func inChannel(name string) []Part {
	return []Part{{Text: "<|channel|>", Mark: true}, {Text: name}, {Text: "<|message|>", Mark: true}}
}

// Address notes that a message of the answer begins, and to whom: to is "functions.f", or "" for the user. The text that follows is the
// message. It is a call if it is to a function on offer, and the arguments are one object. Otherwise it is content, after "to=functions.f
// ".
func (p *Parser) Address(to string) {
	switch p.place {
	case inText:
	case afterCall:
		p.place, p.held = inText, p.held[:0]
	default:
		p.fail(0)
	}
	if to != "" {
		p.held = append(append(append(p.held, "to="...), to...), ' ')
		p.call.begin()
		p.call.name = strings.TrimPrefix(to, namespace)
		p.call.named = p.names.has(p.call.name)
		p.place, p.reader, p.started, p.announced, p.sent = inCall, readsWithArgs, false, false, 0
		p.withArgs.start()
		if p.withArgs.place = beforeObject; !p.call.named {
			p.fail(0)
		}
	}
	p.flush()
}
