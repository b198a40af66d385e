package families

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/antigravity-go/antigravity/internal/checkpoint/keys"
	"github.com/antigravity-go/antigravity/internal/checkpoint/storage"
	"github.com/antigravity-go/antigravity/internal/gguf"
	"github.com/antigravity-go/antigravity/internal/model"
	"github.com/antigravity-go/antigravity/internal/pixels"
	"github.com/antigravity-go/antigravity/internal/unsupported"
)

// Tower is a family of towers that see. Folders have a tower's configuration under vision_config and its tensors among those of the model of text; GGUF
// has a file of its own, mmproj, with keys that begin with "clip." For example, the first layer of Qwen 3 VL's tower has
//
//	part    folder                                  mmproj
//	Query   model.visual.blocks.0.attn.qkv.weight   v.blk.0.attn_qkv.weight   queries are the first third of its rows
//	Up      model.visual.blocks.0.mlp.linear_fc1    v.blk.0.ffn_up.weight
type Tower struct {
	Kind       string   // as package pixels and model.Tower have it
	Projector  string   // what a file has as clip.projector_type
	Serves     []string // the Family of configurations of models of text
	models     string   // that have it, as README lists them
	types      []string // what a folder has as vision_config's model_type
	wrappers   []string // what it has as its own model_type, if several towers have the same types; nil: whatever it is
	outer      []string // keys of config.json around vision_config that say something about the tower
	within     string   // what names in published folders have after their first word, and those of others have not; "": they have nothing
	traits     model.TowerTraits
	keys       func(k *keys.Walk, t *model.Tower) // besides those that all have
	facts      func(k *keys.Walk, f *pixels.Facts)
	names      map[model.Part]towerName
	processed  string // how pictures are processed, a kind of package pixels; "": as Kind
	fused      bool   // queries, keys and values are one tensor
	apart      bool   // but in mmproj they are three
	rows       func(t *model.Tower, p model.Part) (folder, file storage.Order)
	unnamed    []model.Part // tensors with names in folders that have no ending
	plusOne    []model.Part // vectors that folders store less one
	transposed []model.Part // matrices that both formats store as [in, out]
	colours    bool         // patches are read with the colours innermost, and mmproj has them outermost
	joined     int          // how many patches of a side the tower reads as one; 0: each is read as it is
	tokens     towerTokens
	frame      func(p *pixels.Plan) []Stretch // nil: a picture's rows alone
	copied     Copied
	published  func(f *pixels.Facts) // nil: they differ in nothing
}

// towerName is a part's name in a folder, after what all names begin with, and in mmproj, both without ".weight". EachLayer stands for the layer's number.
type towerName struct{ folder, file string }

// towerTokens are the texts of the tokens that stand for a picture: the one that the template writes, and, if it is another one, the one that stands for each
// of its rows.
type towerTokens struct{ placeholder, row string }

// Stretch is a part of what stands in a prompt for a picture: a text in which special tokens are recognised, and then some rows.
type Stretch struct {
	Text string
	Rows int
}

// Copied is a row of the model of text's table of embeddings, that of a token, which a file with a tower has for other programs.
type Copied struct{ Name, Token string }

// Naming is how the files at hand name a tower's tensors. The zero value is what this module writes.
type Naming struct {
	Prefix string // of names in a folder
	Within bool   // they have what published folders have after the first word
}

// eachLayer stands in names for the layer's number.
const eachLayer = "#"

// towers are the families of towers.
var towers = []*Tower{qwen3vl, qwen25vl, qwen2vl, glm4v, gemma3v, gemma4v, gemma4uv, idefics3, lfm2vl, pixtral}

// Towers yields the families of towers in README's order, each with the models that have one.
func Towers() iter.Seq2[*Tower, string] {
	return func(yield func(*Tower, string) bool) {
		for _, t := range towers {
			if !yield(t, t.models) {
				return
			}
		}
	}
}

// TowerByType returns the family of vision_config's model_type in a folder with a model_type of its own; nil if it is not known.
func TowerByType(name, wrapper string) *Tower {
	return towerBy(func(t *Tower) bool {
		return slices.Contains(t.types, name) && (t.wrappers == nil || slices.Contains(t.wrappers, wrapper))
	})
}

// TowerByKind returns the family of a model.Tower's Kind; nil if it is not known.
func TowerByKind(name string) *Tower { return towerBy(func(t *Tower) bool { return t.Kind == name }) }

// TowerByProjector returns the family of clip.projector_type, and an error that lists all of them if there is no such family.
func TowerByProjector(key, name string) (*Tower, error) {
	if t := towerBy(func(t *Tower) bool { return t.Projector == name }); t != nil {
		return t, nil
	}
	var known []string
	for _, t := range towers {
		known = append(known, t.Projector)
	}
	what := fmt.Sprintf("%.60q", name)
	if models := otherTowers[name]; models != "" {
		what += ", the tower of " + models
	}
	return nil, unsupported.Errorf("%s is %s: towers of %s are implemented, and without one the model of text loads alone", key, what, strings.Join(known, ", "))
}

// otherTowers are models with towers that llama.cpp writes and that are not implemented, by clip.projector_type.
var otherTowers = map[string]string{
	"mlp": "LLaVA 1.5 and 1.6, and of moondream", "ldp": "MobileVLM", "ldpv2": "MobileVLM 2", "resampler": "MiniCPM-V", "adapter": "GLM-Edge", "gemma3nv": "Gemma 3n",
	"internvl": "InternVL", "kimivl": "Kimi-VL", "kimik25": "Kimi K2.5", "llama4": "Llama 4", "phi4": "Phi 4 reasoning vision", "qwen2.5o": "Qwen 2.5 Omni", "paddleocr": "PaddleOCR-VL",
	"lightonocr": "LightOnOCR", "cogvlm": "CogVLM", "janus_pro": "Janus Pro", "dots_ocr": "dots.ocr", "deepseekocr": "DeepSeek-OCR", "hunyuanocr": "HunyuanOCR", "step3vl": "Step3-VL",
	"nemotron_v2_vl": "Nemotron Nano 2 VL", "ultravox": "Ultravox, which hears", "qwen2a": "Qwen2-Audio, which hears", "voxtral": "Voxtral, which hears",
}

func towerBy(is func(t *Tower) bool) *Tower {
	if i := slices.IndexFunc(towers, is); i >= 0 {
		return towers[i]
	}
	return nil
}

// Walk walks over the keys of vision_config or, with the prefix "clip.", of a file. t.Out is the width of the model of text.
func (f *Tower) Walk(k *keys.Walk, t *model.Tower) error {
	if k.Reads() {
		t.Kind, t.Traits, t.Frames, t.Merge = f.Kind, f.traits, 1, 1
	}
	f.keys(k, t)
	if k.Err() != nil {
		return k.Err()
	}
	if !k.Reads() {
		return nil
	}
	return t.Validate()
}

// WalkFacts walks over the keys of a file that say how pictures are processed.
func (f *Tower) WalkFacts(k *keys.Walk, facts *pixels.Facts) error {
	for _, list := range []struct {
		key string
		of  *[3]float64
	}{{"vision.image_mean", &facts.Mean}, {"vision.image_std", &facts.Std}} {
		if !k.Reads() {
			k.Put("", list.key, nil, gguf.ArrayOf([]float32{float32(list.of[0]), float32(list.of[1]), float32(list.of[2])}))
			continue
		}
		values := k.Floats(list.key)
		if values == nil {
			continue
		}
		if len(values) != len(list.of) {
			k.Fail(fmt.Errorf("%s has %d numbers, and must have one for each of 3 colours", k.Key("", list.key), len(values)))
			continue
		}
		for i, v := range values {
			list.of[i] = float64(v)
		}
	}
	if k.Reads() {
		facts.Normalize = facts.Mean != [3]float64{} || facts.Std != [3]float64{1, 1, 1}
	}
	f.facts(k, facts)
	return k.Err()
}

// Copied returns the row that a file has for other programs; the zero value if it has no such row.
func (f *Tower) Copied() Copied { return f.copied }

// Outer lists the keys of config.json around vision_config that say something about the tower.
func (f *Tower) Outer() []string { return f.outer }

// Tokens returns the texts of the token that the template writes for a picture, and of one that stands for rows.
func (f *Tower) Tokens() (placeholder, row string) {
	return f.tokens.placeholder, cmp.Or(f.tokens.row, f.tokens.placeholder)
}

// Frame returns what stands in a prompt for a picture of a plan, in place of the template's token.
func (f *Tower) Frame(p *pixels.Plan) []Stretch {
	if f.frame == nil {
		return []Stretch{{"", p.Tokens()}}
	}
	return f.frame(p)
}

// Patches returns the pixels of a patch's side and the patches of a soft token's side, as files have them and package pixels.
func (f *Tower) Patches(t *model.Tower) (side, merge int) {
	joined := max(f.joined, 1)
	return t.Side() / joined, t.Merge * joined
}

// Processed returns how pictures are processed, a kind of package pixels.
func (f *Tower) Processed() string { return cmp.Or(f.processed, f.Kind) }

// Published sets the facts about pictures in which published models differ from the defaults of their processors.
func (f *Tower) Published(facts *pixels.Facts) {
	if f.published != nil {
		f.published(facts)
	}
}

// Namings are the ways in which folders may name the tower's tensors, the usual one first.
func (f *Tower) Namings() []Naming {
	list := []Naming{{Prefix: ModelPrefix}, {}}
	if f.within != "" {
		list = append(list, Naming{Prefix: ModelPrefix, Within: true}, Naming{Within: true})
	}
	return list
}

// Layouts returns how folders and files have a tensor, with such names.
func (f *Tower) Layouts(t *model.Tower, of *model.Tensor, naming Naming) (folder, file storage.Layout) {
	folder, file = storage.Layout{Own: true}, storage.Layout{}
	prefix := naming.Prefix
	part, end := of.Part, ".weight"
	switch projection, bound, ok := part.BoundOf(); {
	case ok:
		part = projection
		folder.Name, file.Name = f.namesOf(part, of.Layer)
		folder.Name = strings.TrimSuffix(folder.Name, ".linear") + folderBounds[bound]
		file.Name += fileBounds[bound]
		folder.Name = prefix + folder.Name
		return folder, file
	case of.Bias:
		end = ".bias"
	case part == model.StandardBias || part == model.StandardScale:
		end = ""
	}
	layer := of.Layer
	folder.Name, file.Name = f.namesOf(part, layer)
	if part == model.DeepNorm || part == model.DeepUp || part == model.DeepDown { // files number them by their layers
		_, file.Name = f.namesOf(part, t.Deepstack[layer])
	}
	if naming.Within {
		first, rest, _ := strings.Cut(folder.Name, ".")
		if first == "vision_tower" {
			folder.Name = first + "." + f.within + rest
		}
	}
	file.Name += end
	if folder.Name = prefix + folder.Name; !slices.Contains(f.unnamed, part) {
		folder.Name += end
	}
	if slices.Contains(f.plusOne, part) {
		folder.Steps = []storage.Step{storage.Plus(1)}
	}
	folder.Transposed = slices.Contains(f.transposed, part)
	file.Transposed = folder.Transposed
	if i := slices.Index(qkv, part); i >= 0 && f.fused {
		rows := of.Shape[0]
		folder.Within = storage.Within{Name: folder.Name, Rows: 3 * rows, First: i * rows}
		if !f.apart {
			file.Within = storage.Within{Name: file.Name, Rows: 3 * rows, First: i * rows}
		}
	}
	if f.rows != nil {
		folder.Rows, file.Rows = f.rows(t, part)
	}
	if part == model.PatchPositions {
		folder.Tables, file.Tables = true, true
	}
	if !of.Bias && part == model.Downsample {
		folder.Flat, file.Flat, folder.Colours, file.Colours = true, true, true, true
	}
	if !of.Bias && (part == model.PatchEmbedding || part == model.FrameEmbedding) {
		folder.Flat, file.Flat = true, true
		folder.Frames = storage.Frames{Of: t.Frames}
		file.Colours = f.colours
		if part == model.FrameEmbedding {
			folder.Frames.At = 1
			file.Name += ".1"
		}
	}
	return folder, file
}

// qkv are the projections that files have in one, in its order.
var qkv = []model.Part{model.Query, model.Key, model.Value}

// The ends of names of bounds.
var (
	folderBounds = [model.NumBounds]string{".input_min", ".input_max", ".output_min", ".output_max"}
	fileBounds   = folderBounds
)

// namesOf returns a part's names in both formats, with a layer's number and without what follows.
func (f *Tower) namesOf(p model.Part, layer int) (folder, file string) {
	n, number := f.names[p], strconv.Itoa(layer)
	return strings.Replace(n.folder, eachLayer, number, 1), strings.Replace(n.file, eachLayer, number, 1)
}

// The keys that several towers have.

// networkUp is the name in files of a matrix that makes the network's inner width of a layer's states.
const networkUp = "v.blk.#.ffn_up"

// networkShape returns the dimensions of that matrix of the first layer in a file that is read; ok is false if there is no such matrix.
func networkShape(k *keys.Walk) (rows, columns int, ok bool) {
	up, ok := k.Tensor(strings.Replace(networkUp, eachLayer, "0", 1) + ".weight")
	if !ok || len(up.Shape) != 2 {
		return 0, 0, false
	}
	return up.Shape[0], up.Shape[1], true
}

// Swapped reports whether a file has the two matrices of networks with each other's names, as older converters of llama.cpp wrote them.
func (f *Tower) Swapped(k *keys.Walk, t *model.Tower) bool {
	rows, columns, ok := networkShape(k)
	return ok && f.names[model.Up].file == networkUp && rows == t.HiddenSize && columns != rows
}

// networkSize takes the network's width from the tensors of a file, which need not agree with its keys.
func networkSize(k *keys.Walk, t *model.Tower) {
	if rows, columns, ok := networkShape(k); ok {
		if t.IntermediateSize = rows; rows == t.HiddenSize {
			t.IntermediateSize = columns
		}
	}
}

// patchPositions is the name of the table of positions in files.
const patchPositions = "v.position_embd"

// same checks a number that must be as it is: others are not implemented.
func same(k *keys.Walk, folder, file string, want int) {
	got := want
	if k.Int(folder, file, &got, want); got != want {
		k.Fail(unsupported.Errorf("%s is %d, and only %d is implemented for towers", k.Key(folder, file), got, want))
	}
}

// unusedSize writes a key that llama.cpp asks for and that counts for nothing.
func unusedSize(k *keys.Walk, size int) { k.Int("", "vision.image_size", &size, size) }

// twoFrames notes that a patch is two frames of a film.
func twoFrames(k *keys.Walk, t *model.Tower) {
	t.Frames = 2
	same(k, "temporal_patch_size", "", 2)
}

// towerPatch walks over the size of patches, of three colours.
func towerPatch(k *keys.Walk, t *model.Tower, otherwise int) {
	side := t.Side()
	if k.Int("patch_size", "vision.patch_size", &side, otherwise); k.Reads() {
		if side < 1 || side > 256 {
			k.Fail(fmt.Errorf("%s is %d, not between 1 and 256", k.Key("patch_size", "vision.patch_size"), side))
			return
		}
		t.Patch = 3 * side * side
	}
	same(k, "in_channels", "", 3)
}

// towerWidth walks over the width of features, which must be that of the model of text.
func towerWidth(k *keys.Walk, t *model.Tower, folder string) {
	out := t.Out
	if k.Int(folder, "vision.projection_dim", &out, t.Out); out != t.Out {
		k.Fail(fmt.Errorf("%s is %d, and the model of text is %d wide: the two do not belong together", k.Key(folder, "vision.projection_dim"), out, t.Out))
	}
}

// towerActivations are what folders call the activations of layers.
var towerActivations = map[model.TowerActivation]string{model.GELUTanh: geluTanh, model.GELUQuick: "quick_gelu", model.SiLU: silu, model.GELU: gelu}

// towerActivation walks over the activation of layers, which must be that of the family, or another one that its towers may have instead. Folders that do
// not name it have the last of these. A file says by two keys whether it is GELU or SiLU; neither is the quick form of GELU.
func towerActivation(k *keys.Walk, t *model.Tower, folder string, others ...model.TowerActivation) {
	known := append([]model.TowerActivation{t.Traits.Activation}, others...)
	choose := func(said string, is func(act model.TowerActivation) bool) {
		if i := slices.IndexFunc(known, is); i >= 0 {
			t.Traits.Activation = known[i]
			return
		}
		var names []string
		for _, act := range known {
			names = append(names, strconv.Quote(towerActivations[act]))
		}
		k.Fail(unsupported.Errorf("%s, and only %s is implemented for this tower", said, strings.Join(names, " or ")))
	}
	name := towerActivations[t.Traits.Activation]
	k.Text(folder, "", &name, towerActivations[known[len(known)-1]])
	if k.Folder() {
		choose(fmt.Sprintf("%s is %.60q", k.Key(folder, ""), name), func(act model.TowerActivation) bool { return towerActivations[act] == name })
		return
	}
	usesGELU := func(act model.TowerActivation) bool { return act == model.GELUTanh || act == model.GELU }
	inFile := struct{ gelu, silu bool }{usesGELU(t.Traits.Activation), t.Traits.Activation == model.SiLU}
	if k.Reads() || inFile.gelu {
		k.Bool("", "use_gelu", &inFile.gelu, false)
	}
	if k.Reads() || inFile.silu {
		k.Bool("", "use_silu", &inFile.silu, false)
	}
	choose(fmt.Sprintf("%s is %v, and %s is %v", k.Key("", "use_gelu"), inFile.gelu, k.Key("", "use_silu"), inFile.silu), func(act model.TowerActivation) bool {
		return usesGELU(act) == inFile.gelu && (act == model.SiLU) == inFile.silu
	})
}

// towerRoPE walks over the base of angles, which files do not say.
func towerRoPE(k *keys.Walk, t *model.Tower, otherwise float64) {
	if !k.Reads() {
		return
	}
	t.Theta = otherwise
	var rope struct {
		Theta *float64 `json:"rope_theta"`
		Type  *string  `json:"rope_type"`
	}
	if k.Decode("rope_parameters", &rope); rope.Type != nil && *rope.Type != "axial" && *rope.Type != "default" {
		k.Fail(unsupported.Errorf("rope_parameters: rope_type is %.60q, and only \"axial\" is implemented for towers", *rope.Type))
	}
	if rope.Theta != nil {
		t.Theta = *rope.Theta
	}
	towerHeads(k, t)
}

// towerHeads divides the width among the heads.
func towerHeads(k *keys.Walk, t *model.Tower) {
	if !k.Reads() {
		return
	}
	if t.HeadDim = t.Heads; t.Heads > 0 {
		t.HeadDim = t.HiddenSize / t.Heads
	}
	if t.Heads > 0 && t.HiddenSize%t.Heads != 0 {
		k.Fail(fmt.Errorf("%d heads do not divide a width of %d evenly", t.Heads, t.HiddenSize))
	}
}

// towerPositions walks over the rows of a square table of positions. Files have the table alone, and a size of pictures that follows from it.
func towerPositions(k *keys.Walk, t *model.Tower, folder string, otherwise int) {
	k.Int(folder, "", &t.Positions, otherwise)
	side := tableOfPositions(k, t)
	size := side * t.Side()
	if k.Int("", "vision.image_size", &size, size); size != side*t.Side() {
		k.Fail(fmt.Errorf("%s is %d, and the table of positions has %d×%d rows for patches of %d", k.Key("", "vision.image_size"), size, side, side, t.Side()))
	}
}

// tableOfPositions reads the rows of a square table of positions from the table itself, if a file is read. It returns the side of the square.
func tableOfPositions(k *keys.Walk, t *model.Tower) (side int) {
	if table, ok := k.Tensor(patchPositions + ".weight"); ok && len(table.Shape) == 2 {
		t.Positions = table.Shape[0]
	}
	for (side+1)*(side+1) <= min(t.Positions, keys.Most) && side < 1<<12 {
		side++
	}
	if side*side != t.Positions || side == 0 {
		k.Fail(fmt.Errorf("the table of positions has %d rows, which are no square of up to %d", t.Positions, 1<<12))
	}
	return side
}

// towerDeepstack walks over the layers with states that become features of their own.
func towerDeepstack(k *keys.Walk, t *model.Tower) {
	if k.ReadsFolder() {
		k.Decode("deepstack_visual_indexes", &t.Deepstack)
		return
	}
	var list []bool
	if !k.Reads() {
		list = make([]bool, t.Layers)
		for _, layer := range t.Deepstack {
			list[layer] = true
		}
	}
	k.Bools("vision.is_deepstack_layers", &list)
	if !k.Reads() {
		return
	}
	for layer, is := range list {
		if is {
			t.Deepstack = append(t.Deepstack, layer)
		}
	}
}
