package thoughts

import (
	"bytes"
	"strings"
)

// Answers of OpenAI's open models are messages in channels (harmony). The prompt ends with "<|start|>assistant", and an answer goes on so:
//
//	<|channel|>analysis<|message|>The user asks for the weather.<|end|>
//	<|start|>assistant<|channel|>commentary<|message|>I look it up.<|end|>
//	<|start|>assistant<|channel|>commentary to=functions.weather <|constrain|>json<|message|>{"city": "Bonn"}<|call|>
//
// without the line breaks. A message may also say to whom it is addressed before its channel: "<|start|>assistant to=functions.weather<|channel|>…".
// What stands between <|start|> and <|message|> is the message's header.

// channels is what a Splitter remembers of messages in channels.
type channels struct {
	to     string // to whom the message is addressed, as far as its header has come; "": to the user
	opened bool   // a message has begun, and Opened was not called since
	named  bool   // the mark before a channel's name was the last that came
	said   bool   // something of the answer has come
	apart  bool   // a line is to be left free before the next text of the answer
}

// maxHeader bounds the part of a header that is kept, in bytes.
const maxHeader = 256

// addressSign begins the word of a header that says to whom a message is addressed.
const addressSign = "to="

// Opened reports whether a message has begun since the last call of Opened, and to whom it is addressed, as functions.f; to is "" for a
// message to the user. A message to anybody else is no thought, in whichever channel it stands.
func (s *Splitter) Opened() (to string, opened bool) {
	to, opened = s.to, s.opened
	s.opened = false
	return to, opened
}

// Naming reports whether the name of a channel comes next.
func (s *Splitter) Naming() bool { return s.named && len(s.held) == 0 }

// mayAddress reports whether held, with which the answer begins, may be the beginning of a header that says to whom the message is addressed.
func (s *Splitter) mayAddress() bool {
	text := s.held[s.white:]
	if len(text) < len(addressSign) {
		return strings.HasPrefix(addressSign, string(text))
	}
	return bytes.HasPrefix(text, []byte(addressSign)) && len(text) < maxHeader && !bytes.ContainsAny(text, space)
}

// channelMark is Mark for harmony.
func (s *Splitter) channelMark(mark string) bool {
	switch mark {
	case startMark, endMark, callMark:
		s.endMessage()
	case channelMark:
		if s.place != header && s.place != before {
			s.endMessage()
		}
		s.readHeader()
		s.place = header
	case messageMark:
		if s.place != header && s.place != before {
			return false
		}
		s.beginMessage(s.readHeader())
	case formMark:
		if s.place != header {
			return false
		}
		if len(s.held) < maxHeader {
			s.held = append(s.held, ' ')
		}
		return true
	}
	s.named = mark == channelMark
	s.drop(len(s.held))
	return true
}

// endMessage notes that a message is over. The header of the next one may follow.
func (s *Splitter) endMessage() {
	if s.place == inside {
		s.think(bytes.TrimRight(s.held, space))
	}
	s.place, s.to = header, ""
}

// readHeader reads held, which is a part of a header: it keeps to whom the message is addressed, and returns the first other word.
func (s *Splitter) readHeader() (channel string) {
	for word := range strings.FieldsSeq(string(s.held)) {
		if to, ok := strings.CutPrefix(word, addressSign); ok {
			s.to = to
		} else if channel == "" {
			channel = word
		}
	}
	return channel
}

// beginMessage notes that a message begins in a channel.
func (s *Splitter) beginMessage(channel string) {
	s.opened = true
	if channel == answerChannel {
		s.to = ""
	}
	switch {
	case s.to != "":
		s.place, s.apart = answer, false
	case strings.HasPrefix(channel, thoughtChannel):
		if s.begun {
			s.thought = append(s.thought, "\n\n"...)
		}
		s.place = inside
	default:
		s.place, s.apart = between, s.said
	}
}
