//go:build js && wasm

// Program is the page's part in Go. It runs in a Web Worker, takes questions from the page and posts the answers, piece by piece.
package main

import (
	"bytes"
	"context"
	"io/fs"
	"runtime"
	"syscall/js"
	"time"

	"github.com/antigravity-go/antigravity/examples/browser/internal/answers"
	"github.com/antigravity-go/antigravity/llama"
)

// often is how long the model computes before the worker looks for messages of the page, such as one that stops the answer.
const often = 50 * time.Millisecond

func main() {
	if err := serve(); err != nil {
		post(map[string]any{"kind": "failed", "text": err.Error()})
	}
}

// post sends a message to the page.
func post(message map[string]any) { js.Global().Call("postMessage", message) }

// question is a message of the page.
type question struct{ kind, text string }

// serve loads the model that worker.js has fetched, and answers.
func serve() error {
	began := time.Now()
	array := js.Global().Get("model")
	file := make(memory, array.Get("length").Int())
	js.CopyBytesToGo(file, array)
	js.Global().Set("model", js.Undefined())
	loaded, err := llama.LoadFS(context.Background(), file, "model.gguf", nil)
	if err != nil {
		return err
	}
	file = nil // the weights are copied
	runtime.GC()
	model, err := answers.New(loaded)
	if err != nil {
		return err
	}
	questions := make(chan question, 16)
	stopped := false
	js.Global().Set("onmessage", js.FuncOf(func(_ js.Value, args []js.Value) any {
		data := args[0].Get("data")
		switch q := (question{data.Get("kind").String(), data.Get("text").String()}); q.kind {
		case "stop":
			stopped = true
		default:
			select {
			case questions <- q:
			default: // the page asks one question at a time
			}
		}
		return nil
	}))
	post(map[string]any{"kind": "ready", "milliseconds": time.Since(began).Milliseconds()})
	for q := range questions {
		if q.kind == "forget" {
			model.Forget()
			continue
		}
		stopped = false
		began, looked, first := time.Now(), time.Now(), time.Duration(0)
		answer, err := model.Ask(context.Background(), q.kind, q.text, func(text string) bool {
			if first == 0 {
				first = time.Since(began)
			}
			post(map[string]any{"kind": "text", "text": text})
			if time.Since(looked) > often {
				time.Sleep(time.Millisecond) // which lets the worker read its messages
				looked = time.Now()
			}
			return !stopped
		})
		end := map[string]any{
			"kind": "end", "tokens": answer.Tokens, "digest": answer.Digest, "first": first.Milliseconds(), "milliseconds": time.Since(began).Milliseconds(),
		}
		switch {
		case stopped:
			end["text"] = "stopped"
		case err != nil:
			end["text"] = err.Error()
		}
		post(end)
	}
	return nil
}

// memory is a file system with one file, the model, in memory.
type memory []byte

// Open opens the file, whatever its name.
func (m memory) Open(name string) (fs.File, error) {
	if name != "model.gguf" {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return &file{bytes.NewReader(m)}, nil
}

// file is the open file, and what Stat says of it.
type file struct{ *bytes.Reader }

func (f *file) Stat() (fs.FileInfo, error) { return f, nil }
func (f *file) Close() error               { return nil }
func (f *file) Name() string               { return "model.gguf" }
func (f *file) Mode() fs.FileMode          { return 0o444 }
func (f *file) ModTime() time.Time         { return time.Time{} }
func (f *file) IsDir() bool                { return false }
func (f *file) Sys() any                   { return nil }
