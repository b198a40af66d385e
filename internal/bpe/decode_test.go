package bpe

import "testing"

func TestLossy(t *testing.T) {
	// One U+FFFD for each maximal subpart; the last cases are the Unicode Standard's tables 3-8 to 3-11.
	for _, c := range []struct{ name, bytes, want string }{
		{"valid", "aé한🦙", "aé한🦙"},
		{"U+FFFD itself", "\uFFFD", "\uFFFD"},
		{"cut after two bytes of three", "a\xe2\x82", "a\uFFFD"},
		{"cut after three bytes of four", "\xf0\x9f\xa6z", "\uFFFDz"},
		{"lone continuations", "\x80\xbf", "\uFFFD\uFFFD"},
		{"overlong", "\xC0\xAF\xE0\x80\xBF\xF0\x81\x82\x41", "\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFDA"},
		{"surrogates", "\xED\xA0\x80\xED\xBF\xBF\xED\xAF\x41", "\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFDA"},
		{"other ill-formed", "\xF4\x91\x92\x93\xFF\x41\x80\xBF\x42", "\uFFFD\uFFFD\uFFFD\uFFFD\uFFFDA\uFFFD\uFFFDB"},
		{"truncated", "\xE1\x80\xE2\xF0\x91\x92\xF1\xBF\x41", "\uFFFD\uFFFD\uFFFD\uFFFDA"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := lossy([]byte(c.bytes)); got != c.want {
				t.Errorf("lossy(%x) = %+q, want %+q", c.bytes, got, c.want)
			}
		})
	}
}
