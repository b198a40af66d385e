package pixels

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/antigravity-go/antigravity/internal/fixture"
)

// FuzzRead reads configurations, and plans and processes a picture with those that can be.
func FuzzRead(f *testing.F) {
	for _, family := range families {
		folder := filepath.Dir(fixture.Path(f, "families/"+family.folder+"/golden.safetensors"))
		var files [3][]byte
		for i, name := range []string{"preprocessor_config.json", "processor_config.json", "config.json"} {
			files[i], _ = os.ReadFile(filepath.Join(folder, name))
		}
		f.Add(files[0], []byte(nil), files[2], uint16(61), uint16(43), uint16(0))
		f.Add([]byte(nil), files[1], files[2], uint16(3), uint16(170), uint16(70))
	}
	f.Fuzz(func(t *testing.T, preprocessor, processor, config []byte, width, height, tokens uint16) {
		files := Files{Preprocessor: preprocessor, Processor: processor, Config: config}
		for _, file := range []*[]byte{&files.Preprocessor, &files.Processor, &files.Config} {
			if len(*file) == 0 {
				*file = nil
			}
		}
		p, err := Read(files)
		if err != nil {
			return
		}
		w, h := int(width)+1, int(height)+1
		plan, err := p.Plan(w, h, int(tokens))
		if err != nil {
			return
		}
		if n := plan.Tokens(); n < 1 || tokens > 0 && n > int(tokens) {
			t.Fatalf("%s: %d soft tokens of a picture of %d×%d pixels, at most %d are allowed", p.Kind(), n, w, h, tokens)
		}
		pixels := w * h
		for _, r := range plan.Resizes {
			pixels += r.Width*r.Height + r.Width*h
		}
		if pixels > 1<<17 || plan.Patches()*p.PatchValues() > 1<<19 {
			return
		}
		values, err := p.Process(nil, scene(w, h), int(tokens))
		if err != nil || len(values.Pixels) != plan.Patches()*p.PatchValues() {
			t.Fatalf("%s: %d values, %v", p.Kind(), len(values.Pixels), err)
		}
		for _, v := range values.Pixels {
			if v != v {
				t.Fatalf("%s: a value is NaN", p.Kind())
			}
		}
	})
}

// FuzzResize resizes small pictures.
func FuzzResize(f *testing.F) {
	f.Add(uint8(60), uint8(42), uint8(31), uint8(90), uint8(0))
	f.Fuzz(func(t *testing.T, width, height, toWidth, toHeight, filter uint8) {
		w, h, kind := int(toWidth)+1, int(toHeight)+1, Lanczos+Filter(filter%3)
		from := scene(int(width)+1, int(height)+1)
		for i := range from.Pix { // white and black: a weight that is lost, or too many, shows
			from.Pix[i] = 255
		}
		white, err := Resize(nil, from, w, h, kind)
		if err != nil || white.Width != w || white.Height != h || len(white.Pix) != 3*w*h {
			t.Fatal(err)
		}
		for i, v := range white.Pix {
			if v < 254 {
				t.Fatalf("%v from %d×%d to %d×%d: white became %d at %d", kind, from.Width, from.Height, w, h, v, i)
			}
		}
	})
}
