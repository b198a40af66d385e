package picture

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"
)

// small are limits in which an input takes next to no time.
var small = Limits{Side: 512, Pixels: 1 << 14, Memory: 1 << 19}

// decodes decodes a file, and checks that Inspect said what came.
func decodes(t *testing.T, data []byte) {
	h, inspectErr := Inspect(data, small)
	rgb, err := Decode(data, small)
	if err != nil {
		return
	}
	if inspectErr != nil {
		t.Fatalf("Inspect says %v, and it decodes", inspectErr)
	}
	if rgb.Width != h.Width || rgb.Height != h.Height || len(rgb.Pix) != 3*h.Width*h.Height {
		t.Fatalf("the header says %d×%d pixels, the picture is %d×%d of %d bytes", h.Width, h.Height, rgb.Width, rgb.Height, len(rgb.Pix))
	}
	if h.Width > small.Side || h.Height > small.Side || h.Width*h.Height > small.Pixels {
		t.Fatalf("%d×%d pixels are beyond the limits", h.Width, h.Height)
	}
	if again, err := Decode(data, small); err != nil || string(again.Pix) != string(rgb.Pix) {
		t.Fatalf("decoded again, it is another picture: %v", err)
	}
}

// addPictures adds the pictures of testdata with an extension as seeds.
func addPictures(f *testing.F, extension string, add func(data []byte)) {
	paths, err := filepath.Glob(filepath.Join("testdata", "*."+extension))
	if err != nil || len(paths) == 0 {
		f.Fatalf("%d pictures, %v", len(paths), err)
	}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		if len(data) < 1200 {
			add(data)
		}
	}
}

func FuzzPNG(f *testing.F)  { fuzzFormat(f, "png") }
func FuzzJPEG(f *testing.F) { fuzzFormat(f, "jpg") }
func FuzzGIF(f *testing.F)  { fuzzFormat(f, "gif") }
func FuzzWebP(f *testing.F) { fuzzFormat(f, "webp") }

// fuzzFormat decodes bytes that begin as a file of a format.
func fuzzFormat(f *testing.F, extension string) {
	addPictures(f, extension, func(data []byte) { f.Add(data) })
	f.Fuzz(decodes)
}

// FuzzPNGChunks makes a PNG of chunks that are cut from the input, with right checksums: the input is for each chunk a kind of four
// bytes, a length of two, and a body.
func FuzzPNGChunks(f *testing.F) {
	addPictures(f, "png", func(data []byte) {
		var parts []byte
		for rest := data[8:]; len(rest) >= 12; {
			n := binary.BigEndian.Uint32(rest)
			parts = append(parts, rest[4:8]...)
			parts = binary.BigEndian.AppendUint16(parts, uint16(n))
			parts = append(parts, rest[8:8+n]...)
			rest = rest[12+n:]
		}
		f.Add(parts)
	})
	f.Fuzz(func(t *testing.T, parts []byte) {
		var chunks []string
		for len(parts) >= 6 {
			kind, n := string(parts[:4]), int(binary.BigEndian.Uint16(parts[4:]))
			parts = parts[6:]
			n = min(n, len(parts))
			chunks = append(chunks, kind, string(parts[:n]))
			parts = parts[n:]
		}
		decodes(t, pngOf(chunks...))
	})
}

// FuzzWebPChunks makes a WebP of chunks that are cut from the input in the same way, with right lengths.
func FuzzWebPChunks(f *testing.F) {
	addPictures(f, "webp", func(data []byte) {
		var parts []byte
		for rest := data[12:]; len(rest) >= 8; {
			n := binary.LittleEndian.Uint32(rest[4:])
			parts = append(parts, rest[:4]...)
			parts = binary.BigEndian.AppendUint16(parts, uint16(n))
			parts = append(parts, rest[8:8+n]...)
			rest = rest[min(8+n+n%2, uint32(len(rest))):]
		}
		f.Add(parts)
	})
	f.Fuzz(func(t *testing.T, parts []byte) {
		var chunks []string
		for len(parts) >= 6 {
			kind, n := string(parts[:4]), int(binary.BigEndian.Uint16(parts[4:]))
			parts = parts[6:]
			n = min(n, len(parts))
			chunks = append(chunks, kind, string(parts[:n]))
			parts = parts[n:]
		}
		decodes(t, webpOf(chunks...))
	})
}

// FuzzOrientation reads the metadata.
func FuzzOrientation(f *testing.F) {
	f.Add([]byte("Exif\x00\x00II*\x00\x08\x00\x00\x00\x01\x00\x12\x01\x03\x00\x01\x00\x00\x00\x06\x00\x00\x00"), []byte(`<x tiff:Orientation="3"/>`))
	f.Add([]byte("MM\x00*\x00\x00\x00\x08\x00\x01\x01\x12\x00\x04\x00\x00\x00\x01\x00\x00\x00\x08"), []byte("<tiff:Orientation>8</tiff:Orientation>"))
	f.Fuzz(func(t *testing.T, exif, xmp []byte) {
		if o, _ := (metadata{exif, xmp}).orientation(); o < 1 || o > 8 {
			t.Fatalf("orientation %d", o)
		}
	})
}
