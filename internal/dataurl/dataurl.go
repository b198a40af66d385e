// Package dataurl reads and writes data: URLs (RFC 2397), in which requests have the files of images.
//
//	data:image/png;base64,iVBORw0KGgo…
//
// The type is not looked at: programs write wrong ones, and a file begins with what it is.
package dataurl

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
)

// Is reports whether a URL is a data: URL.
func Is(url string) bool { return len(url) >= 5 && strings.EqualFold(url[:5], "data:") }

// Decode returns the bytes of a data: URL in base64.
func Decode(url string) ([]byte, error) {
	if !Is(url) {
		return nil, fmt.Errorf("%.40q is no data: URL", url)
	}
	comma := strings.IndexByte(url[:min(len(url), maxHead)], ',')
	if comma < 0 {
		return nil, fmt.Errorf("the data: URL %.40q has no comma before its data", url)
	}
	if !strings.HasSuffix(strings.ToLower(url[:comma]), ";base64") {
		return nil, fmt.Errorf("the data: URL %.40q has no \";base64\" before its comma", url)
	}
	return Base64(url[comma+1:])
}

// maxHead bounds what stands before the data of a URL.
const maxHead = 1 << 10

// Base64 returns the bytes of a text in base64, standard or for URLs, with padding at its end or without.
func Base64(text string) ([]byte, error) {
	coding := base64.RawStdEncoding
	if strings.ContainsAny(text, "-_") {
		coding = base64.RawURLEncoding
	}
	text = strings.TrimRight(text, "=\r\n")
	if text == "" {
		return nil, errors.New("it has no data")
	}
	data, err := coding.DecodeString(text)
	if err != nil {
		return nil, fmt.Errorf("its data are not base64: %w", err)
	}
	return data, nil
}

// Encode returns a data: URL of a type with data.
func Encode(mediaType string, data []byte) string {
	return "data:" + mediaType + ";base64," + base64.StdEncoding.EncodeToString(data)
}
