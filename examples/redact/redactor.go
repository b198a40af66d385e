package main

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/antigravity-go/antigravity/llama"
)

// The bounds of a block, in bytes.
const (
	leastBlock = 256
	mostBlock  = 16 << 20
)

// A redactor reads a text block by block. With blocks of 8 KiB the model sees
//
//	bytes 0 to 8191         0 to about 7168 are written, up to the end of a word that is no part of an entity
//	about 6144 to 14335     about 7168 to 13312 are written
//
// and so on, so that written text had a KiB of text on both sides. Blocks are filled before they are looked at: how the text arrives makes no
// difference.
type redactor struct {
	find   func(ctx context.Context, text string) ([]llama.Entity, error)
	out    io.Writer
	labels []string // nil: all
	mask   string   // for each character; "": the label in brackets
	least  float32
	block  int
	counts map[string]int // of masks, by label
	cut    string         // the label of an entity that was longer than a block, and that goes on up to the end of its word; "": no entity was
}

// copy masks a text.
func (r *redactor) copy(ctx context.Context, in io.Reader) error {
	buffer := make([]byte, 0, r.block)
	done := 0 // bytes of the buffer that have been written
	for {
		n, err := io.ReadFull(in, buffer[len(buffer):r.block])
		buffer = buffer[:len(buffer)+n]
		last := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
		if err != nil && !last {
			return err
		}
		if len(buffer) == done {
			return nil
		}
		text := string(buffer)
		entities, err := r.find(ctx, text)
		if err != nil {
			return err
		}
		entities = slices.DeleteFunc(entities, func(e llama.Entity) bool {
			return e.Score < r.least || r.labels != nil && !slices.Contains(r.labels, e.Label) || e.End <= done
		})
		entities = r.goesOn(text, done, entities)
		end := len(text)
		if !last {
			end = r.safe(text, done, entities)
		}
		if _, err := io.WriteString(r.out, r.masked(text, done, end, entities)); err != nil || last {
			return err
		}
		from := max(end-r.block/8, 0)
		for from < end && !utf8.RuneStart(text[from]) {
			from++
		}
		done = end - from
		buffer = append(buffer[:0], text[from:]...)
	}
}

// spaces end words.
const spaces = " \n\r\t"

// goesOn puts the rest of an entity that the block before has cut before the others.
func (r *redactor) goesOn(text string, done int, entities []llama.Entity) []llama.Entity {
	if r.cut == "" {
		return entities
	}
	end := len(text)
	if n := strings.IndexAny(text[done:], spaces); n >= 0 {
		end = done + n
	}
	entities = slices.DeleteFunc(entities, func(e llama.Entity) bool { return e.Start < end && e.End <= end })
	return slices.Insert(entities, 0, llama.Entity{Label: r.cut, Start: done, End: end})
}

// safe returns up to which byte a block can be written: with some text after it, at the end of a word, and outside of entities. If there is no such
// byte, words and then entities are cut.
func (r *redactor) safe(text string, done int, entities []llama.Entity) int {
	limit := len(text) - r.block/8
	inside := func(at int) bool {
		return slices.ContainsFunc(entities, func(e llama.Entity) bool { return e.Start < at && at < e.End })
	}
	for at := limit; at > done; at-- {
		if strings.IndexByte(spaces, text[at-1]) >= 0 && !inside(at) {
			return at
		}
	}
	for at := limit; at > done; at-- {
		if utf8.RuneStart(text[at]) && !inside(at) {
			return at
		}
	}
	for at := limit; at > done; at-- {
		if utf8.RuneStart(text[at]) {
			return at
		}
	}
	return limit
}

// masked returns the bytes from one to another with masks over the entities, and counts these.
func (r *redactor) masked(text string, from, to int, entities []llama.Entity) string {
	var b strings.Builder
	before := r.cut
	r.cut = ""
	for i, e := range entities {
		start, end := max(e.Start, from), min(e.End, to)
		if start >= end {
			continue
		}
		b.WriteString(text[from:start])
		again := before != "" && i == 0
		switch {
		case r.mask != "":
			b.WriteString(strings.Repeat(r.mask, utf8.RuneCountInString(text[start:end])))
		case !again:
			b.WriteString("[" + e.Label + "]")
		}
		if !again {
			r.counts[e.Label]++
		}
		if from = end; end < e.End || end == len(text) && again {
			r.cut = e.Label
		}
	}
	b.WriteString(text[from:to])
	return b.String()
}
