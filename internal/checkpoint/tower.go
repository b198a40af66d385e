package checkpoint

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/antigravity-go/antigravity/internal/checkpoint/families"
	"github.com/antigravity-go/antigravity/internal/checkpoint/keys"
	"github.com/antigravity-go/antigravity/internal/gguf"
	"github.com/antigravity-go/antigravity/internal/model"
	"github.com/antigravity-go/antigravity/internal/modeljson"
	"github.com/antigravity-go/antigravity/internal/pixels"
	"github.com/antigravity-go/antigravity/internal/unsupported"
)

// Towers that see. A folder has a tower among the tensors of its model of text:
//
//	config.json                 vision_config is the tower's configuration, image_token_id the token that stands for a picture
//	preprocessor_config.json    how a picture becomes patches
//	model.safetensors           model.visual.blocks.0.norm1.weight and its like
//
// A GGUF file of a model of text has a second file next to it, mmproj, of the architecture clip, with all of that.

// Tower is a tower, how pictures become its patches, and how files have it. It does not change.
type Tower struct {
	*model.Tower
	Pixels  *pixels.Processor
	family  *families.Tower
	naming  families.Naming
	swapped bool // a file has the matrices of networks with each other's names
}

// The keys of a file with a tower.
const (
	towerArchitecture  = "clip"
	towerPrefix        = towerArchitecture + "."
	projectorKey       = towerPrefix + "projector_type"
	visionProjectorKey = towerPrefix + "vision.projector_type" // of files that hear, too
	hasVisionKey       = towerPrefix + "has_vision_encoder"
)

// visionJSON is what config.json says around a tower.
type visionJSON struct {
	Type   string          `json:"model_type"` // of the tower, too, if vision_config has no such key
	Vision json.RawMessage `json:"vision_config"`
}

// Tower reads the tower of a folder, for a model of text with a configuration. names are those of the tensors in the files. A folder without a tower that is
// implemented here gives nil, and why that is so; "" if config.json has no vision_config.
func (f Folder) Tower(c *model.Config, names []string) (t *Tower, why string, err error) {
	data, err := f(ConfigFile)
	if err != nil {
		return nil, "", err
	}
	var outer visionJSON
	if err := modeljson.Unmarshal(data, &outer); err != nil {
		return nil, "", &FileError{ConfigFile, err}
	}
	var kind struct {
		Type string `json:"model_type"`
	}
	if outer.Vision == nil || modeljson.Unmarshal(outer.Vision, &kind) != nil || string(outer.Vision) == "null" {
		return nil, "", nil
	}
	kind.Type = cmp.Or(kind.Type, outer.Type)
	family := families.TowerByType(kind.Type, outer.Type)
	if family == nil {
		return nil, fmt.Sprintf("the tower of a %.60q, of the kind %.60q, is not implemented, and the model of text is loaded alone", outer.Type, kind.Type), nil
	}
	t = &Tower{Tower: &model.Tower{Out: c.HiddenSize}, family: family}
	vision, err := withOuter(outer.Vision, data, family.Outer())
	if err != nil {
		return nil, "", &FileError{ConfigFile, err}
	}
	t.TextEps = c.RMSNormEps
	k, err := keys.ReadFolder(vision)
	if err == nil {
		err = family.Walk(k, t.Tower)
	}
	if errors.Is(err, errors.ErrUnsupported) {
		return nil, fmt.Sprintf("%s, vision_config: %v; the model of text is loaded alone", ConfigFile, err), nil
	}
	if err != nil {
		return nil, "", &FileError{ConfigFile, fmt.Errorf("vision_config: %w", err)}
	}
	if !t.findNaming(names) {
		return nil, "the files have no tensors of the tower that config.json describes", nil
	}
	files := pixels.Files{Config: data}
	if files.Preprocessor, err = f.Optional(PreprocessorFile); err != nil {
		return nil, "", err
	}
	if files.Processor, err = f.Optional(ProcessorFile); err != nil {
		return nil, "", err
	}
	t.Pixels, err = pixels.Read(files)
	switch {
	case errors.Is(err, pixels.ErrNoProcessor):
		return nil, "there is no " + PreprocessorFile + ", which says how pictures become patches", nil
	case err != nil:
		return nil, "", &FileError{PreprocessorFile, err}
	}
	if err := t.fit(); err != nil {
		return nil, "", &FileError{PreprocessorFile, err}
	}
	return t, "", nil
}

// withOuter returns vision_config with some of the keys of config.json around it, unless it has them itself.
func withOuter(vision, config []byte, list []string) ([]byte, error) {
	if list == nil {
		return vision, nil
	}
	var inner, outer map[string]json.RawMessage
	if err := modeljson.Unmarshal(vision, &inner); err != nil {
		return nil, fmt.Errorf("vision_config: %w", err)
	}
	if err := modeljson.Unmarshal(config, &outer); err != nil {
		return nil, err
	}
	for _, key := range list {
		if value, ok := outer[key]; ok && inner[key] == nil {
			inner[key] = value
		}
	}
	return json.Marshal(inner)
}

// findNaming finds out how the tower's tensors are named; false: there are no such tensors.
func (t *Tower) findNaming(names []string) bool {
	first := t.Tensors()[0]
	for _, naming := range t.family.Namings() {
		folder, _ := t.family.Layouts(t.Tower, &first, naming)
		if slices.Contains(names, folder.Name) {
			t.naming = naming
			return true
		}
	}
	return false
}

// Placeholder returns the texts of the token that the template writes for a picture, and of one that stands for rows.
func (t *Tower) Placeholder() (written, row string) { return t.family.Tokens() }

// Stretch is families.Stretch.
type Stretch = families.Stretch

// Frame returns what stands in a prompt for a picture of a plan, in place of the template's token.
func (t *Tower) Frame(p *pixels.Plan) []Stretch { return t.family.Frame(p) }

// fit checks that patches are as the tower reads them, and makes Pixels write those that frames share once.
func (t *Tower) fit() error {
	if of := t.family.Processed(); t.Pixels.Kind() != of {
		return fmt.Errorf("pictures are processed as for a tower of kind %s, and the tower is of kind %s", t.Pixels.Kind(), of)
	}
	if t.Frames > 1 {
		t.Pixels = t.Pixels.Once()
	}
	_, merge := t.family.Patches(t.Tower)
	if n, of := t.Pixels.PatchValues(), t.Pixels.Facts().Merge; n != t.Patch || of != merge {
		return fmt.Errorf("patches have %d values and %d×%d are a soft token, and the tower reads %d values and makes soft tokens of %d×%d", n, of, of, t.Patch, merge, merge)
	}
	return nil
}

// IsTower reports whether a GGUF file holds a tower, or several, and not a model of text.
func IsTower(f *gguf.File) bool { return architectureOf(f) == towerArchitecture }

// TowerOf reads the tower of a GGUF file, mmproj, for a model of text of a configuration. idle are the keys that have no effect.
func TowerOf(f *gguf.File, c *model.Config) (t *Tower, idle []Ignored, err error) {
	if !IsTower(f) {
		return nil, nil, fmt.Errorf("%s is %.60q, and a file with a tower has %q", ArchitectureKey, architectureOf(f), towerArchitecture)
	}
	k := keys.ReadFile(f, towerPrefix)
	projector, sees := "", true
	k.Text("", "projector_type", &projector, "")
	if projector == "" {
		k.Text("", "vision.projector_type", &projector, "")
	}
	if k.Bool("", "has_vision_encoder", &sees, projector != ""); k.Err() != nil {
		return nil, nil, k.Err()
	}
	if !sees {
		return nil, nil, unsupported.Errorf("%s is not true: a tower that does not see is not implemented", hasVisionKey)
	}
	family, err := families.TowerByProjector(projectorKey, projector)
	if err != nil {
		return nil, nil, err
	}
	t = &Tower{Tower: &model.Tower{Out: c.HiddenSize, TextEps: c.RMSNormEps}, family: family}
	if err := family.Walk(k, t.Tower); err != nil {
		return nil, nil, err
	}
	t.swapped = family.Swapped(k, t.Tower)
	facts, _ := pixels.Defaults(family.Processed())
	facts.Patch, facts.Merge = family.Patches(t.Tower)
	facts.Frames = t.Frames
	if err := family.WalkFacts(k, &facts); err != nil {
		return nil, nil, err
	}
	if t.Pixels, err = pixels.New(family.Processed(), facts); err != nil {
		return nil, nil, err
	}
	if err := t.fit(); err != nil {
		return nil, nil, err
	}
	idle, err = rest(k, "", f, nil, idleTowerKeys)
	return t, idle, err
}

// idleTowerKeys are the keys of a file with a tower, after "clip.", that have no effect if nobody reads them.
var idleTowerKeys = []idleKey{
	{"audio.", nil, nil, ofEars},
	{"has_audio_encoder", nil, nil, ofEars},
	{"gen.", nil, nil, ofEars},
	{"has_text_encoder", nothing, nil, ofNothing},
	{"has_llava_projector", nil, nil, "what kind of tower it is, which projector_type says"},
	{"use_silu", nothing, nil, ofNothing},
	{"use_gelu", nil, nil, "an activation that towers of this kind have in any case"},
	{"vision.image_min_pixels", nil, nil, "pictures are scaled to fill their soft tokens, up or down"},
	{"vision.n_wa_pattern", nothing, nil, ofNothing},
	{"vision.projector_type", nil, nil, "the kind of tower, which projector_type says"},
}

const ofEars = "of a part that hears, which is not loaded"

// TensorOf says how files have a tensor of the tower.
func (t *Tower) TensorOf(of *model.Tensor) Tensor {
	in := Tensor{Tensor: *of}
	in.HuggingFace, in.GGUF = t.family.Layouts(t.Tower, of, t.naming)
	if other := *of; t.swapped && (of.Part == model.Up || of.Part == model.Down) {
		other.Part = model.Up + model.Down - of.Part
		_, in.GGUF = t.family.Layouts(t.Tower, &other, t.naming)
	}
	return in
}

// Metadata describes the tower in GGUF's keys, with general ones.
func (t *Tower) Metadata(name string, general ...gguf.KeyValue) ([]gguf.KeyValue, error) {
	list := append([]gguf.KeyValue{
		{Key: ArchitectureKey, Value: gguf.ValueOf(towerArchitecture)},
		{Key: TypeKey, Value: gguf.ValueOf("mmproj")},
		{Key: NameKey, Value: gguf.ValueOf(name)},
		{Key: projectorKey, Value: gguf.ValueOf(t.family.Projector)},
		{Key: hasVisionKey, Value: gguf.ValueOf(true)},
	}, general...)
	k := keys.WriteFile(towerPrefix)
	facts := t.Pixels.Facts()
	if err := t.family.Walk(k, t.Tower); err != nil {
		return nil, err
	}
	if err := t.family.WalkFacts(k, &facts); err != nil {
		return nil, err
	}
	return append(list, k.Written()...), nil
}

// Copied returns the row of the model of text's table that a file has for other programs; the zero value if it has no such row.
func (t *Tower) Copied() families.Copied { return t.family.Copied() }

// Account accounts for the tensors of the tower's file by their names. found reports whether a name was found as a tensor of the tower.
func (t *Tower) Account(names []string, found map[string]bool) (a Accounts) {
	for _, name := range names {
		switch {
		case found[name]:
		case name == t.family.Copied().Name:
			a.Idle = append(a.Idle, Ignored{name, "a row of the model of text's own table"})
		case strings.HasPrefix(name, "a.") || strings.HasPrefix(name, "mm.a."):
			a.Idle = append(a.Idle, Ignored{name, ofEars})
		default:
			a.Unread = append(a.Unread, name)
		}
	}
	return a
}

// Serves returns an error if the tower makes features for other models of text than that of a configuration.
func (t *Tower) Serves(c *model.Config) error {
	if family := families.Of(c).Name; !slices.Contains(t.family.Serves, family) {
		return fmt.Errorf("a tower of kind %s is for models of the architectures %s, and the model of text is of %s", t.Kind, strings.Join(t.family.Serves, ", "), family)
	}
	if n := c.Deepstack; n != 0 && n != len(t.Deepstack) {
		return fmt.Errorf("the tower has features for %d layers of the model of text, which adds those of %d", len(t.Deepstack), n)
	}
	return nil
}

// NewTower returns a tower that files do not have yet, with pictures as its family has them.
func NewTower(t *model.Tower) (*Tower, error) {
	made := &Tower{Tower: t, family: families.TowerByKind(t.Kind)}
	if made.family == nil {
		return nil, fmt.Errorf("there is no tower of kind %.60q", t.Kind)
	}
	if err := t.Validate(); err != nil {
		return nil, err
	}
	facts, _ := pixels.Defaults(made.family.Processed())
	facts.Patch, facts.Merge = made.family.Patches(t)
	facts.Frames = t.Frames
	made.family.Published(&facts)
	var err error
	if made.Pixels, err = pixels.New(made.family.Processed(), facts); err != nil {
		return nil, err
	}
	return made, made.fit()
}
