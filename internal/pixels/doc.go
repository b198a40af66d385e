// Package pixels makes of a picture the values that a vision tower reads, the same bits on every machine.
//
// A tower sees patches: squares of 14 or 16 pixels with normalised red, green and blue. How a picture becomes patches differs between
// families in four things, and a [Processor] is a value with these four. A table has a row for each family (facts.go):
//
//   - the size that a picture gets, and whether it is cut into tiles (sizes.go);
//   - the filter that resizes it (filter.go, resize.go);
//   - the mean and the deviation of its values;
//   - the order of patches, and of values in a patch (processor.go).
//
// [Read] reads these facts from preprocessor_config.json and its neighbours, and refuses keys that it does not understand. [New] takes
// them from any reader.
//
// # A picture for Qwen3-VL
//
// A picture of 640×426 pixels goes to Qwen3-VL, with patches of 16 pixels. 2×2 patches become a soft token:
//
//	plan, err := p.Plan(640, 426, 0)
//
//	unit          16 · 2 = 32 pixels: both sides become multiples
//	size          640 = 20 · 32 stays, 426 → round(13.3) · 32 = 416: 266,240 pixels, between 65,536 and 16,777,216
//	resized       bicubic, only in height: 426 rows become 416
//	levels        a byte x becomes (x − 127.5) / 127.5
//	patches       416/16 = 26 rows of 640/16 = 40, 1040 patches of 3 colours · 2 frames · 16 · 16 = 1536 values
//	order         (0,0) (0,1) (1,0) (1,1), then (0,2) (0,3) (1,2) (1,3): the four of a soft token follow each other
//	soft tokens   13 rows of 20: 260
//
// The plan is found from the size alone, which [picture.Inspect] reads without decoding. So a prompt's length is known before any pixel
// is. With a bound of 64 soft tokens the picture becomes 288×192 pixels, 54 soft tokens.
//
// # Resizing in integers
//
// A pixel of the resized picture is a sum of the pixels below a filter, which is as wide as the step between two of its pixels. Rows
// are resized first, and rounded to bytes, and then columns. Weights are computed in float64, each operation rounded on its own, and
// rounded to integers. The sums are integers.
//
//	bilinear, bicubic   as torchvision: weights of 16 bits, with as many after the point as the greatest leaves room for
//	lanczos             as Pillow: 22 bits after the point
//
// The results are those of transformers' processors, bit for bit (golden_test.go, neighbours_test.go).
package pixels
