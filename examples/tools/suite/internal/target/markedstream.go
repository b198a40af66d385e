package target

import (
	"bytes"
	"io"
	"strings"
	"sync"
)

// markedStream passes on what a program writes and takes the lines out that remoteRun.script writes among it: a prefix that is drawn at random,
// a word, and a bracket. It holds back only what may be the beginning of such a line.
type markedStream struct {
	out    io.Writer
	prefix string
	told   func(word string)

	mu   sync.Mutex
	held []byte // the beginning of a mark, or nothing
	tail []byte // the end of the data passed on, at most maxTail bytes
}

// maxTail is how much of a program's last words is kept, in bytes; maxWord bounds a mark's word.
const (
	maxTail = 4 << 10
	maxWord = 64
)

// Write never fails for want of a reader: a program over there is not to be blocked by a terminal here that was closed.
func (m *markedStream) Write(p []byte) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.held = append(m.held, p...)
	for {
		at := bytes.Index(m.held, []byte(m.prefix))
		if at < 0 {
			m.pass(len(m.held) - m.beginning())
			return len(p), nil
		}
		m.pass(at)
		end := bytes.IndexByte(m.held, '\n')
		if end < 0 {
			if len(m.held) > len(m.prefix)+maxWord { // no mark after all
				m.pass(len(m.prefix))
				continue
			}
			return len(p), nil
		}
		word, _, _ := strings.Cut(string(m.held[len(m.prefix):end]), "]")
		m.held = append(m.held[:0], m.held[end+1:]...)
		m.told(word)
	}
}

// beginning returns how many bytes at the end may be the beginning of a mark.
func (m *markedStream) beginning() int {
	for n := min(len(m.held), len(m.prefix)-1); n > 0; n-- {
		if strings.HasPrefix(m.prefix, string(m.held[len(m.held)-n:])) {
			return n
		}
	}
	return 0
}

// pass hands n bytes on.
func (m *markedStream) pass(n int) {
	if n == 0 {
		return
	}
	m.out.Write(m.held[:n])
	m.tail = append(m.tail, m.held[:n]...)
	m.tail = m.tail[max(0, len(m.tail)-maxTail):]
	m.held = append(m.held[:0], m.held[n:]...)
}

// last returns the end of the data that was passed on.
func (m *markedStream) last() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return string(m.tail)
}

// flush passes on the data held back.
func (m *markedStream) flush() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.pass(len(m.held))
}
