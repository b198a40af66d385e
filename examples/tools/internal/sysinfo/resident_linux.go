package sysinfo

import (
	"bytes"
	"os"
	"strconv"
)

// residentSource reads /proc/self/statm, which stays open. The kernel writes it anew each time that it is read from its beginning.
type residentSource struct {
	file *os.File // nil: no such file
	text []byte
}

func openResident() residentSource {
	file, err := os.Open("/proc/self/statm")
	if err != nil {
		return residentSource{}
	}
	return residentSource{file, make([]byte, 128)}
}

func (s *residentSource) bytes() int64 {
	if s.file == nil {
		return 0
	}
	n, _ := s.file.ReadAt(s.text, 0) // the end of the file is an error
	return residentPages(s.text[:n]) * int64(os.Getpagesize())
}

// residentPages returns the second number of statm.
func residentPages(statm []byte) int64 {
	numbers := bytes.Fields(statm)
	if len(numbers) < 2 {
		return 0
	}
	pages, err := strconv.ParseInt(string(numbers[1]), 10, 40)
	if err != nil || pages < 0 {
		return 0
	}
	return pages
}

func (s *residentSource) close() error {
	if s.file == nil {
		return nil
	}
	return s.file.Close()
}
