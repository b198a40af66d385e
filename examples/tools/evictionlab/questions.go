package main

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/antigravity-go/antigravity/llama"
)

// question is one line of a file of questions.
type question struct {
	Skill    string      `json:"skill"`
	Messages [][2]string `json:"messages"` // role and content
	Answer   string      `json:"answer"`
}

// late tells whether the last message comes after the eviction.
func (q *question) late() bool { return strings.Contains(q.Skill, "_late") && len(q.Messages) > 1 }

// The limits of a file of questions.
const (
	maxLine  = 1 << 20 // bytes
	maxBytes = 1 << 30 // after decompression
)

// readQuestions reads the first n questions of each skill.
func readQuestions(path string, skills []string, n int) (map[string][]question, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) && path == defaultQuestions {
		return nil, fmt.Errorf("read questions: %w (that is the repository's own file: run from its root, or give -questions)", err)
	}
	if err != nil {
		return nil, fmt.Errorf("read questions: %w", err)
	}
	defer f.Close()
	var r io.Reader = f
	if strings.HasSuffix(path, ".gz") {
		z, err := gzip.NewReader(f)
		if err != nil {
			return nil, fmt.Errorf("read questions from %s: %w", path, err)
		}
		r = z
	}
	found, err := scanQuestions(r, skills, n)
	if err != nil {
		return nil, fmt.Errorf("read questions from %s: %w", path, err)
	}
	return found, nil
}

// scanQuestions reads lines until each skill has n questions or the file ends; each must have at least one.
func scanQuestions(r io.Reader, skills []string, n int) (map[string][]question, error) {
	found := map[string][]question{}
	var others []string // the file's other skills, for the message about one that is not in the file
	missing := len(skills)
	lines := bufio.NewScanner(io.LimitReader(r, maxBytes))
	lines.Buffer(nil, maxLine)
	for i := 1; missing > 0 && lines.Scan(); i++ {
		if len(strings.TrimSpace(lines.Text())) == 0 {
			continue
		}
		var q question
		if err := json.Unmarshal(lines.Bytes(), &q); err != nil {
			return nil, fmt.Errorf("line %d: %w", i, err)
		}
		if len(q.Messages) == 0 || q.Answer == "" {
			return nil, fmt.Errorf("line %d: a question needs messages and an answer", i)
		}
		switch {
		case !slices.Contains(skills, q.Skill):
			if len(others) < 100 && !slices.Contains(others, q.Skill) {
				others = append(others, q.Skill)
			}
		case len(found[q.Skill]) < n:
			if found[q.Skill] = append(found[q.Skill], q); len(found[q.Skill]) == n {
				missing--
			}
		}
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	for _, skill := range skills {
		if len(found[skill]) == 0 {
			return nil, fmt.Errorf("no question has the skill %q; others are %s", skill, strings.Join(others, ", "))
		}
	}
	return found, nil
}

// prompt is a question in tokens.
type prompt struct {
	before []llama.Token // read before the eviction
	after  []llama.Token // read after it
	answer string
}

// render applies the model's chat template.
func (q *question) render(t *llama.Tokenizer) (p prompt, err error) {
	history := make([]llama.Message, len(q.Messages))
	for i, m := range q.Messages {
		history[i] = llama.Message{Role: m[0], Content: m[1]}
	}
	p.answer = q.Answer
	if p.before, err = t.Template(history, llama.TemplateOptions{}); err != nil || !q.late() {
		return p, err
	}
	begun, err := t.Template(history[:len(history)-1], llama.TemplateOptions{Complete: true})
	if err != nil {
		return p, err
	}
	if len(begun) > len(p.before) || !slices.Equal(begun, p.before[:len(begun)]) {
		return p, fmt.Errorf("the chat template renders the beginning of a conversation otherwise than the whole: it cannot be cut before the last message")
	}
	p.before, p.after = begun, p.before[len(begun):]
	return p, nil
}
