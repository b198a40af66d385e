package dataurl

import (
	"bytes"
	"strings"
	"testing"
)

func TestDecode(t *testing.T) {
	long := bytes.Repeat([]byte{0xfb, 0xef, 0xff}, 1000)
	for url, want := range map[string][]byte{
		"data:image/png;base64,aGk=":            []byte("hi"),
		"DATA:;BASE64,aGk":                      []byte("hi"),
		"data:image/png;name=a.png;base64,aGk=": []byte("hi"),
		"data:;base64,aG\nk=\r\n":               []byte("hi"),
		"data:;base64,-_8":                      {0xfb, 0xff},
		"data:;base64,+/8=":                     {0xfb, 0xff},
		Encode("image/webp", long):              long,
		"data:;base64,":                         nil,
		"data:;base64":                          nil,
		"data:image/png,hi":                     nil,
		"data:;base64,a":                        nil,
		"data:;base64,a*==":                     nil,
		"data:;base64,aGk=aGk=":                 nil,
		"data:;base64,-/8=":                     nil,
		"http://example.com/a.png":              nil,
		"dat":                                   nil,
		"":                                      nil,
		"data:" + strings.Repeat("a", maxHead) + ";base64,aGk=":   nil,
		"data:" + strings.Repeat("a", maxHead-14) + ";base64,aGk": []byte("hi"),
	} {
		got, err := Decode(url)
		if (err == nil) != (want != nil) || !bytes.Equal(got, want) {
			t.Errorf("%.40q: %q, %v; want %.20q", url, got, err, want)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add("data:image/png;base64,aGk=")
	f.Fuzz(func(t *testing.T, url string) {
		data, err := Decode(url)
		if err != nil {
			return
		}
		if again, err := Decode(Encode("", data)); err != nil || !bytes.Equal(again, data) {
			t.Errorf("%q: %v", url, err)
		}
	})
}
