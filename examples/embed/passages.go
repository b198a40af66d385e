package main

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// passage is lines of a file that are searched as one.
type passage struct {
	First, Last int // lines, counted from 1
}

// A cutter cuts files into passages: paragraphs together, as many as fit, and long paragraphs between lines. A heading begins a passage.
//
// Of a file with paragraphs of 40, 50 and 90 tokens, a cutter with 100 tokens makes two passages: the first two paragraphs, and the third.
type cutter struct {
	tokens int                   // that a passage may have
	count  func(text string) int // tokens of a text
}

// cut returns the passages of a file's lines. A line that is longer than a passage may be is a passage by itself; see text.
func (c *cutter) cut(lines []string) []passage {
	counts := make([]int, len(lines)) // of tokens, 0 for an empty line
	for i, line := range lines {
		if strings.TrimSpace(line) != "" {
			counts[i] = c.count(line) + 1 // with the line's end
		}
	}
	var passages []passage
	var now passage          // Last is 0 while there is nothing
	tokens, body := 0, false // of now; body: it has more than headings
	end := func() {
		if now.Last > 0 && body {
			passages = append(passages, now)
			now, tokens, body = passage{}, 0, false
		}
	}
	for i := 0; i < len(lines); {
		if counts[i] == 0 {
			i++
			continue
		}
		to, size := paragraph(lines, counts, i)
		if isHeading(lines[i]) || tokens+size > c.tokens {
			end()
		}
		for ; i < to; i++ {
			if tokens+counts[i] > c.tokens {
				end()
			}
			if now.Last == 0 {
				now.First = i + 1
			}
			now.Last = i + 1
			tokens += counts[i]
			body = body || !isHeading(lines[i])
		}
	}
	body = true // what a file ends with is a passage, even if it is a heading
	end()
	return passages
}

// paragraph returns the end of the paragraph that begins at the line from, and how many tokens it has.
func paragraph(lines []string, counts []int, from int) (to, tokens int) {
	for to = from; to < len(lines) && counts[to] > 0 && (to == from || !isHeading(lines[to])); to++ {
		tokens += counts[to]
	}
	return to, tokens
}

// isHeading reports whether a line is a heading of Markdown.
func isHeading(line string) bool {
	rest := strings.TrimLeft(line, "#")
	return len(rest) < len(line) && strings.HasPrefix(rest, " ")
}

// text returns the text to embed for a passage: its lines, after the heading under which they stand, and no more tokens than a passage may
// have.
func (c *cutter) text(lines []string, p passage) string {
	body := strings.Join(lines[p.First-1:p.Last], "\n")
	for i := p.First - 2; i >= 0 && !isHeading(lines[p.First-1]); i-- {
		if isHeading(lines[i]) {
			body = strings.TrimSpace(strings.TrimLeft(lines[i], "#")) + "\n" + body
			break
		}
	}
	for body != "" && c.count(body) > c.tokens {
		body = strings.ToValidUTF8(body[:len(body)*3/4], "")
	}
	return body
}

// linesOf returns the lines of a file, and false if it is no text.
func linesOf(data []byte) ([]string, bool) {
	if bytes.IndexByte(data, 0) >= 0 || !utf8.Valid(data) {
		return nil, false
	}
	return strings.Split(strings.ReplaceAll(string(data), "\r\n", "\n"), "\n"), true
}
