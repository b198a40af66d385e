package cli

import (
	"testing"
	"time"
)

func TestWords(t *testing.T) {
	for got, want := range map[string]string{
		Count(0, "token"): "0 tokens", Count(1, "token"): "1 token", Count(2, "token"): "2 tokens",
		Bytes(4_512_345): "4.5 MB", Bytes(1_250_000_000): "1.2 GB",
		Seconds(3600 * time.Microsecond): "4 ms", Seconds(1250 * time.Millisecond): "1.25 s",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
