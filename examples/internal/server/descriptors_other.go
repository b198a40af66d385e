//go:build !unix

package server

// maxDescriptors returns how many files the process may have open; ok is false if nobody knows.
func maxDescriptors() (n int, ok bool) { return 0, false }
