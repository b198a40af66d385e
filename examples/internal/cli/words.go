package cli

import (
	"fmt"
	"time"
)

// Count returns a number of things in words: "1 token", "2 tokens".
func Count(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return fmt.Sprintf("%d %s", n, thing)
}

// Bytes returns a number of bytes in words: "4.5 MB", "1.2 GB".
func Bytes(n int64) string {
	if n >= 1e9 {
		return fmt.Sprintf("%.1f GB", float64(n)/1e9)
	}
	return fmt.Sprintf("%.1f MB", float64(n)/1e6)
}

// Seconds returns a time in words: "4 ms", "1.25 s".
func Seconds(d time.Duration) string {
	if d < time.Second {
		return fmt.Sprintf("%.0f ms", d.Seconds()*1e3)
	}
	return fmt.Sprintf("%.2f s", d.Seconds())
}
