package thoughts

import (
	"bytes"
	"slices"
	"strings"
)

// A Splitter goes byte by byte from place to place. White space and bytes that may begin the one mark that can come are held; what is
// decided goes to the thought or to the answer. For example, with the marks <think> and </think> as plain text,
//
//	bytes        place after them   output
//	<think>      inside             nothing: it is the mark
//	\nThe        inside             thought "The"; white space before it is dropped
//	 user.\n     inside             thought " user."; the line break is held
//	</think>     between            the held line break is dropped
//	\n\n         between            nothing
//	Hello!       answer             answer "Hello!"
//
// If the answer does not begin with the mark, all of it is the answer, white space included.

// Splitter takes the thought out of an answer that comes token by token: as bytes, and as marks that are tokens. It is for one goroutine at
// a time. Start makes it ready, and ready again with the same memory.
//
// Invariants between calls: thought and rest are the results not yet taken; white is right. held is text that is not decided yet: white
// space, and then perhaps the beginning of the one mark that may come.
type Splitter struct {
	format *Format
	tokens []string // those marks of the format that are tokens
	place  place
	begun  bool // something of the thought has come
	within bool // the answer stands between marks of its own
	held   []byte
	white  int // bytes of white space that held begins with
	channels

	thought, rest []byte
}

// place is what the splitter is within.
type place int

const (
	before  place = iota // nothing but white space has come
	label                // the label between the opening mark and a thought
	inside               // a thought
	header               // harmony: between messages, or in a message's header: its author and its channel
	between              // after a thought: white space, and the mark that opens the answer
	answer
)

// Start makes the splitter ready for an answer. A nil format knows no thoughts: everything is the answer. tokens are the marks that are
// tokens, and open reports whether the prompt has opened a thought.
func (s *Splitter) Start(f *Format, tokens []string, open bool) {
	*s = Splitter{format: f, tokens: tokens, held: s.held[:0], thought: s.thought[:0], rest: s.rest[:0]}
	switch {
	case f == nil:
		s.place = answer
	case open:
		s.place = inside
	}
}

// GoOn notes that the prompt has the beginning of the thought: white space that comes next is the thought's.
func (s *Splitter) GoOn() { s.begun = true }

// Clone returns a splitter that goes on from here on its own.
func (s *Splitter) Clone() Splitter {
	c := *s
	c.held, c.thought, c.rest = slices.Clone(s.held), slices.Clone(s.thought), slices.Clone(s.rest)
	return c
}

// Waiting reports whether neither a thought nor the answer has begun.
func (s *Splitter) Waiting() bool { return s.place == before }

// Thinking reports whether the text is within a thought.
func (s *Splitter) Thinking() bool { return s.place == inside || s.place == label }

// Answering reports whether the answer comes: the thought is over, or there is no thought.
func (s *Splitter) Answering() bool { return s.place == between || s.place == answer }

// Holding reports whether text has come that may be the beginning of a mark.
func (s *Splitter) Holding() bool { return len(s.held) > s.white }

// Take returns the parts of the thought and of the answer that have come since the last Take. Both are valid until the next call of a
// method. Either may end within a character.
func (s *Splitter) Take() (thought, rest []byte) {
	thought, rest = s.thought, s.rest
	s.thought, s.rest = s.thought[:0], s.rest[:0]
	return thought, rest
}

// Mark reads a token that is a mark, and reports whether it counts as one here: otherwise it is a token like others.
func (s *Splitter) Mark(mark string) bool {
	f := s.format
	switch {
	case f == nil:
		return false
	case f.channels:
		return s.channelMark(mark)
	case mark == f.Open && (s.place == before || s.Thinking() && !s.begun):
		s.open()
	case mark == f.Close && (s.place == before || s.Thinking()):
		if s.place == inside {
			s.think(bytes.TrimRight(s.held, space))
		}
		s.place = between
	case mark == f.answerOpen && s.place == between:
		s.within = true
	case mark == f.answerClose && s.within:
		s.within = false
	default:
		return false
	}
	s.drop(len(s.held))
	return true
}

// open notes that a thought begins, after its label.
func (s *Splitter) open() {
	s.place = inside
	if s.format.Label != "" {
		s.place = label
	}
}

// Write reads the next bytes of the answer.
func (s *Splitter) Write(b []byte) {
	for i, c := range b {
		if s.place == answer && !s.within {
			s.say(b[i:])
			return
		}
		s.hold(c)
		s.step()
	}
}

// hold adds a byte to held.
func (s *Splitter) hold(c byte) {
	if s.white == len(s.held) && strings.IndexByte(space, c) >= 0 {
		s.white++
	}
	s.held = append(s.held, c)
}

// drop takes the first n bytes off held.
func (s *Splitter) drop(n int) {
	s.held = s.held[:copy(s.held, s.held[n:])]
	s.white = len(s.held) - len(bytes.TrimLeft(s.held, space))
}

// step decides about held after a byte has come.
func (s *Splitter) step() {
	f := s.format
	switch s.place {
	case before:
		if !f.channels || !s.mayAddress() {
			s.expect(f.Open, s.open)
		}
	case between:
		s.expect(f.answerOpen, func() { s.within = true })
	case label:
		switch text := string(s.held); {
		case text == f.Label:
			s.drop(len(s.held))
			s.place = inside
		case !strings.HasPrefix(f.Label, text):
			s.place = inside
			s.step()
		}
	case inside:
		s.search(f.Close, s.think, func() { s.place = between })
	case answer:
		s.search(f.answerClose, s.say, func() { s.within = false })
	case header:
		if len(s.held) > maxHeader {
			s.held = s.held[:maxHeader]
			s.white = min(s.white, maxHeader)
		}
	}
}

// expect decides whether held is a mark, to which white space may lead. If not, the answer has begun. White space before an answer is
// the answer's only if no thought came before.
func (s *Splitter) expect(mark string, came func()) {
	if s.place == between {
		s.drop(s.white)
	}
	text := s.held[s.white:]
	switch {
	case len(text) == 0:
	case s.isText(mark) && string(text) == mark:
		s.drop(len(s.held))
		came()
	case s.isText(mark) && strings.HasPrefix(mark, string(text)):
	default:
		s.place = answer
		if !s.within {
			s.say(s.held)
			s.drop(len(s.held))
			return
		}
		s.step()
	}
}

// search decides about held while a mark may come anywhere: it calls give with the text that cannot be the beginning of the mark.
func (s *Splitter) search(mark string, give func([]byte), came func()) {
	for len(s.held) > s.white {
		text := s.held[s.white:]
		switch {
		case s.isText(mark) && string(text) == mark:
			s.drop(len(s.held))
			came()
			return
		case s.isText(mark) && strings.HasPrefix(mark, string(text)):
			return
		}
		n := s.white + 1
		give(s.held[:n])
		s.drop(n)
	}
}

// isText reports whether a mark is looked for in the text.
func (s *Splitter) isText(mark string) bool {
	return mark != "" && !s.format.channels && !slices.Contains(s.tokens, mark)
}

// think adds text to the thought, without white space at its beginning.
func (s *Splitter) think(text []byte) {
	if !s.begun {
		text = bytes.TrimLeft(text, space)
	}
	s.thought = append(s.thought, text...)
	s.begun = s.begun || len(text) > 0
}

// say adds text to the answer.
func (s *Splitter) say(text []byte) {
	if len(text) > 0 && s.apart {
		s.rest = append(s.rest, "\n\n"...)
		s.apart = false
	}
	s.said = s.said || len(text) > 0 && s.to == ""
	s.rest = append(s.rest, text...)
}

// Answer notes that the answer begins, though its text has not.
func (s *Splitter) Answer() {
	s.say(s.held)
	s.place = answer
	s.drop(len(s.held))
}

// Finish decides the rest, now that the answer is over. The beginning of a mark is text; white space at the end of a thought is nothing.
func (s *Splitter) Finish() {
	switch s.place {
	case inside:
		s.think(bytes.TrimRight(s.held, space))
	case before, between, answer:
		s.say(s.held)
	}
	s.place = answer
	s.drop(len(s.held))
}

const space = " \t\r\n"
