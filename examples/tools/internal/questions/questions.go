// Package questions reads files of questions that have one right answer, and asks them.
//
// A file has a question a line: {"skill":"…","messages":[["user","…"],…],"answer":"…"}. Of a skill with "_late" in its name the last
// message is a turn of its own: programs that shrink the cache do so before it, so that no eviction policy can know what matters.
package questions

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/antigravity-go/antigravity/internal/quiz"
)

// Pebble is the name of the questions that are part of the programs, which the model Pebble was not trained with. For a file of that name
// write ./pebble.
const Pebble = "pebble"

// Question is one line of a file.
type Question struct {
	Skill    string      `json:"skill"`
	Messages [][2]string `json:"messages"` // role and content; at least one
	Answer   string      `json:"answer"`   // never empty
}

// Late reports whether the last message comes after the eviction.
func (q *Question) Late() bool { return strings.Contains(q.Skill, "_late") && len(q.Messages) > 1 }

// Skill is what a model can do, and questions that need it, at least one.
type Skill struct {
	Name      string
	Questions []Question
}

// The limits of a file of questions.
const (
	maxLine   = 1 << 20   // bytes
	maxBytes  = 256 << 20 // after decompression
	maxSkills = 1000      // that are kept
)

// Read reads the first n questions of each skill, in the order of the skills; without skills, of each skill of the file, in the order in
// which they first occur. A skill without a question is an error. A file with a name that ends with .gz is compressed; the name Pebble
// stands for the questions that are part of the program.
func Read(path string, skills []string, n int) ([]Skill, error) {
	var r io.Reader
	var err error
	if path == Pebble {
		r, err = quiz.Pebble()
	} else {
		file, cannot := os.Open(path)
		if cannot != nil {
			return nil, fmt.Errorf("read questions: %w", cannot) // it names the path
		}
		defer file.Close()
		if r = file; strings.HasSuffix(path, ".gz") {
			r, err = gzip.NewReader(file)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("read questions from %s: %w", path, err)
	}
	found, err := scan(r, skills, n)
	if err != nil {
		return nil, fmt.Errorf("read questions from %s: %w", path, err)
	}
	return found, nil
}

// scan reads lines until each skill has n questions or the file ends; each must have at least one.
func scan(r io.Reader, skills []string, n int) ([]Skill, error) {
	if n < 1 {
		return nil, fmt.Errorf("%d questions of each skill: it must be at least 1", n)
	}
	var found []Skill
	for _, name := range skills {
		if !slices.ContainsFunc(found, func(s Skill) bool { return s.Name == name }) {
			found = append(found, Skill{Name: name})
		}
	}
	var others []string   // the file's other skills, for the message about one that is not in the file
	missing := len(found) // skills that want more questions
	lines := bufio.NewScanner(io.LimitReader(r, maxBytes))
	lines.Buffer(nil, maxLine)
	for i := 1; (missing > 0 || len(skills) == 0) && lines.Scan(); i++ {
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		var q Question
		if err := json.Unmarshal(lines.Bytes(), &q); err != nil {
			return nil, fmt.Errorf("line %d: %w", i, err)
		}
		if len(q.Messages) == 0 || q.Answer == "" {
			return nil, fmt.Errorf("line %d: a question needs messages and an answer", i)
		}
		at := slices.IndexFunc(found, func(s Skill) bool { return s.Name == q.Skill })
		if at < 0 && len(skills) == 0 {
			if len(found) == maxSkills {
				return nil, fmt.Errorf("line %d: more than %d skills: name those to ask about", i, maxSkills)
			}
			at, found = len(found), append(found, Skill{Name: q.Skill})
		}
		switch {
		case at < 0:
			if len(others) < 100 && !slices.Contains(others, q.Skill) {
				others = append(others, q.Skill)
			}
		case len(found[at].Questions) < n:
			if found[at].Questions = append(found[at].Questions, q); len(found[at].Questions) == n {
				missing--
			}
		}
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	for _, s := range found {
		if len(s.Questions) == 0 {
			return nil, fmt.Errorf("no question has the skill %q; others are %s", s.Name, strings.Join(others, ", "))
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("there is no question in it")
	}
	return found, nil
}
