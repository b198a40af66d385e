package checkpoint

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/antigravity-go/antigravity/internal/modeljson"
)

// What config.json says of RoPE stands under rope_scaling, or, as transformers 5 writes it, under rope_parameters, the base included. Both may have
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
	OriginalContext int       `json:"original_max_position_embeddings,omitempty"`
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

// checkRoPE refuses by name what objects of RoPE say and nobody reads, in a whole config.json.
func checkRoPE(data []byte) error {
	var j struct {
		Scaling    json.RawMessage `json:"rope_scaling"`
		Parameters json.RawMessage `json:"rope_parameters"`
	}
	if err := modeljson.Unmarshal(data, &j); err != nil {
		return err
	}
	return cmp.Or(checkRoPEObject("rope_scaling", j.Scaling, true), checkRoPEObject("rope_parameters", j.Parameters, true))
}

// checkRoPEObject is checkRoPE for one object, which may have objects for types of layers if typed; name is for errors.
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
	objects := []*ropeJSON{j.RoPEScaling, j.RoPEParameters}
	if j.RoPEScaling == nil && j.RoPEParameters == nil {
		objects = []*ropeJSON{f.defaults.rope}
	}
	whole := or(j.PartialRoPEFactor, first(f.defaults.rotated, 1)) // the part of a head that is rotated, and that in layers with a window
	local := whole
	theta := c.RoPE.Theta
	c.LocalRoPE.Theta = or(j.LocalTheta, f.defaults.localTheta)
	for _, r := range objects {
		switch {
		case r == nil:
			continue
		case r.Whole == nil && r.Local == nil:
			r.apply(&c.RoPE)
			whole = or(r.Partial, whole)
			local = whole
			continue
		}
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
		part float64
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
	case r.Scaling == yarn: // without a context of its own it begins at the context that the file has
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
		r.Turned = turned
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
	r.Scaling = j.Type
	if r.Scaling == "" {
		r.Scaling = j.OldType
	}
	if r.Scaling == "default" || r.Scaling == "mrope" { // see textTypes
		r.Scaling = ""
	}
	if r.Scaling == oldLongRoPE {
		r.Scaling = longRoPE
	}
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
