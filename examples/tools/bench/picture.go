package main

import (
	"context"
	"fmt"
	"image"
	"image/color"
	"math/rand/v2"
	"strings"

	"github.com/antigravity-go/antigravity/internal/precise"
	"github.com/antigravity-go/antigravity/llama"
)

// picture is the test of a model's tower: how many soft tokens it makes of pictures in a second. Each picture is another one, since a model makes nothing
// again of one that it holds.
type picture struct{ width, height int }

func (p picture) describe() result { return result{Test: fmt.Sprintf("im%dx%d", p.width, p.height)} }

func (p picture) constrained() bool { return false }

func (p picture) measureOnce(ctx context.Context, b *bench, m meter) (sample, error) {
	b.pictures++
	shown, err := llama.ImageOf(p.noise(b.pictures))
	if err != nil {
		return sample{}, err
	}
	m.begin()
	defer m.end()
	began := precise.Now()
	a, err := b.model.Attach(ctx, shown, 0)
	if err != nil {
		return sample{}, err
	}
	took := precise.Since(began)
	b.setting.Memory = b.model.MemoryUsage()
	rows, columns := a.Size()
	return sample{rate: float64(rows*columns) / took.Seconds()}, nil
}

// noise draws a picture.
func (p picture) noise(seed uint64) image.Image {
	r, drawn := rand.New(rand.NewPCG(seed, 0)), image.NewRGBA(image.Rect(0, 0, p.width, p.height))
	for i := range drawn.Pix {
		drawn.Pix[i] = uint8(r.Uint32())
	}
	for y := range p.height {
		for x := range p.width {
			c := drawn.RGBAAt(x, y)
			drawn.SetRGBA(x, y, color.RGBA{c.R, c.G, c.B, 255})
		}
	}
	return drawn
}

// sizes reads a list of sizes such as 640x426.
func sizes(s string) (list []picture, ok bool) {
	if s == "" {
		return nil, true
	}
	for field := range strings.SplitSeq(s, ",") {
		var p picture
		if n, err := fmt.Sscanf(strings.TrimSpace(field), "%dx%d", &p.width, &p.height); n != 2 || err != nil || p.width < 1 || p.height < 1 || p.width > mostSide || p.height > mostSide {
			return nil, false
		}
		list = append(list, p)
	}
	return list, true
}

// mostSide is the longest side of a picture that -images takes.
const mostSide = 8192
