// Package picture decodes files of pictures into red, green and blue, a byte each, as Pillow does it for transformers.
//
// The formats are PNG, JPEG, GIF (its first frame) and WebP (of an animation the first frame). [Inspect] reads only what
// stands in front of the picture: the size, the orientation, and the memory that decoding takes. It is held against [Limits] before
// anything is allocated for the picture. [Decode] inspects, decodes, and turns the picture upright.
//
// A photograph of 4032×3024 that was taken upright has orientation 6, since the sensor lies on its side:
//
//	h, err := picture.Inspect(data, picture.DefaultLimits())  // Format JPEG, 3024 wide, 4032 high, Orientation 6
//	rgb, err := picture.Decode(data, picture.DefaultLimits()) // Pix has 3·3024·4032 bytes, row by row
//
// # Equal to Pillow
//
// All arithmetic is in integers, so a file has the same pixels on every machine. Towers were trained on what Pillow decodes. Its steps are
// repeated here if Go's libraries do others:
//
//   - the chroma of JPEG and lossy WebP is interpolated as libjpeg and libwebp do it by default, and not repeated (chroma.go);
//   - lossy WebP has studio range, 16 to 235, and is converted so;
//   - inverted CMYK, as Adobe's programs write it, is converted with Pillow's rounding;
//   - EXIF's orientation is obeyed, of JPEG, PNG and WebP. It is taken from XMP if EXIF has no orientation;
//   - the colour that a GIF has around a first frame smaller than its canvas is entry 0 of the palette.
//
// JPEG's inverse cosine transform is the standard library's. Its values may differ from libjpeg's by one step, and may change with a
// version of Go.
//
// Two things differ on purpose. Transparent pictures lie on white, as Qwen's own preprocessing and vLLM have it. Pillow's
// convert("RGB") drops alpha and shows the colours under it, so black writing on transparent ground becomes black on black. And
// grey of 16 bits is reduced to its high byte. Pillow makes 255 of everything above 255.
package picture
