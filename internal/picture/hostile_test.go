package picture

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"runtime"
	"strings"
	"testing"
)

// pngOf returns a PNG of chunks, with right checksums: a kind and a body in turns.
func pngOf(chunks ...string) []byte {
	out := []byte("\x89PNG\r\n\x1a\n")
	for i := 0; i < len(chunks); i += 2 {
		out = binary.BigEndian.AppendUint32(out, uint32(len(chunks[i+1])))
		begin := len(out)
		out = append(append(out, chunks[i]...), chunks[i+1]...)
		out = binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(out[begin:]))
	}
	return out
}

// ihdr returns the body of a PNG's header.
func ihdr(width, height uint32, depth, colour, interlaced byte) string {
	b := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, width), height)
	return string(append(b, depth, colour, 0, 0, interlaced))
}

// gifOf returns a GIF with a canvas and one frame of colour 1, which are not compressed: a clear code stands before every two pixels.
func gifOf(canvas, frame image.Rectangle) []byte {
	le := binary.LittleEndian
	out := append([]byte("GIF89a"), le.AppendUint16(le.AppendUint16(nil, uint16(canvas.Dx())), uint16(canvas.Dy()))...)
	out = append(out, 0x80, 0, 0, 10, 20, 30, 40, 50, 60) // a palette of two colours
	out = append(out, ',')
	for _, n := range []int{frame.Min.X, frame.Min.Y, frame.Dx(), frame.Dy()} {
		out = le.AppendUint16(out, uint16(n))
	}
	var bits, held uint32
	var coded []byte
	code := func(c uint32) {
		bits |= c << held
		for held += 3; held >= 8; held -= 8 {
			coded = append(coded, byte(bits))
			bits >>= 8
		}
	}
	for i := range min(frame.Dx()*frame.Dy(), 400) {
		if i%2 == 0 {
			code(4)
		}
		code(1)
	}
	code(5)
	code(0)
	code(0)
	out = append(out, 0, 2, byte(len(coded)))
	return append(append(out, coded...), 0, ';')
}

// jpegOf returns a JPEG's beginning: a header of width×height with three components, and that number of scans. Each scan passes over
// all coefficients.
func jpegOf(marker byte, width, height, scans int) []byte {
	out := []byte{0xff, 0xd8, 0xff, marker, 0, 17, 8, byte(height >> 8), byte(height), byte(width >> 8), byte(width), 3, 1, 0x22, 0, 2, 0x11, 0, 3, 0x11, 0}
	for range scans {
		out = append(out, 0xff, 0xda, 0, 12, 3, 1, 0, 2, 0, 3, 0, 0, 63, 0, 0x55)
	}
	return append(out, 0xff, 0xd9)
}

// webpOf returns a WebP of chunks.
func webpOf(chunks ...string) []byte {
	out := []byte("RIFF\x00\x00\x00\x00WEBP")
	for i := 0; i < len(chunks); i += 2 {
		out = append(out, chunks[i]...)
		out = append(binary.LittleEndian.AppendUint32(out, uint32(len(chunks[i+1]))), chunks[i+1]...)
		if len(chunks[i+1])%2 == 1 {
			out = append(out, 0)
		}
	}
	binary.LittleEndian.PutUint32(out[4:], uint32(len(out)-8))
	return out
}

// vp8l returns the header of a lossless picture.
func vp8l(width, height uint32) string {
	return string(binary.LittleEndian.AppendUint32([]byte{0x2f}, width-1|(height-1)<<14)) + strings.Repeat("\x00", 20)
}

// TestBombsAreErrors decodes files that would take much memory or time. Each is an error with figures, before anything is allocated.
func TestBombsAreErrors(t *testing.T) {
	for _, c := range []struct {
		name string
		data []byte
		want string
	}{
		{"a PNG of the greatest sides", pngOf("IHDR", ihdr(65535, 65535, 16, 6, 1), "IDAT", "x"), "65535×65535 pixels of 64 bits cannot be in 1 compressed bytes"},
		{"a PNG of many zeros", pngOf("IHDR", ihdr(65535, 65535, 1, 0, 0), "IDAT", strings.Repeat("\x00", 1<<20)), "65535×65535 = 4294836225 pixels, at most 67108864"},
		{"a PNG with a side of 2³¹", pngOf("IHDR", ihdr(1<<31, 1, 8, 2, 0), "IDAT", "x"), "2147483648×1 pixels"},
		{"a PNG with a long side", pngOf("IHDR", ihdr(1<<20, 1, 1, 0, 0), "IDAT", strings.Repeat("x", 1000)), "1048576×1 pixels, at most 65536 are allowed a side"},
		{"a PNG without pixels", pngOf("IHDR", ihdr(0, 7, 8, 2, 0), "IDAT", "x"), "0×7 pixels: it has no pixel"},
		{"a PNG with deep pixels", pngOf("IHDR", ihdr(8192, 8192, 16, 6, 1), "IDAT", strings.Repeat("\x00", 1<<20)), "takes 1275068416 bytes of memory"},
		{"a PNG that says more than it has", pngOf("IHDR", ihdr(8000, 8000, 8, 2, 0), "IDAT", "x"), "cannot be in 1 compressed bytes"},
		{"a PNG that ends in its header", []byte("\x89PNG\r\n\x1a\n\x00\x00\x00\x0dIHDR"), "has 13 bytes, and 0 bytes are left"},
		{"a PNG that begins with its palette", pngOf("PLTE", "abc"), `first chunk is "PLTE"`},
		{"a GIF with a large canvas", gifOf(image.Rect(0, 0, 65535, 65535), image.Rect(0, 0, 1, 1)), "65535×65535 = 4294836225 pixels"},
		{"a GIF with a frame outside", gifOf(image.Rect(0, 0, 4, 4), image.Rect(2, 2, 8, 8)), "frame bounds"},
		{"a JPEG of the greatest sides", jpegOf(0xc0, 65535, 65535, 1), "65535×65535 pixels cannot be in"},
		{"a JPEG that says more than it has", jpegOf(0xc0, 8000, 8000, 1), "8000×8000 pixels cannot be in 38 bytes"},
		{"a JPEG of many scans", jpegOf(0xc2, 1000, 1000, 1000), "pass over the picture more than 16 times"},
		{"a JPEG with arithmetic codes", jpegOf(0xc9, 8, 8, 1), "coded in the way 9"},
		{"a lossless WebP of the greatest sides", webpOf("VP8L", vp8l(16384, 16384)), "16384×16384 = 268435456 pixels"},
		{"a WebP with a canvas that is not its picture's", webpOf("VP8X", "\x00\x00\x00\x00\xff\xff\xff\xff\xff\xff", "VP8L", vp8l(4, 4)), "its canvas is 16777216×16777216 pixels, and the picture in it 4×4"},
		{"a WebP with a frame outside", webpOf("VP8X", "\x02\x00\x00\x00\x03\x00\x00\x03\x00\x00", "ANMF", "\x01\x00\x00\x00\x00\x00\x03\x00\x00\x03\x00\x00\x00\x00\x00\x00VP8L\x1a\x00\x00\x00"+vp8l(4, 4)+"\x00"), "does not lie in its canvas of 4×4"},
		{"a WebP with a large animation", webpOf("VP8X", "\x02\x00\x00\x00\xff\xff\x00\xff\xff\x00", "ANMF", "\x00\x00\x00\x00\x00\x00\x03\x00\x00\x03\x00\x00\x00\x00\x00\x00VP8L\x1a\x00\x00\x00"+vp8l(4, 4)+"\x00"), "65536×65536 = 4294967296 pixels"},
		{"no picture", []byte("BM and something"), `begin with "BM and somet"`},
		{"nothing", nil, "0 bytes"},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := Decode(c.data, DefaultLimits())
		runtime.ReadMemStats(&after)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: the error is %v, and not %q", c.name, err, c.want)
		}
		if taken := after.TotalAlloc - before.TotalAlloc; taken > 1<<17 {
			t.Errorf("%s: %d bytes were allocated", c.name, taken)
		}
	}
}

// TestLimitsAreTheCallers holds a picture against limits of each kind.
func TestLimitsAreTheCallers(t *testing.T) {
	var file bytes.Buffer
	if err := jpeg.Encode(&file, image.NewGray(image.Rect(0, 0, 40, 30)), nil); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		limits Limits
		want   string
	}{
		{Limits{40, 1200, 1 << 20}, ""},
		{Limits{39, 1200, 1 << 20}, "40×30 pixels, at most 39 are allowed a side"},
		{Limits{40, 1199, 1 << 20}, "40×30 = 1200 pixels, at most 1199 are allowed"},
		{Limits{40, 1200, 3600}, "takes 4880 bytes of memory to decode, at most 3600 are allowed"},
	} {
		if _, err := Decode(file.Bytes(), c.limits); (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.limits, err, c.want)
		}
		if _, err := Of(image.NewGray(image.Rect(5, 5, 45, 35)), c.limits); (err == nil) != (c.limits.Side == 40 && c.limits.Pixels == 1200) {
			t.Errorf("%+v: of a picture in memory: %v", c.limits, err)
		}
	}
}

// TestSmallFrameLiesOnCanvas decodes a GIF with a first frame that is smaller than its canvas.
func TestSmallFrameLiesOnCanvas(t *testing.T) {
	rgb, err := Decode(gifOf(image.Rect(0, 0, 9, 7), image.Rect(3, 2, 6, 6)), DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	for y := range 7 {
		for x := range 9 {
			want := [3]byte{10, 20, 30}
			if (image.Point{x, y}).In(image.Rect(3, 2, 6, 6)) {
				want = [3]byte{40, 50, 60}
			}
			if got := [3]byte(rgb.row(y)[3*x:]); got != want {
				t.Errorf("pixel %d, %d is %v, want %v", x, y, got, want)
			}
		}
	}
}

// TestTransparencyShowsWhite decodes colours with alpha, of a file and of a program.
func TestTransparencyShowsWhite(t *testing.T) {
	for _, img := range []image.Image{
		&image.NRGBA{Pix: []byte{0, 0, 0, 0, 200, 100, 0, 255, 0, 0, 0, 128}, Stride: 12, Rect: image.Rect(0, 0, 3, 1)},
		&image.RGBA{Pix: []byte{0, 0, 0, 0, 200, 100, 0, 255, 0, 0, 0, 128}, Stride: 12, Rect: image.Rect(0, 0, 3, 1)},
		&image.Paletted{Pix: []byte{2, 0, 1}, Stride: 3, Rect: image.Rect(0, 0, 3, 1), Palette: color.Palette{color.RGBA{200, 100, 0, 255}, color.NRGBA{0, 0, 0, 128}, color.Transparent}},
	} {
		rgb, err := Of(img, DefaultLimits())
		if want := "\xff\xff\xff\xc8\x64\x00\x7f\x7f\x7f"; err != nil || string(rgb.Pix) != want {
			t.Errorf("%T: %x, %v, want %x", img, rgb.Pix, err, want)
		}
	}
}

// TestOrientationsTurn turns a picture of six colours in the eight ways.
func TestOrientationsTurn(t *testing.T) {
	for orientation, want := range []string{1: "abc/def", 2: "cba/fed", 3: "fed/cba", 4: "def/abc", 5: "ad/be/cf", 6: "da/eb/fc", 7: "fc/eb/da", 8: "cf/be/ad"} {
		p := &RGB{3, 2, []byte("aaabbbcccdddeeefff")}
		if orientation == 0 {
			continue
		}
		p = p.upright(orientation)
		var rows []string
		for y := range p.Height {
			row := ""
			for x := range p.Width {
				row += string(p.row(y)[3*x])
			}
			rows = append(rows, row)
		}
		if got := strings.Join(rows, "/"); got != want {
			t.Errorf("orientation %d: %s, want %s", orientation, got, want)
		}
	}
}

// TestWildEXIFIsIgnored decodes pictures with EXIF that leads elsewhere: they stand as they are, and the header says why.
func TestWildEXIFIsIgnored(t *testing.T) {
	entry := "\x12\x01\x03\x00\x01\x00\x00\x00\x06\x00\x00\x00"
	for _, c := range []struct {
		exif        string
		orientation int
		ignored     string
	}{
		{"II*\x00\x08\x00\x00\x00\x01\x00" + entry, 6, ""},
		{"Exif\x00\x00Exif\x00\x00II*\x00\x08\x00\x00\x00\x01\x00" + entry, 6, ""},
		{"II*\x00\xff\xff\xff\xff\x01\x00" + entry, 1, "its directory begins at byte 4294967295 of 22"},
		{"II*\x00\x08\x00\x00\x00\xff\xff" + entry[:8], 1, "its directory of 65535 entries is cut short after 0"},
		{"II*\x00\x08\x00\x00\x00\x02\x00" + strings.Repeat("\x00", 12) + entry[:11], 1, "cut short after 1"},
		{"MM*\x00", 1, `it begins with "MM*\x00"`},
		{"II*\x00\x08", 1, "its header is cut short: 5 bytes of 8"},
		{"II*\x00\x08\x00\x00\x00\x01\x00" + strings.Replace(entry, "\x03", "\x05", 1), 1, "type 5 and count 1"},
		{"II*\x00\x08\x00\x00\x00\x01\x00" + strings.Replace(entry, "\x06", "\x09", 1), 1, "orientation 9: there are 1 to 8"},
	} {
		data := pngOf("IHDR", ihdr(2, 1, 8, 2, 0), "eXIf", c.exif, "IDAT", "\x78\x01\x01\x07\x00\xf8\xff\x00\x01\x02\x03\x04\x05\x06\x00\x3f\x00\x16", "IEND", "")
		h, err := Inspect(data, DefaultLimits())
		if err != nil || h.Orientation != c.orientation || (h.Ignored == "") != (c.ignored == "") || !strings.Contains(h.Ignored, c.ignored) {
			t.Errorf("%q: %+v, %v, want orientation %d and %q", c.exif, h, err, c.orientation, c.ignored)
		}
		if rgb, err := Decode(data, DefaultLimits()); err != nil || rgb.Width != h.Width || rgb.Height != h.Height {
			t.Errorf("%q: %v", c.exif, err)
		}
	}
}

// TestProgramsGIFDecodes decodes what Go's encoder writes.
func TestProgramsGIFDecodes(t *testing.T) {
	var file bytes.Buffer
	img := image.NewPaletted(image.Rect(0, 0, 3, 2), color.Palette{color.Black, color.White})
	img.Pix[1] = 1
	if err := gif.Encode(&file, img, nil); err != nil {
		t.Fatal(err)
	}
	rgb, err := Decode(file.Bytes(), DefaultLimits())
	if err != nil || rgb.Pix[3] != 255 || rgb.Pix[0] != 0 {
		t.Errorf("%v, %v", rgb, err)
	}
}
