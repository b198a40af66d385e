// Package monitor measures how much memory the process can still use, for llama.SessionOptions.Monitor and eviction.Manager.
//
// NewSystem asks the operating system. NewPressure adds what Linux says of tasks that wait for memory. NewPushed gets its figure from the
// host program, as on phones.
package monitor
