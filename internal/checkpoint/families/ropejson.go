package families

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/antigravity-go/antigravity/internal/checkpoint/keys"
	"github.com/antigravity-go/antigravity/internal/exact"
	"github.com/antigravity-go/antigravity/internal/model"
	"github.com/antigravity-go/antigravity/internal/modeljson"
	"github.com/antigravity-go/antigravity/internal/unsupported"
)

// What config.json says of RoPE stands under rope_scaling, or, as transformers 5 writes it, under rope_parameters, the base included. If both stand
// there, choose decides as transformers 5 does. Both may have
// another object for each type of layer. Of this one layers with a window rotate the first half of each head, and the others stretch what YaRN stretches:
//
//	"rope_parameters": {
//	  "full_attention": {"rope_type": "yarn", "rope_theta": 1000000, "factor": 4},
//	  "sliding_attention": {"rope_type": "default", "rope_theta": 10000, "partial_rotary_factor": 0.5}
//	}

// queryScaleName is what scales queries by their positions.
const queryScaleName = "llama_4_scaling_beta"

// ropeIdle are keys that change nothing: what repeats another key, and how a model was trained.
var ropeIdle = []string{"max_position_embeddings", "finetuned"}

// The keys of config.json with objects of RoPE.
const (
	scalingName    = "rope_scaling"
	parametersName = "rope_parameters"
)

// chooseRoPE returns what config.json says of RoPE, nil if it says nothing. rope_scaling, if it says anything, stands for rope_parameters. In families with
// RoPE of their own for layers with a window, its members replace those of the layers without, and in ModernBERT those of both:
//
//	"rope_scaling": {"rope_type": "linear", "factor": 8},
//	"rope_parameters": {"full_attention": {"rope_theta": 1e6}, "sliding_attention": {"rope_theta": 1e4}}
//
// gives Gemma 3's layers without a window a base of 1e6 and linear scaling, and those with one a base of 1e4. In a Llama rope_parameters would say nothing.
// Chosen members that nobody reads are refused by name.
func (f *Family) chooseRoPE(k *keys.Walk) (*ropeJSON, error) {
	inScaling, parameters := k.Raw(scalingName), k.Raw(parametersName)
	scaling, err := ropeMembers(scalingName, inScaling)
	if err != nil {
		return nil, err
	}
	chosen, name := parameters, parametersName
	switch {
	case len(scaling) == 0:
	case len(f.rope.scaledTypes) > 0:
		if chosen, err = updateRoPE(parameters, scaling, f.rope.scaledTypes); err != nil {
			return nil, err
		}
	case f.rope.parametersAlone:
		return nil, unsupported.Errorf("%s is %.100q, which is not implemented for the architecture %s", scalingName, inScaling, f.Name)
	default:
		chosen, name = inScaling, scalingName
	}
	members, err := ropeMembers(name, chosen)
	if err != nil || len(members) == 0 {
		return nil, err
	}
	if err := checkRoPEObject(name, chosen, true); err != nil {
		return nil, err
	}
	var r *ropeJSON
	err = modeljson.Unmarshal(chosen, &r)
	return r, err
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
			return nil, unsupported.Errorf("%s has no %s, which %s would change", parametersName, kind, scalingName)
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
			return unsupported.Errorf("%s of %s is %.100s, which is not implemented", key, name, value)
		}
	}
	if len(types) == 0 {
		return nil
	}
	for _, key := range slices.Sorted(maps.Keys(members)) {
		value := members[key]
		if !slices.Contains(types, key) && string(value) != "null" {
			return unsupported.Errorf("%s has %s and %s: parameters are either those of all layers or those of each type", name, key, types[0])
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

// apply changes r to what j says. Without a base of its own, that of r stays.
func (j *ropeJSON) apply(r *model.RoPE) {
	if j.Theta != nil {
		r.Theta = *j.Theta
	}
	r.Scaling = j.name()
	r.Factor, r.LowFreqFactor, r.HighFreqFactor, r.OriginalContext = j.Factor, j.LowFreqFactor, j.HighFreqFactor, j.OriginalContext
	r.QueryScale = float64(float32(j.QueryScale)) // as in GGUF, so that both formats have the same bits
	switch r.Scaling {
	case model.LongRoPE:
		r.Factor, r.Divisors, r.Long, r.Attention = 0, j.Short, j.Long, j.Attention
	case model.YaRN:
		r.BetaFast, r.BetaSlow, r.Unrounded = cmp.Or(j.BetaFast, model.DefaultBetaFast), cmp.Or(j.BetaSlow, model.DefaultBetaSlow), j.Truncate != nil && !*j.Truncate
		r.Attention = j.Attention
		switch {
		case r.Attention != 0:
		case j.MScale != 0 && j.MScaleAll != 0:
			r.Attention = model.YaRNAttention(j.Factor, j.MScale) / model.YaRNAttention(j.Factor, j.MScaleAll)
		default:
			r.Attention = model.YaRNAttention(j.Factor, 1)
		}
	}
}

// dynamic is the scaling that changes with the conversation's length or, with an alpha, stretches the base alone.
const dynamic = "dynamic"

// stretched returns j with an alpha's scaling in the base, rounded as in GGUF, so that both formats have the same bits.
func (j *ropeJSON) stretched(base float64, headDim int) (*ropeJSON, error) {
	if j.name() != dynamic || j.Alpha == 0 {
		return j, nil
	}
	if j.Factor != 0 && j.Factor != 1 || !(j.Alpha >= 1) || headDim < 4 {
		return nil, unsupported.Errorf("RoPE scaling of type %s by alpha %g and a factor of %g: only an alpha of 1 or more and a factor of 1 are implemented", dynamic, j.Alpha, j.Factor)
	}
	made := *j
	theta := float64(float32(j.theta(base) * exact.Pow(j.Alpha, float64(headDim)/float64(headDim-2))))
	made.Type, made.OldType, made.Factor, made.Theta, made.Alpha = "", "", 0, &theta, 0
	return &made, nil
}

// oldLongRoPE is what early models of Phi 3 call longrope.
const oldLongRoPE = "su"

// name returns the scaling that the object names; "" for no scaling.
func (j *ropeJSON) name() string {
	switch name := cmp.Or(j.Type, j.OldType); name {
	case "default", "mrope": // see textTypes
		return ""
	case oldLongRoPE:
		return model.LongRoPE
	default:
		return name
	}
}
