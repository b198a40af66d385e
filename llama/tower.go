package llama

import (
	"context"
	"fmt"

	"github.com/antigravity-go/antigravity/internal/checkpoint"
	"github.com/antigravity-go/antigravity/internal/model"
	"github.com/antigravity-go/antigravity/internal/picture"
	"github.com/antigravity-go/antigravity/internal/pixels"
	"github.com/antigravity-go/antigravity/llama/internal/engine"
	"github.com/antigravity-go/antigravity/llama/internal/source"
	"github.com/antigravity-go/antigravity/tensor"
)

// A model that sees has a tower besides its weights. Load goes this way with it:
//
//	openTower      which files have it, its configuration, and its layers without tensors
//	findTower      all tensors are there
//	foundTower.load  each to the device, as it is stored
//	vision.encode  pixels → patches → features

// vision is the part of a model that sees. The zero value sees nothing.
type vision struct {
	tower     *engine.Tower
	described *checkpoint.Tower
	pixels    *pixels.Processor
	seen      attachments

	working    *working   // the model's: closing it stops the tower, and waits for it
	vocabulary int        // of the model of text
	tokenizer  *Tokenizer // the model's
}

// openTower opens the tower of a model, if it has one.
func openTower(ctx context.Context, m *Model, at locator, towers []string, memory tensor.Memory) error {
	named, err := locateTowers(at, towers)
	if err != nil {
		return err
	}
	if err := m.files.OpenTower(ctx, named, memory); err != nil {
		return err
	}
	if m.files.Tower == nil {
		return nil
	}
	if m.files.Tower.Traits.Entirely {
		m.config.Together = model.Entirely
	}
	m.described, m.pixels = m.files.Tower.Tower, m.files.Tower.Pixels
	m.tower, err = engine.NewTower(m.backend, m.files.Tower.Tower.Tower)
	return err
}

// locateTowers locates the files of LoadOptions.Towers.
func locateTowers(at locator, towers []string) (named []source.Location, err error) {
	if towers == nil {
		return nil, nil
	}
	named = []source.Location{}
	for _, path := range towers {
		location, err := locate(at, path)
		if err != nil {
			return nil, fmt.Errorf("the tower %s: %w", path, err)
		}
		named = append(named, location)
	}
	return named, nil
}

// foundTower is the tensors of a tower in files.
type foundTower struct {
	tensors []model.Tensor
	stored  []source.Stored
	total   int64
}

// findTower finds the tensors of a model's tower, if it has one.
func findTower(m *Model) (f foundTower, err error) {
	if m.tower == nil {
		return f, nil
	}
	var problems []error
	f.tensors = m.tower.Tensors()
	if f.stored, f.total, problems = m.files.Tower.Find(f.tensors, 1); len(problems) > 0 {
		return f, problems[0]
	}
	return f, nil
}

// load prepares the tensors. viewed reports whether some of them are views of the files.
func (f *foundTower) load(ctx context.Context, m *Model, threads int, loaded func(bytes int)) (viewed bool, err error) {
	if m.tower == nil {
		return false, nil
	}
	loader := source.NewLoader(m.backend, threads, 0, nil)
	defer loader.Close()
	viewed, err = loader.Load(ctx, f.tensors, f.stored, m.tower.Set, loaded, func() error { return nil })
	if err != nil {
		return viewed, fmt.Errorf("the tower in %s: %w", m.files.Tower.File(), err)
	}
	return viewed, m.tower.Ready()
}

// encode computes the features of a picture with at most maxTokens rows; 0: as many as the model's own bound allows. It returns the rows and columns
// of soft tokens, too: of a picture that was cut into tiles, all soft tokens in one column. A model without a tower is an error.
func (s *vision) encode(ctx context.Context, rgb *picture.RGB, maxTokens int) (f *engine.Features, rows, columns int, err error) {
	if s.tower == nil {
		return nil, 0, 0, fmt.Errorf("the model sees no images: %w", ErrUnsupported)
	}
	values, err := s.pixels.Process(nil, rgb, maxTokens)
	if err != nil {
		return nil, 0, 0, err
	}
	rows, columns = values.Tokens(), 1
	if len(values.Views) == 1 {
		rows, columns = values.Views[0].TokenRows, values.Views[0].TokenColumns
	}
	f, err = s.tower.Encode(ctx, values)
	return f, rows, columns, err
}

// inWords returns what the model sees. It needs no tensors.
func (s *vision) inWords() string {
	t := s.tower.Config
	text := fmt.Sprintf("pictures, by a tower of kind %s of %d layers and a width of %d", t.Kind, t.Layers, t.HiddenSize)
	for _, size := range [][2]int{{640, 426}, {1920, 1080}} {
		plan, err := s.pixels.Plan(size[0], size[1], 0)
		if err != nil {
			continue
		}
		text += fmt.Sprintf("; %d tokens for %d×%d pixels, and %s while they are made", plan.Tokens(), size[0], size[1], inUnits(s.tower.PictureBytes(plan.Patches())))
	}
	return text
}
