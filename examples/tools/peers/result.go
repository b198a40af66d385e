package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"
)

// result is one figure, a line of the file of results.
type result struct {
	Model   string `json:"model"` // the file's name
	Program string `json:"program"`
	cell
	Rate      float64   `json:"tokens_per_second"`
	PeakBytes int64     `json:"peak_rss_bytes,omitempty"` // of the process; 0: the system does not report it
	Others    float64   `json:"others"`                   // the part of the processors' time that other programs took
	Threads   int       `json:"threads"`
	Round     int       `json:"round"`
	Time      time.Time `json:"time"`
	Processor string    `json:"processor"`
	Command   []string  `json:"command"`
}

// readResults reads a file of results. There need not be a file yet. A last line that was cut off is an error.
func readResults(path string) (known []result, err error) {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("the file of results: %w", err)
	}
	defer file.Close()
	in := bufio.NewReader(file)
	for line := 1; ; line++ {
		text, err := in.ReadBytes('\n')
		if err != nil {
			if len(text) > 0 {
				return nil, fmt.Errorf("%s: line %d was cut off: remove it", path, line)
			}
			return known, nil
		}
		var r result
		if err := json.Unmarshal(text, &r); err != nil {
			return nil, fmt.Errorf("%s: line %d is no result: %w", path, line, err)
		}
		known = append(known, r)
	}
}
