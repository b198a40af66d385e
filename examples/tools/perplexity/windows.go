package main

import "github.com/antigravity-go/antigravity/llama"

// cut cuts a text into windows of at most size tokens, each beginning with bos. If bos occurs in the text, a new window begins. Windows of
// one token are left out, since they predict nothing. If bos is negative, windows begin with the text's own tokens.
func cut(text []llama.Token, bos llama.Token, size int) (windows [][]llama.Token) {
	var window []llama.Token
	flush := func() {
		if len(window) > 1 {
			windows = append(windows, window)
		}
		window = nil
	}
	for _, t := range text {
		if len(window) == size || bos >= 0 && t == bos {
			flush()
		}
		if bos >= 0 && len(window) == 0 {
			window = append(window, bos)
		}
		if bos < 0 || t != bos {
			window = append(window, t)
		}
	}
	flush()
	return windows
}

// evenly returns n of the windows, at even distances; all if n is 0 or there are no more.
func evenly[T any](windows []T, n int) []T {
	if n == 0 || n >= len(windows) {
		return windows
	}
	some := make([]T, n)
	for i := range some {
		some[i] = windows[i*len(windows)/n]
	}
	return some
}
