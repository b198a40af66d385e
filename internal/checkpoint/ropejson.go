package checkpoint

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/antigravity-go/antigravity/internal/modeljson"
)

// What config.json says of RoPE stands under rope_scaling, or, as transformers 5 writes it, under rope_parameters, the base included. If both stand
// there, chooseRoPE decides as transformers 5 does. Both may have
// another object for each type of layer. Of this one layers with a window rotate the first half of each head, and the others stretch what YaRN stretches:
//
//	"rope_parameters": {
//	  "full_attention": {"rope_type": "yarn", "rope_theta": 1000000, "factor": 4},
//	  "sliding_attention": {"rope_type": "default", "rope_theta": 10000, "partial_rotary_factor": 0.5}
//	}

// ropeJSON is RoPE's part of config.json.
type ropeJSON struct {
	Factor          float64   `json:"factor"`
	HighFreqFactor  float64   `json:"high_freq_factor,omitempty"`
	LowFreqFactor   float64   `json:"low_freq_factor,omitempty"`
	OriginalContext int       `json:"original_max_position_embeddings,omitempty" whole:"4.0"`
	Theta           *float64  `json:"rope_theta,omitempty"`
	Type            string    `json:"rope_type,omitempty"`
	OldType         string    `json:"type,omitempty"` // before transformers 4.43
	Attention       float64   `json:"attention_factor,omitempty"`
	BetaFast        float64   `json:"beta_fast,omitempty"`
	BetaSlow        float64   `json:"beta_slow,omitempty"`
	MScale          float64   `json:"mscale,omitempty"` // YaRN's attention factor is a quotient of two, by this
	MScaleAll       float64   `json:"mscale_all_dim,omitempty"`
	Truncate        *bool     `json:"truncate,omitempty"`
	QueryScale      float64   `json:"llama_4_scaling_beta,omitempty"`
	Short           []float32 `json:"short_factor,omitempty"`
	Long            []float32 `json:"long_factor,omitempty"`
	Partial         *float64  `json:"partial_rotary_factor,omitempty"`
	Whole           *ropeJSON `json:"full_attention,omitempty"`    // of the layers without a window, if the others are rotated otherwise
	Local           *ropeJSON `json:"sliding_attention,omitempty"` // of the layers with a window
}

// queryScaleName is what scales queries by their positions.
const queryScaleName = "llama_4_scaling_beta"

// ropeIdle are keys that change nothing: parts of positions, which are equal in a text, what repeats another key, and how a model was trained.
var ropeIdle = []string{"mrope_section", "mrope_interleaved", "max_position_embeddings", "finetuned"}

// The keys of config.json with objects of RoPE.
const (
	scalingName    = "rope_scaling"
	parametersName = "rope_parameters"
)

// chooseRoPE makes j.RoPE what a whole config.json says of RoPE. rope_scaling, if it says anything, stands for rope_parameters. In families with RoPE of
// their own for layers with a window, its members replace those of the layers without, and in ModernBERT those of both:
//
//	"rope_scaling": {"rope_type": "linear", "factor": 8},
//	"rope_parameters": {"full_attention": {"rope_theta": 1e6}, "sliding_attention": {"rope_theta": 1e4}}
//
// gives Gemma 3's layers without a window a base of 1e6 and linear scaling, and those with one a base of 1e4. In a Llama rope_parameters would say nothing.
// Chosen members that nobody reads are refused by name.
func (j *configJSON) chooseRoPE(data []byte, f *family) error {
	var objects struct {
		Scaling    json.RawMessage `json:"rope_scaling"`
		Parameters json.RawMessage `json:"rope_parameters"`
	}
	if err := modeljson.Unmarshal(data, &objects); err != nil {
		return err
	}
	scaling, err := ropeMembers(scalingName, objects.Scaling)
	if err != nil {
		return err
	}
	chosen, name := objects.Parameters, parametersName
	switch {
	case len(scaling) == 0:
	case len(f.scaledTypes) > 0:
		if chosen, err = updateRoPE(objects.Parameters, scaling, f.scaledTypes); err != nil {
			return err
		}
	case f.unscaled: // transformers reads rope_parameters alone
		return unsupported("%s is %.100s, which is not implemented for the architecture %s", scalingName, objects.Scaling, f.name)
	default:
		chosen, name = objects.Scaling, scalingName
	}
	members, err := ropeMembers(name, chosen)
	if err != nil || len(members) == 0 {
		return err
	}
	if err := checkRoPEObject(name, chosen, true); err != nil {
		return err
	}
	return modeljson.Unmarshal(chosen, &j.RoPE)
}

// ropeMembers returns the members of an object of RoPE, and no members for null.
func ropeMembers(name string, data []byte) (members map[string]json.RawMessage, err error) {
	if len(data) == 0 {
		return nil, nil
	}
	if err := modeljson.Unmarshal(data, &members); err != nil {
		return nil, fmt.Errorf("%s cannot be %.40s: %w", name, data, err)
	}
	return members, nil
}

// updateRoPE returns rope_parameters with members replaced in the objects of some types of layers.
func updateRoPE(parameters []byte, members map[string]json.RawMessage, types []string) ([]byte, error) {
	all, err := ropeMembers(parametersName, parameters)
	if err != nil {
		return nil, err
	}
	if all == nil {
		all = map[string]json.RawMessage{wholeLayer: []byte("{}"), windowLayer: []byte("{}")}
	}
	for _, kind := range types {
		object, err := ropeMembers(parametersName+"."+kind, all[kind])
		if err != nil {
			return nil, err
		}
		if object == nil {
			return nil, unsupported("%s has no %s, which %s would change", parametersName, kind, scalingName)
		}
		maps.Copy(object, members)
		if all[kind], err = json.Marshal(object); err != nil {
			return nil, err
		}
	}
	return json.Marshal(all)
}

// checkRoPEObject refuses by name what an object of RoPE says and nobody reads. It may have objects for types of layers if typed; name is for errors.
func checkRoPEObject(name string, data []byte, typed bool) error {
	var members map[string]json.RawMessage
	if len(data) == 0 || modeljson.Unmarshal(data, &members) != nil {
		return nil // other values than objects are refused when they are read
	}
	var types []string
	for _, key := range slices.Sorted(maps.Keys(members)) {
		switch value := string(members[key]); {
		case value == "null":
		case typed && (key == wholeLayer || key == windowLayer):
			types = append(types, key)
		case key == wholeLayer || key == windowLayer || !ropeKeys[key] && !slices.Contains(ropeIdle, key):
			return unsupported("%s of %s is %.100s, which is not implemented", key, name, value)
		}
	}
	if len(types) == 0 {
		return nil
	}
	for _, key := range slices.Sorted(maps.Keys(members)) {
		value := members[key]
		if !slices.Contains(types, key) && string(value) != "null" {
			return unsupported("%s has %s and %s: parameters are either those of all layers or those of each type", name, key, types[0])
		}
		if err := checkRoPEObject(name+"."+key, value, false); err != nil {
			return err
		}
	}
	return nil
}

// ropeKeys are the keys of ropeJSON.
var ropeKeys = func() map[string]bool {
	keys := map[string]bool{}
	for i := range reflect.TypeFor[ropeJSON]().NumField() {
		key, _, _ := strings.Cut(reflect.TypeFor[ropeJSON]().Field(i).Tag.Get("json"), ",")
		keys[key] = true
	}
	return keys
}()

// setRoPE reads how layers without and with a window rotate queries and keys.
func (j *configJSON) setRoPE(c *Config, f *family) error {
	r := j.RoPE
	if r == nil {
		r = f.defaults.rope
	}
	whole := or(j.PartialRoPEFactor, first(f.defaults.rotated, 1)) // the part of a head that is rotated, and that in layers with a window
	local := whole
	theta := c.RoPE.Theta
	if r != nil {
		for _, r := range []*ropeJSON{r, r.Whole, r.Local} {
			if r != nil && r.Partial != nil && *r.Partial != or(j.PartialRoPEFactor, *r.Partial) {
				return unsupported("partial_rotary_factor is %g and within %s %g; only the same number is implemented", *j.PartialRoPEFactor, parametersName, *r.Partial)
			}
		}
	}
	c.LocalRoPE.Theta = or(j.LocalTheta, f.defaults.localTheta)
	switch {
	case r == nil:
	case r.Whole == nil && r.Local == nil:
		if len(f.scaledTypes) > 0 && (r.name() != "" || or(r.Theta, theta) != theta) {
			return unsupported("%s has no %s, and the architecture %s has parameters for each type of layer", parametersName, wholeLayer, f.name)
		}
		r.apply(&c.RoPE)
		whole = or(r.Partial, whole)
		local = whole
	default:
		if r.Whole != nil {
			r.Whole.apply(&c.RoPE)
			whole = or(r.Whole.Partial, whole)
		}
		if r.Local != nil {
			c.LocalRoPE.Theta = first(c.LocalRoPE.Theta, theta)
			r.Local.apply(&c.LocalRoPE)
			local = or(r.Local.Partial, local)
		}
	}
	if f.unstretched && c.LocalRoPE.Theta == 0 {
		c.LocalRoPE.Theta = c.RoPE.Theta
	}
	for _, r := range []struct {
		rope *RoPE
		part float64 // of a head
	}{{&c.RoPE, whole}, {&c.LocalRoPE, local}} {
		if r.rope.Theta == 0 {
			continue
		}
		if r.rope.Scaling == proportional {
			if err := c.setTurned(f, r.rope, r.part); err != nil {
				return err
			}
			continue
		}
		if err := j.complete(r.rope, c, f); err != nil {
			return err
		}
		if err := c.setRotated(f, r.rope, int(float64(c.HeadDim)*min(r.part, 2))); err != nil {
			return err
		}
	}
	if c.LocalRoPE.Scaling == longRoPE {
		return unsupported("RoPE scaling of type longrope for %s", windowLayer)
	}
	return nil
}

// complete fills in what one kind of layers need not say and takes from the rest of the configuration.
func (j *configJSON) complete(r *RoPE, c *Config, f *family) error {
	original := or(j.OriginalContext, 0)
	switch {
	case r.Scaling == yarn, r.Scaling == "llama3": // without a context of its own it begins at the context that the file has
		r.OriginalContext = first(r.OriginalContext, original, c.ContextLength)
	case r.Scaling == longRoPE:
		r.OriginalContext = first(original, r.OriginalContext)
		r.Attention = first(r.Attention, r.attentionOf(c.ContextLength))
	}
	if r.QueryScale != 0 && !slices.Contains(f.keys, queryScaleName) {
		return unsupported("%s is %g; for the architecture %s queries are not scaled by their positions", queryScaleName, r.QueryScale, f.name)
	}
	return nil
}

// proportional is the scaling by which the first pairs of a head's elements turn, and the others do not.
const proportional = "proportional"

// setTurned notes how many pairs of a head's elements turn, a part of all.
func (c *Config) setTurned(f *family, r *RoPE, part float64) error {
	headDim, _ := c.headDims()
	turned := int(min(part, 2) * float64(headDim) / 2)
	switch {
	case r != &c.RoPE || !f.unscaled:
		return unsupported("RoPE scaling of type %s is implemented only for %s of Gemma 4", proportional, wholeLayer)
	case r.Factor != 0 && r.Factor != 1:
		return unsupported("RoPE scaling of type %s by a factor of %g: only 1 is implemented", proportional, r.Factor)
	case turned < 1 || turned > headDim/2:
		return fmt.Errorf("%d of %d pairs of a head's elements turn (partial_rotary_factor): it must be one at least, and no more than all", turned, headDim/2)
	case turned < headDim/2:
		r.RotatedPairs = turned
	}
	r.Scaling, r.Factor = "", 0
	return nil
}

// setRotated notes how many elements of each head are rotated, if not all are.
func (c *Config) setRotated(f *family, r *RoPE, rotated int) error {
	switch {
	case rotated < 2 || rotated > c.HeadDim:
		return fmt.Errorf("%d of %d elements of a head are rotated (partial_rotary_factor): it must be a pair at least, and no more than all", rotated, c.HeadDim)
	case rotated == c.HeadDim:
	case !f.unpaired:
		return unsupported("%d of %d elements of a head are rotated; for the architecture %s only whole heads are", rotated, c.HeadDim, f.name)
	default:
		r.Rotated = rotated
	}
	return nil
}

// apply changes r to what j says. Without a base of its own, that of r stays.
func (j *ropeJSON) apply(r *RoPE) {
	if j.Theta != nil {
		r.Theta = *j.Theta
	}
	r.Scaling = j.name()
	r.Factor, r.LowFreqFactor, r.HighFreqFactor, r.OriginalContext = j.Factor, j.LowFreqFactor, j.HighFreqFactor, j.OriginalContext
	r.QueryScale = float64(float32(j.QueryScale)) // as in GGUF, so that both formats have the same bits
	switch r.Scaling {
	case longRoPE:
		r.Factor, r.Divisors, r.Long, r.Attention = 0, j.Short, j.Long, j.Attention
	case yarn:
		r.BetaFast, r.BetaSlow, r.Unrounded = first(j.BetaFast, defaultBetaFast), first(j.BetaSlow, defaultBetaSlow), !or(j.Truncate, true)
		r.Attention = j.Attention
		switch {
		case r.Attention != 0:
		case j.MScale != 0 && j.MScaleAll != 0:
			r.Attention = yarnAttention(j.Factor, j.MScale) / yarnAttention(j.Factor, j.MScaleAll)
		default:
			r.Attention = yarnAttention(j.Factor, 1)
		}
	}
}

// oldLongRoPE is what early models of Phi 3 call longrope.
const oldLongRoPE = "su"

// name returns the scaling that the object names; "" for no scaling.
func (j *ropeJSON) name() string {
	switch name := first(j.Type, j.OldType); name {
	case "default", "mrope": // see textTypes
		return ""
	case oldLongRoPE:
		return longRoPE
	default:
		return name
	}
}
