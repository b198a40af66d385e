// Package sysinfo describes the machine that a program runs on: what it is, how it fares meanwhile, and how much of its memory the program
// takes.
//
// Nearly all of it is read from files under /proc and /sys. They differ from one device to the next, and Android hides some of them. A
// value that the system does not report is left empty: nothing here fails.
package sysinfo

import (
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"github.com/klauspost/cpuid/v2"
)

// System is a machine as its files describe it. It is safe for concurrent use.
type System struct {
	files    fs.FS                    // from the root
	brand    string                   // the processor's name, from the processor itself
	property func(name string) string // a property of an Android device
}

// Here returns the machine that the program runs on.
func Here() *System {
	return &System{os.DirFS("/"), strings.TrimSpace(cpuid.CPU.BrandName), androidProperty}
}

// maxText is how much of a file is read, in bytes; the longest here, /proc/cpuinfo, has some kilobytes for each processor.
const maxText = 1 << 20

// text returns what a file says, without white space around it; "" if it cannot be read.
func (s *System) text(path string) string {
	f, err := s.files.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxText))
	if err != nil {
		return ""
	}
	return strings.Trim(string(data), " \t\n\x00") // what comes from a device tree ends with a zero
}

// number returns the number in a file; false if it cannot be read or holds no number.
func (s *System) number(path string) (float64, bool) {
	n, err := strconv.ParseInt(s.text(path), 10, 64)
	if err != nil {
		return 0, false
	}
	return float64(n), true
}

// maxFiles is how many files of one kind are read: of a machine with more processors, the first ones say enough.
const maxFiles = 256

// glob returns the files of a pattern.
func (s *System) glob(pattern string) []string {
	list, _ := fs.Glob(s.files, pattern) // the patterns are ours, and right
	return list[:min(len(list), maxFiles)]
}

// field is a line "name : value".
type field struct{ name, value string }

// fields returns the lines of a file such as /proc/cpuinfo.
func (s *System) fields(path string) (list []field) {
	for line := range strings.Lines(s.text(path)) {
		if name, value, ok := strings.Cut(line, ":"); ok {
			list = append(list, field{strings.TrimSpace(name), strings.TrimSpace(value)})
		}
	}
	return list
}
