package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/antigravity-go/antigravity/llama"
)

// reader reads pages with a model.
type reader struct {
	pool   *llama.Pool
	prompt string
	params llama.Params
}

// readAll reads pages, several at once, and writes a line about each to w. A page that cannot be read is an error at the end, and the others are read. The end
// of the context is the end at once: pages that are not complete are not written.
func (r *reader) readAll(ctx context.Context, pages []page, parallel int, w io.Writer) error {
	var (
		mu           sync.Mutex
		done, failed int
	)
	report := func(p *page, tokens int, took time.Duration, err error) {
		mu.Lock()
		defer mu.Unlock()
		if done++; err != nil {
			failed++
			fmt.Fprintf(w, "[%d/%d] %s: %v\n", done, len(pages), p.picture, err)
			return
		}
		fmt.Fprintf(w, "[%d/%d] %s: %d tokens in %.1f s\n", done, len(pages), p.picture, tokens, took.Seconds())
	}
	next := make(chan *page)
	var workers sync.WaitGroup
	for range min(parallel, len(pages)) {
		workers.Go(func() {
			for p := range next {
				began := time.Now()
				text, tokens, err := r.read(ctx, p)
				if err == nil {
					err = p.write(text)
				}
				if ctx.Err() == nil || err == nil {
					report(p, tokens, time.Since(began), err)
				}
			}
		})
	}
hand:
	for i := range pages {
		select {
		case next <- &pages[i]:
		case <-ctx.Done():
			break hand
		}
	}
	close(next)
	workers.Wait()
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("%d of %d pages are done: %w", done-failed, len(pages), ctx.Err())
	case failed > 0:
		return fmt.Errorf("%d of %d pages could not be read", failed, len(pages))
	}
	return nil
}

// read returns what stands on a page, and of how many tokens it is.
func (r *reader) read(ctx context.Context, p *page) (text string, tokens int, err error) {
	file, err := os.ReadFile(p.picture)
	if err != nil {
		return "", 0, err
	}
	picture, err := llama.NewImage(file)
	if err != nil {
		return "", 0, err
	}
	history := []llama.Message{{Role: llama.RoleUser, Parts: []llama.Part{{Image: picture}, {Text: r.prompt}}}}
	var all strings.Builder
	var stop llama.StopReason
	for piece, err := range r.pool.Chat(ctx, history, r.params) {
		if err != nil {
			return "", 0, err
		}
		all.WriteString(piece.Text)
		tokens += len(piece.Tokens)
		stop = piece.Stop
	}
	if stop == llama.MaxTokens || stop == llama.ContextFull {
		return "", tokens, fmt.Errorf("the text is not complete after %d tokens: try a larger -max-tokens or -context; a text that repeats itself has no end", tokens)
	}
	return all.String(), tokens, nil
}
