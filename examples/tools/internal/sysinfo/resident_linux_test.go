package sysinfo

import "testing"

func TestResidentPages(t *testing.T) {
	for text, want := range map[string]int64{
		"765 446 418 5 0 123 0\n": 446, "": 0, "765": 0, "1 x": 0, "1 -5 3": 0, "1 99999999999999999999 3": 0,
	} {
		if got := residentPages([]byte(text)); got != want {
			t.Errorf("%q: %d pages, want %d", text, got, want)
		}
	}
}
