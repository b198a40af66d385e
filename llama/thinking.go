package llama

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/antigravity-go/antigravity/internal/thoughts"
)

// A thinker knows the marks around a model's thoughts, and finds out from a prompt whether a thought is open. A thoughtMatcher keeps an
// answer to the bounds of Thinking: it lets a thought pass, forces its end when it has had its budget, and then starts the constraint of
// the answer. For example, the marks are <think> and </think>, the prompt ends with <think>, Budget is 2, and answers are JSON:
//
//	token      state after it
//	Hm         1 token of the thought; anything but the answer's end may follow
//	well       2 tokens: bound makes thinker.close forced
//	</think>   forced, with the white space around it; inner is a new matcher
//	{          inner allows it, and follows the answer from here on

// Thinking says whether a model thinks before it answers, and for how long. The zero value leaves both to the model and to its chat
// template. For a model that does not think any value is right, and changes nothing.
type Thinking struct {
	// Enabled says whether the model thinks; nil: as its template has it. A template learns of it as enable_thinking, or as thinking,
	// if it reads one of these variables. With false, a thought that begins all the same is closed at once.
	Enabled *bool
	// Budget is the most tokens of a thought, without the marks around it; 0: no bound. A thought that has them is closed, and the answer
	// follows.
	Budget int
	// Effort is the word that a template learns as reasoning_effort, if it reads that variable: "low", "medium", "high". "" leaves it
	// undefined. For models that answer in channels (HarmonyCalls), which know these three words and always think, words for less than "low"
	// are "low", words for more than "high" are "high", and Enabled false is "low", too.
	Effort string
}

// off reports whether no thought is wanted.
func (t *Thinking) off() bool { return t.Enabled != nil && !*t.Enabled }

// thinker is what a tokenizer knows of its model's thoughts. It is immutable.
//
// Invariant: ids[i] is the token of the mark texts[i].
type thinker struct {
	format  *thoughts.Format // nil: the model marks no thoughts
	ids     []Token
	texts   []string
	open    []Token // what opens a thought
	close   []Token // what closes it when it has had its budget, with the white space that leads to the answer
	after   []Token // the end of close: what stands between the mark and the answer
	leave   []Token // what closes it if any message may follow; nil: the model has no channels
	channel []Token // the tokens with which the name of the thought's channel may begin; nil: the model has no channels
	without []Token // what opens an answer without a thought; nil: nothing does
}

// newThinker returns the thinker of a tokenizer and its chat template.
func newThinker(t *Tokenizer, template string) thinker {
	added := func(token string) bool { return slices.Contains(t.vocabulary.Added(), token) }
	k := thinker{format: thoughts.Of(template, added)}
	if k.format == nil {
		return k
	}
	for _, mark := range k.format.Marks() {
		if id, ok := t.ID(mark); ok && added(mark) {
			k.ids, k.texts = append(k.ids, id), append(k.texts, mark)
		}
	}
	k.open = k.encode(t, k.format.Open+k.format.Label)
	k.after = k.encode(t, k.format.AfterClose)
	k.close = slices.Concat(k.encode(t, k.format.BeforeClose), k.encode(t, k.format.Close), k.after)
	k.without = k.encode(t, k.format.Begin())
	if k.format.Channel != "" {
		k.leave = k.encode(t, k.format.Close+k.format.Next)
		for n := range k.format.Channel {
			if id, ok := t.ID(k.format.Channel[:n+1]); ok {
				k.channel = append(k.channel, id)
			}
		}
	}
	return k
}

// encode returns the tokens of a text of the format's, in which marks are their tokens.
func (k *thinker) encode(t *Tokenizer, text string) (tokens []Token) {
	for text != "" {
		at, which := len(text), -1
		for i, mark := range k.texts {
			if from := strings.Index(text, mark); from >= 0 && from < at {
				at, which = from, i
			}
		}
		if at > 0 {
			tokens = append(tokens, t.EncodeContinuation(text[:at])...)
		}
		if which < 0 {
			break
		}
		tokens = append(tokens, k.ids[which])
		text = text[at+len(k.texts[which]):]
	}
	return tokens
}

// mark returns the mark that a token is, "" if it is no mark.
func (k *thinker) mark(t Token) string {
	if i := slices.Index(k.ids, t); i >= 0 {
		return k.texts[i]
	}
	return ""
}

// feed gives a token to a splitter. It returns the bytes of the token in the memory of scratch, and no bytes for a mark.
func (k *thinker) feed(t *Tokenizer, s *thoughts.Splitter, token Token, scratch []byte) []byte {
	if mark := k.mark(token); mark != "" && s.Mark(mark) {
		return scratch[:0]
	}
	scratch = t.AppendBytes(scratch[:0], token)
	s.Write(scratch)
	return scratch
}

// openAtEnd is how many of a prompt's last tokens are looked at for a mark that is text.
const openAtEnd = 32

// opens reports whether a prompt leaves a thought open, and whether something of the thought is there. If the marks are tokens, the last
// one of them says so: a user's text has no such tokens. A mark that is text has to stand at the prompt's end, with nothing but white space
// after it.
func (k *thinker) opens(t *Tokenizer, prompt []Token) (open, begun bool) {
	if k.format == nil {
		return false, false
	}
	if k.leave != nil {
		s := k.lastMessage(t, prompt)
		thought, _ := s.Take()
		return s.Thinking(), s.Thinking() && len(bytes.TrimRight(thought, white)) > 0
	}
	if slices.Contains(k.texts, k.format.Open) && slices.Contains(k.texts, k.format.Close) {
		for i, token := range slices.Backward(prompt) {
			if mark := k.mark(token); mark != "" {
				open = mark == k.format.Open
				return open, open && k.begins(t, prompt[i+1:])
			}
		}
		return false, false
	}
	var end []byte
	for _, token := range prompt[max(len(prompt)-openAtEnd, 0):] {
		if mark := k.mark(token); mark != "" {
			end = append(end, mark...)
		} else {
			end = t.AppendBytes(end, token)
		}
	}
	return bytes.HasSuffix(bytes.TrimRight(end, white), []byte(k.format.Open)), false
}

// lastMessage returns a splitter that has read the message with which a prompt ends, of a model that answers in channels.
func (k *thinker) lastMessage(t *Tokenizer, prompt []Token) (s thoughts.Splitter) {
	s.Start(k.format, k.texts, false)
	from := len(prompt)
	for i, token := range slices.Backward(prompt) {
		if mark := k.mark(token); mark != "" && strings.HasPrefix(k.format.Next, mark) {
			from = i
			break
		}
	}
	var b []byte
	for _, token := range prompt[from:] {
		b = k.feed(t, &s, token, b)
	}
	return s
}

// answers reports whether a prompt ends within the answer's text, of a model that answers in channels.
func (k *thinker) answers(t *Tokenizer, prompt []Token) bool {
	if k.leave == nil {
		return false
	}
	s := k.lastMessage(t, prompt)
	return s.Answering()
}

// closed reports whether a prompt ends with a thought that is closed, and with nothing but white space after it, as templates write it for a model
// that is not to think. It finds marks that are tokens alone.
func (k *thinker) closed(t *Tokenizer, prompt []Token) bool {
	var b []byte
	for _, token := range slices.Backward(prompt) {
		if mark := k.mark(token); mark != "" {
			return mark == k.format.Close
		}
		if b = t.AppendBytes(b[:0], token); len(bytes.TrimRight(b, white)) > 0 {
			return false
		}
	}
	return false
}

// begins reports whether something of a thought is in the tokens after the mark that opens it.
func (k *thinker) begins(t *Tokenizer, after []Token) bool {
	var text, b []byte
	for _, token := range after {
		b = t.AppendBytes(b[:0], token)
		if text = append(text, b...); len(text) > len(k.format.Label) && len(bytes.TrimRight(text[len(k.format.Label):], white)) > 0 {
			return true
		}
	}
	text = bytes.TrimPrefix(text, []byte(k.format.Label))
	return len(bytes.TrimRight(text, white)) > 0
}

const white = " \t\r\n"

// closes reports whether an answer closes a thought that a prompt has opened.
func (k *thinker) closes(t *Tokenizer, answer []Token) bool {
	if k.leave != nil {
		i := slices.IndexFunc(answer, func(t Token) bool { return k.mark(t) != "" })
		return i >= 0 && k.mark(answer[i]) == k.format.Close
	}
	var s thoughts.Splitter
	var b []byte
	s.Start(k.format, k.texts, true)
	for _, token := range answer {
		b = k.feed(t, &s, token, b)
		if !s.Thinking() {
			return true
		}
	}
	return false
}

// goOn returns a prompt that goes on with a thought, as if the model had thought it: with what opens a thought, unless the end of the prompt
// does, the text of the thought and, if closed is set, what closes it. It is for answers with a given beginning: without it the beginning
// would be a part of the thought that some templates open. A prompt that opens no thought is returned as it is if the text is empty, and so
// is any prompt for a model that marks no thoughts.
func (k *thinker) goOn(t *Tokenizer, prompt []Token, text string, closed bool) []Token {
	open, _ := k.opens(t, prompt)
	if k.format == nil || !open && text == "" && (!closed || k.without == nil || k.answers(t, prompt)) {
		return prompt
	}
	prompt = slices.Clip(prompt)
	if !open && text == "" {
		return append(prompt, k.without...)
	}
	if !open {
		prompt = append(append(prompt, k.open...), k.encode(t, k.format.BeforeClose)...)
	}
	if text != "" {
		prompt = append(prompt, t.EncodeContinuation(text)...)
	}
	if closed {
		prompt = append(prompt, k.close...)
	}
	return prompt
}

// Thinks reports whether the model's thoughts are told from its answers: whether its chat template, or its vocabulary, has marks for them.
func (t *Tokenizer) Thinks() bool { return t.thinker.format != nil }

// thinkingConstraint returns what an answer of m to a prompt keeps to: the bounds of the thought, and c after the thought. It is c itself
// if there is nothing to bound.
func thinkingConstraint(m *Model, c Constraint, o Thinking, prompt []Token) Constraint {
	k := &m.tokenizer.thinker
	if k.format == nil || c == nil && o.Budget == 0 && !o.off() || slices.ContainsFunc(k.close, m.IsEnd) {
		return c
	}
	open, _ := k.opens(m.tokenizer, prompt)
	answers := k.answers(m.tokenizer, prompt)
	whole, ok := c.(WholeConstraint)
	if ok = ok && whole.Whole() && k.leave != nil; answers && !ok {
		return c
	}
	return &thoughtful{c, m.tokenizer, o, open, k.closed(m.tokenizer, prompt), answers, ok}
}

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
