package pixels

import (
	"fmt"
	"testing"

	"github.com/antigravity-go/antigravity/internal/parallel"
)

// BenchmarkProcess measures how long it takes to make a tower's values of a decoded picture, with 1 and with 2 workers.
func BenchmarkProcess(b *testing.B) {
	for _, name := range []string{"qwen3vl", "gemma4v", "gemma3", "idefics3"} {
		f, _ := Defaults(name)
		switch name {
		case "qwen3vl":
			f.Patch, f.LeastPixels, f.MostPixels = 16, 65536, 16777216
		case "gemma3":
			f.Patch, f.Merge, f.Width, f.Height = 14, 4, 896, 896
		case "idefics3":
			f.Patch, f.Merge, f.Longest, f.Tile = 16, 4, 2048, 512
		}
		p, err := New(name, f)
		if err != nil {
			b.Fatal(err)
		}
		for _, size := range [][2]int{{640, 426}, {1920, 1080}} {
			for _, workers := range []int{1, 2} {
				b.Run(fmt.Sprintf("%s/%dx%d/workers=%d", name, size[0], size[1], workers), func(b *testing.B) {
					pool := parallel.New(workers)
					defer pool.Close()
					rgb := scene(size[0], size[1])
					b.ReportAllocs()
					for b.Loop() {
						if _, err := p.Process(pool, rgb, 0); err != nil {
							b.Fatal(err)
						}
					}
				})
			}
		}
	}
}

// BenchmarkResize measures the filters alone, on one worker.
func BenchmarkResize(b *testing.B) {
	rgb := scene(1920, 1080)
	for _, f := range []Filter{Bilinear, Bicubic, Lanczos} {
		for _, to := range [][2]int{{960, 540}, {1920, 1088}, {336, 336}} {
			b.Run(fmt.Sprintf("%v/%dx%d", f, to[0], to[1]), func(b *testing.B) {
				for b.Loop() {
					if _, err := Resize(nil, rgb, to[0], to[1], f); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
