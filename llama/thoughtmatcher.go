package llama

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/antigravity-go/antigravity/internal/thoughts"
)

// A thoughtMatcher keeps an answer to the bounds of Thinking: it lets a thought pass, forces its end when it has had its budget, and then
// starts the constraint of the answer. For example, the marks are <think> and </think>, the prompt ends with <think>, Budget is 2, and
// answers are JSON:
//
//	token      state after it
//	Hm         1 token of the thought; anything but the answer's end may follow
//	well       2 tokens: bound makes thinker.close forced
//	</think>   forced, with the white space around it; inner is a new matcher
//	{          inner allows it, and follows the answer from here on

// thoughtful is the Constraint of an answer that may begin with a thought.
type thoughtful struct {
	inner     Constraint // of the answer after the thought; nil: any
	tokenizer *Tokenizer
	thinking  Thinking
	open      bool // the prompt has opened the thought
	closed    bool // the prompt ends with a closed thought: no other follows
	answers   bool // the prompt has begun the answer's text
	whole     bool // inner follows the thoughts, too
}

// Start returns the matcher of a new answer.
func (c *thoughtful) Start() Matcher {
	m := &thoughtMatcher{thoughtful: c}
	if c.inner != nil {
		if m.inner = c.inner.Start(); m.inner == nil {
			return nil
		}
	}
	k := &c.tokenizer.thinker
	m.splitter.Start(k.format, k.texts, c.open)
	switch {
	case c.whole:
		return m.follow()
	case !c.open && k.without != nil && c.thinking.off():
		m.forced = k.without
	case !c.open && k.without != nil && m.inner != nil:
		m.forced = k.open
	case c.open:
		m.bound()
	}
	return m
}

// follow lets an inner of whole answers follow what the prompt has of the answer. It returns nil if inner does not allow that.
func (m *thoughtMatcher) follow() Matcher {
	k := &m.tokenizer.thinker
	var begun []Token
	switch {
	case m.open:
		begun = k.open
	case m.answers:
		begun = k.without
	}
	for _, t := range begun {
		if m.inner.Accept(t) != nil {
			return nil
		}
	}
	m.bound()
	return m
}

// thoughtMatcher follows an answer that may begin with a thought. A thought passes anything but the answer's end, if the answer has a form.
// When it has had its budget, its closing is forced. Then inner follows the answer. Until it is known whether there is a thought, both the
// splitter and inner follow the text. An inner of whole answers follows all of it: then no more than the bounds of thoughts are the matcher's.
//
// Invariant: inner is nil if thoughtful.inner is; if whole is not set, while splitter is Answering and forced is empty, inner has accepted what came after the
// thought.
type thoughtMatcher struct {
	*thoughtful
	inner    Matcher
	splitter thoughts.Splitter
	opening  int     // how many of the tokens that open a thought have come; -1: others have come
	thought  int     // tokens of the thought
	forced   []Token // what comes next without a choice
	bytes    []byte
}

// spent reports whether no more may be thought.
func (m *thoughtMatcher) spent() bool {
	o := &m.thinking
	return o.off() || o.Budget > 0 && m.thought >= o.Budget
}

// bound forces the end of a thought that has had its budget. An inner that follows the thought may be within a character, which comes first.
func (m *thoughtMatcher) bound() {
	k := &m.tokenizer.thinker
	switch {
	case !m.splitter.Thinking() || !m.spent():
	case !m.whole:
		m.forced = k.close
	case m.inner.Clone().Accept(k.leave[0]) == nil:
		m.forced = k.leave
	}
}

// mayOpen reports whether the next token may be one that opens a thought, and which it is.
func (m *thoughtMatcher) mayOpen() (t Token, ok bool) {
	open := m.tokenizer.thinker.open
	if !m.splitter.Waiting() || m.thinking.off() || m.closed || m.opening < 0 || m.opening >= len(open) {
		return 0, false
	}
	return open[m.opening], true
}

// follows reports whether what comes next is inner's to decide.
func (m *thoughtMatcher) follows() bool {
	return m.inner != nil && (m.splitter.Answering() || m.splitter.Waiting())
}

// Allowed replaces what set holds by the tokens that may come next.
func (m *thoughtMatcher) Allowed(set *TokenSet) error {
	switch {
	case len(m.forced) > 0:
		set.Clear()
		set.Add(m.forced[0])
	case m.whole:
		if err := m.inner.Allowed(set); err != nil {
			return err
		}
		if m.spent() && m.splitter.Naming() {
			for _, t := range m.tokenizer.thinker.channel {
				set.Remove(t)
			}
		}
	case m.follows():
		if err := m.inner.Allowed(set); err != nil {
			return err
		}
		if t, ok := m.mayOpen(); ok {
			set.Add(t)
		}
	default:
		for i := range set.words {
			set.words[i] = math.MaxUint64
		}
		if rest := set.size % 64; rest != 0 {
			set.words[len(set.words)-1] = 1<<rest - 1
		}
		if m.inner != nil {
			m.keepTogether(set)
		}
		set.SetEnd(m.inner == nil)
	}
	return nil
}

// keepTogether takes the tokens out of set that would close the thought and begin the answer at once: inner would not see the latter.
func (m *thoughtMatcher) keepTogether(set *TokenSet) {
	for _, t := range overlong(m.tokenizer) {
		s := m.splitter.Clone()
		m.bytes = m.tokenizer.thinker.feed(m.tokenizer, &s, t, m.bytes)
		if _, rest := s.Take(); len(rest) > 0 || s.Answering() && s.Holding() {
			set.Remove(t)
		}
	}
}

// overlong returns the tokens of t that may have the end of the mark that closes thoughts, and more text after it. It returns no tokens if
// the mark is a token.
func overlong(t *Tokenizer) []Token {
	type key struct{}
	return t.Cached(key{}, func() any {
		k := &t.thinker
		mark := k.format.Close
		if slices.Contains(k.texts, mark) {
			return []Token(nil)
		}
		var list []Token
		var b []byte
		for id := range Token(t.VocabSize()) {
			b = t.AppendBytes(b[:0], id)
			for at := range b[:max(len(b)-1, 0)] {
				if head := string(b[:at+1]); b[at] == mark[len(mark)-1] && (strings.HasSuffix(mark, head) || strings.HasSuffix(head, mark)) {
					list = append(list, id)
					break
				}
			}
		}
		return list
	}).([]Token)
}

// Accept notes that the answer goes on with a token.
func (m *thoughtMatcher) Accept(t Token) error {
	k := &m.tokenizer.thinker
	forced := len(m.forced) > 0
	if forced && t != m.forced[0] {
		return fmt.Errorf("token %d: the thought is over, and token %d closes it", t, m.forced[0])
	}
	thinking := m.splitter.Thinking()
	if m.whole {
		if err := m.inner.Accept(t); err != nil {
			return err
		}
	}
	switch {
	case forced:
		m.forced = m.forced[1:]
	case !m.whole && m.follows():
		opens, may := m.mayOpen()
		if may = may && t == opens; may {
			m.opening++
		} else {
			m.opening = -1
		}
		if err := m.inner.Accept(t); err != nil {
			if !may {
				return err
			}
			m.forced = k.open[m.opening:]
		}
	case thinking:
		m.thought++
	}
	m.bytes = k.feed(m.tokenizer, &m.splitter, t, m.bytes)
	m.splitter.Take()
	if thinking && !m.splitter.Thinking() && !m.whole {
		if m.inner != nil {
			m.inner = m.thoughtful.inner.Start()
			if !forced && !bytes.ContainsAny(m.bytes, "\n") {
				m.forced = k.after
			}
		}
	} else if len(m.forced) == 0 {
		m.bound()
	}
	return nil
}

// Forced appends to dst the tokens that have no alternative.
func (m *thoughtMatcher) Forced(dst []Token) []Token {
	if len(m.forced) > 0 {
		return append(dst, m.forced...)
	}
	if m.whole {
		return m.inner.Forced(dst)
	}
	if _, may := m.mayOpen(); m.follows() && !may {
		return m.inner.Forced(dst)
	}
	return dst
}

// Clone returns a matcher that goes on from here on its own.
func (m *thoughtMatcher) Clone() Matcher {
	c := *m
	c.splitter, c.bytes = m.splitter.Clone(), nil
	if m.inner != nil {
		c.inner = m.inner.Clone()
	}
	return &c
}
