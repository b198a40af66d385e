//go:build !(linux || darwin || freebsd || netbsd || openbsd)

package asm

import "testing"

// fenced returns n bytes; this system has no portable way to protect the page behind them.
func fenced(_ testing.TB, n int) []byte { return make([]byte, n) }
