package llama

import (
	"bytes"
	"encoding/base64"
	"errors"
	"image"
	"image/color"
	"image/png"
	"strings"
	"testing"
)

// testPicture is a picture, and all of its pixels differ.
func testPicture(width, height int) *image.RGBA {
	img := image.NewRGBA(image.Rect(0, 0, width, height))
	for i := range width * height {
		img.Set(i%width, i/width, color.RGBA{byte(i), byte(i >> 8), 7, 255})
	}
	return img
}

// TestImageSums compares hashes of images: they depend on pixels and size, and on nothing else.
func TestImageSums(t *testing.T) {
	sum := func(i *Image, err error) (string, *Image) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		hash, err := i.sum()
		if err != nil {
			t.Fatal(err)
		}
		return string(hash[:]), i
	}
	var file bytes.Buffer
	if err := png.Encode(&file, testPicture(6, 4)); err != nil {
		t.Fatal(err)
	}
	ofFile, encoded := sum(NewImage(file.Bytes()))
	inMemory, kept := sum(ImageOf(testPicture(6, 4)))
	if ofFile != inMemory {
		t.Error("the same pixels in a file and in memory have different hashes")
	}
	for _, other := range []image.Image{testPicture(4, 6), testPicture(6, 5), testPicture(12, 2)} {
		if hash, _ := sum(ImageOf(other)); hash == ofFile {
			t.Errorf("pictures of %v and of 6×4 have the same hash", other.Bounds())
		}
	}
	for _, i := range []*Image{encoded, kept} {
		url, err := i.url()
		coded, found := strings.CutPrefix(url, "data:image/png;base64,")
		if err != nil || !found {
			t.Fatalf("%.40q, %v", url, err)
		}
		data, err := base64.StdEncoding.DecodeString(coded)
		if err != nil {
			t.Fatal(err)
		}
		if again, _ := sum(NewImage(data)); again != ofFile {
			t.Error("an image is another one after its URL was read")
		}
	}
}

// TestBadImages makes images of files without a picture, and decodes one that is damaged.
func TestBadImages(t *testing.T) {
	for _, data := range []string{"", "no picture", "\x89PNG\r\n\x1a\n"} {
		if i, err := NewImage([]byte(data)); i != nil || !errors.As(err, new(*ParamError)) {
			t.Errorf("%q: %v", data, err)
		}
	}
	if i, err := ImageOf(image.NewRGBA(image.Rect(0, 0, 0, 3))); i != nil || !errors.As(err, new(*ParamError)) {
		t.Errorf("a picture without a pixel: %v", err)
	}
	var file bytes.Buffer
	if err := png.Encode(&file, testPicture(60, 40)); err != nil {
		t.Fatal(err)
	}
	file.Bytes()[file.Len()/2] ^= 1
	damaged, err := NewImage(file.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := damaged.sum(); !errors.As(err, new(*ParamError)) {
			t.Errorf("a damaged picture: %v", err)
		}
		if _, err := damaged.decoded(); !errors.As(err, new(*ParamError)) {
			t.Errorf("a damaged picture: %v", err)
		}
	}
}
