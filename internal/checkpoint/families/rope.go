package families

import (
	"cmp"
	"fmt"

	"github.com/antigravity-go/antigravity/internal/checkpoint/keys"
	"github.com/antigravity-go/antigravity/internal/format"
	"github.com/antigravity-go/antigravity/internal/gguf"
	"github.com/antigravity-go/antigravity/internal/model"
	"github.com/antigravity-go/antigravity/internal/unsupported"
)

// RoPE's keys. config.json has an object (ropejson.go), GGUF has keys, and for some scalings tensors with a divisor for each frequency.

// scaledWhole is scaledTypes if only layers without a window are scaled.
var scaledWhole = []string{wholeLayer}

// The keys of GGUF's metadata for RoPE, after the architecture's name and a dot.
const (
	temperatureKey   = "attention.temperature_scale"  // llama_4_scaling_beta of config.json
	temperatureLen   = "attention.temperature_length" // the positions that share a factor; without it, the original context
	ropeThetaKey     = "rope.freq_base"
	ropeLocalKey     = "rope.freq_base_swa"
	ropeRotatedKey   = "rope.dimension_count"
	ropeScalingKey   = "rope.scaling.type"
	ropeFactorKey    = "rope.scaling.factor"
	ropeLinearKey    = "rope.scale_linear" // what old files call the factor
	ropeContextKey   = "rope.scaling.original_context_length"
	ropeAttentionKey = "rope.scaling.attn_factor"
	ropeBetaFastKey  = "rope.scaling.yarn_beta_fast"
	ropeBetaSlowKey  = "rope.scaling.yarn_beta_slow"
	ropeRoundedKey   = "rope.scaling.yarn_truncate"       // truncate of config.json; llama.cpp does not know it
	ropeLogKey       = "rope.scaling.yarn_log_multiplier" // mscale_all_dim of config.json
	ropeThereKey     = "rope.scaling.finetuned"           // Granite's models are without RoPE if it is false
)

// Scalings that have no name in package model.
const (
	linear          = "linear"
	llama3          = "llama3"
	unscaledScaling = "none"
)

const defaultTheta = 10000

// The names of GGUF's tensors of divisors, by which RoPE's frequencies are divided: those of any scaling, and longrope's two.
const (
	DivisorsGGUF      = "rope_freqs.weight"
	LongDivisorsGGUF  = "rope_factors_long.weight"
	ShortDivisorsGGUF = "rope_factors_short.weight"
)

// ropes walks over how layers without and with a window rotate queries and keys.
func (c *walking) ropes(k *keys.Walk) {
	switch {
	case k.Err() != nil:
	case k.ReadsFolder():
		k.Fail(c.ropeOfFolder(k))
	case k.ReadsFile():
		k.Fail(c.ropeOfFile(k))
	case k.Folder():
		c.ropeToFolder(k)
	default:
		c.ropeToFile(k)
	}
}

// ropeOfFolder reads config.json.
func (c *walking) ropeOfFolder(k *keys.Walk) error {
	d := &c.family.rope
	r, err := c.family.chooseRoPE(k)
	if err != nil {
		return err
	}
	if r == nil {
		r = d.usual
	}
	theta := k.First(append(d.thetaKeys, "rope_theta")...)
	k.Float(theta, "", &c.RoPE.Theta, cmp.Or(d.theta, defaultTheta))
	if c.LocalRoPE.Theta = d.localTheta; d.localKeys != nil {
		k.Float(k.First(d.localKeys...), "", &c.LocalRoPE.Theta, d.localTheta)
	}
	whole := 1.0 // the part of a head that is rotated, and local that in layers with a window
	if d.partial != 0 {
		k.Float("partial_rotary_factor", "", &whole, d.partial)
		if r != nil && k.Has("partial_rotary_factor", "") {
			for _, r := range r.all() {
				if r.Partial != nil && *r.Partial != whole {
					return unsupported.Errorf("partial_rotary_factor is %g and within %s %g; only the same number is implemented", whole, parametersName, *r.Partial)
				}
			}
		}
	}
	if k.Err() != nil {
		return k.Err()
	}
	local, base := whole, c.RoPE.Theta
	if r != nil && d.alpha {
		if r, err = r.stretched(base, c.HeadDim); err != nil {
			return err
		}
	}
	for _, object := range r.all() {
		if object.Alpha != 0 {
			return unsupported.Errorf("alpha of %s is %g, which is not implemented for the architecture %s with such a scaling", parametersName, object.Alpha, c.family.Name)
		}
	}
	switch {
	case r == nil:
	case r.Whole == nil && r.Local == nil:
		if len(d.scaledTypes) > 0 && (r.name() != "" || r.theta(base) != base) {
			return unsupported.Errorf("%s has no %s, and the architecture %s has parameters for each type of layer", parametersName, wholeLayer, c.family.Name)
		}
		r.apply(&c.RoPE)
		whole = r.part(whole)
		local = whole
	default:
		if r.Whole != nil {
			r.Whole.apply(&c.RoPE)
			whole = r.Whole.part(whole)
		}
		if r.Local != nil {
			c.LocalRoPE.Theta = cmp.Or(c.LocalRoPE.Theta, base)
			r.Local.apply(&c.LocalRoPE)
			local = r.Local.part(local)
		}
	}
	if d.unstretched && c.LocalRoPE.Theta == 0 {
		c.LocalRoPE.Theta = c.RoPE.Theta
	}
	if r != nil {
		if err := c.sectionsOfFolder(r); err != nil {
			return err
		}
	}
	original := 0
	if d.originalContext {
		k.Int("original_max_position_embeddings", "", &original, 0)
	}
	for _, r := range []struct {
		rope *model.RoPE
		part float64 // of a head
	}{{&c.RoPE, whole}, {&c.LocalRoPE, local}} {
		if r.rope.Theta == 0 {
			continue
		}
		if r.rope.Scaling == proportional {
			if err := c.setTurned(r.rope, r.part); err != nil {
				return err
			}
			continue
		}
		if err := c.complete(r.rope, original); err != nil {
			return err
		}
		if err := c.setRotated(r.rope, int(float64(c.HeadDim)*min(r.part, 2))); err != nil {
			return err
		}
	}
	if d.latent {
		return c.latentOfFolder(r)
	}
	if c.LocalRoPE.Scaling == model.LongRoPE {
		return unsupported.Errorf("RoPE scaling of type longrope for %s", windowLayer)
	}
	return nil
}

// all returns the objects that there are: itself, and those of types of layers.
func (j *ropeJSON) all() (list []*ropeJSON) {
	if j == nil {
		return nil
	}
	for _, object := range []*ropeJSON{j, j.Whole, j.Local} {
		if object != nil {
			list = append(list, object)
		}
	}
	return list
}

// theta returns the base, or otherwise if the object does not say it.
func (j *ropeJSON) theta(otherwise float64) float64 {
	if j.Theta != nil {
		return *j.Theta
	}
	return otherwise
}

// part returns which part of a head is rotated, or otherwise if the object does not say it.
func (j *ropeJSON) part(otherwise float64) float64 {
	if j.Partial != nil {
		return *j.Partial
	}
	return otherwise
}

// complete fills in what one kind of layers need not say and takes from the rest of the configuration.
func (c *walking) complete(r *model.RoPE, original int) error {
	switch {
	case r.Scaling == model.YaRN, r.Scaling == llama3: // without a context of its own it begins at the context that the file has
		r.OriginalContext = cmp.Or(r.OriginalContext, original, c.ContextLength)
	case r.Scaling == model.LongRoPE:
		r.OriginalContext = cmp.Or(original, r.OriginalContext)
		r.Attention = cmp.Or(r.Attention, r.LongAttention(c.ContextLength))
	}
	if r.QueryScale != 0 && !c.family.rope.scalesQueries {
		return unsupported.Errorf("%s is %g; for the architecture %s queries are not scaled by their positions", queryScaleName, r.QueryScale, c.family.Name)
	}
	return nil
}

// proportional is the scaling by which the first pairs of a head's elements turn, and the others do not.
const proportional = "proportional"

// setTurned notes how many pairs of a head's elements turn, a part of all.
func (c *walking) setTurned(r *model.RoPE, part float64) error {
	headDim, _ := c.HeadDims()
	turned := int(min(part, 2) * float64(headDim) / 2)
	switch {
	case r != &c.RoPE || !c.family.rope.still:
		return unsupported.Errorf("RoPE scaling of type %s is implemented only for %s of Gemma 4", proportional, wholeLayer)
	case r.Factor != 0 && r.Factor != 1:
		return unsupported.Errorf("RoPE scaling of type %s by a factor of %g: only 1 is implemented", proportional, r.Factor)
	case turned < 1 || turned > headDim/2:
		return fmt.Errorf("%d of %d pairs of a head's elements turn (partial_rotary_factor): it must be one at least, and no more than all", turned, headDim/2)
	case turned < headDim/2:
		r.RotatedPairs = turned
	}
	r.Scaling, r.Factor = "", 0
	return nil
}

// setRotated notes how many elements of each head are rotated, if not all are.
func (c *walking) setRotated(r *model.RoPE, rotated int) error {
	switch {
	case rotated < 2 || rotated > c.HeadDim:
		return fmt.Errorf("%d of %d elements of a head are rotated (partial_rotary_factor): it must be a pair at least, and no more than all", rotated, c.HeadDim)
	case rotated == c.HeadDim:
	case !c.family.unpaired && !c.family.paired:
		return unsupported.Errorf("%d of %d elements of a head are rotated; for the architecture %s only whole heads are", rotated, c.HeadDim, c.family.Name)
	default:
		r.Rotated = rotated
	}
	return nil
}

// ropeToFolder writes the object of config.json. RoPE.Divisors are left out: the format has no place for them.
func (c *walking) ropeToFolder(k *keys.Walk) {
	r := &c.RoPE
	k.Float("rope_theta", "", &r.Theta, 0)
	if r.Scaling == "" && r.Sections == [3]int{} {
		return
	}
	j := &ropeJSON{Type: cmp.Or(r.Scaling, "default"), Factor: r.Factor, LowFreqFactor: r.LowFreqFactor, HighFreqFactor: r.HighFreqFactor, OriginalContext: r.OriginalContext,
		Attention: r.Attention, BetaFast: r.BetaFast, BetaSlow: r.BetaSlow}
	if r.Unrounded {
		j.Truncate = new(bool)
	}
	if r.Sections != [3]int{} {
		j.Sections, j.Interleaved = []int32{int32(r.Sections[0]), int32(r.Sections[1]), int32(r.Sections[2])}, &r.Interleaved
	}
	k.Put(scalingName, "", j, keys.None)
}

// ropeOfFile reads a GGUF file: RoPE is stretched by a factor, or by divisors for each frequency, which is llama3's way, and longrope's: it has
// two of each. A factor without the name of a scaling is that of a linear one.
func (c *walking) ropeOfFile(k *keys.Walk) (err error) {
	d, r := &c.family.rope, &c.RoPE
	k.Float("", ropeThetaKey, &r.Theta, defaultTheta)
	factor, original := 0.0, 0
	k.Float("", ropeLinearKey, &factor, 0)
	k.Float("", ropeFactorKey, &factor, factor)
	kind, said := "", k.Has("", ropeScalingKey)
	k.Text("", ropeScalingKey, &kind, "")
	switch {
	case said && kind != unscaledScaling:
		r.Scaling, r.Factor = kind, factor
	case !said && factor != 0 && factor != 1:
		r.Scaling, r.Factor = linear, factor
	}
	k.Int("", ropeContextKey, &original, 0)
	if r.Scaling == model.YaRN {
		rounded, all := !d.unrounded, 0.0
		k.Bool("", ropeRoundedKey, &rounded, rounded)
		r.Unrounded, r.OriginalContext = !rounded, cmp.Or(original, c.ContextLength)
		k.Float("", ropeBetaFastKey, &r.BetaFast, model.DefaultBetaFast)
		k.Float("", ropeBetaSlowKey, &r.BetaSlow, model.DefaultBetaSlow)
		k.Float("", ropeAttentionKey, &r.Attention, 1)
		r.Attention *= model.YaRNAttention(r.Factor, 1)
		switch k.Float("", ropeLogKey, &all, 0); {
		case d.latent:
			k.Fail(c.latentOfFile(all))
		case all != 0:
			r.Attention /= model.YaRNAttention(r.Factor, all)
		}
	}
	if err := c.divisorsOfFile(k, factor, original); err != nil {
		return err
	}
	if err := c.queryScaleOfFile(k, original); err != nil {
		return err
	}
	if err := c.sectionsOfFile(k); err != nil {
		return err
	}
	switch {
	case d.localTheta != 0:
		k.Float("", ropeLocalKey, &c.LocalRoPE.Theta, d.localTheta)
	case d.unstretched:
		k.Float("", ropeLocalKey, &c.LocalRoPE.Theta, r.Theta)
	}
	if d.still {
		if err := readStill(r); err != nil {
			return err
		}
	}
	if k.Err() != nil {
		return k.Err()
	}
	rotated := 0
	whole, _ := c.HeadDims()
	if k.Int("", ropeRotatedKey, &rotated, whole); rotated == whole {
		return nil
	}
	if c.LocalRoPE.Theta != 0 && c.Windowed != nil {
		if err := c.setRotated(&c.LocalRoPE, rotated); err != nil {
			return err
		}
	}
	return c.setRotated(r, rotated)
}

// divisorsOfFile reads the tensors of divisors.
func (c *walking) divisorsOfFile(k *keys.Walk, factor float64, original int) (err error) {
	r := &c.RoPE
	if r.Divisors, err = divisors(k, DivisorsGGUF); err != nil {
		return err
	}
	if r.Long, err = divisors(k, LongDivisorsGGUF); err != nil || r.Long == nil {
		return err
	}
	if r.Divisors, err = divisors(k, ShortDivisorsGGUF); err != nil {
		return err
	}
	if factor != 0 && factor != 1 && (r.Scaling == linear || r.Scaling == model.YaRN) {
		return unsupported.Errorf("%s is %g beside the tensor %s: RoPE that is stretched in two ways is not implemented", k.Key("", ropeFactorKey), factor, LongDivisorsGGUF)
	}
	r.Scaling, r.Factor, r.OriginalContext = model.LongRoPE, 0, original
	k.Float("", ropeAttentionKey, &r.Attention, r.LongAttention(c.ContextLength))
	return nil
}

// queryScaleOfFile reads how queries are scaled by their positions.
func (c *walking) queryScaleOfFile(k *keys.Walk, original int) error {
	scale, length := 0.0, 0
	if k.Float("", temperatureKey, &scale, 0); scale == 0 {
		return nil
	}
	if !c.family.rope.scalesQueries {
		return unsupported.Errorf("%s is %g; for the architecture %s queries are not scaled by their positions", k.Key("", temperatureKey), scale, c.family.Name)
	}
	if k.Int("", temperatureLen, &length, 0); length != 0 && original != 0 && length != original {
		return unsupported.Errorf("%s is %d, %s is %d; only the same number is implemented", k.Key("", temperatureLen), length, k.Key("", ropeContextKey), original)
	}
	c.RoPE.QueryScale, c.RoPE.OriginalContext = scale, cmp.Or(original, length, c.ContextLength)
	return nil
}

// divisors reads a tensor of divisors of frequencies, or nil.
func divisors(k *keys.Walk, name string) ([]float32, error) {
	t, ok := k.Tensor(name)
	if !ok {
		return nil, nil
	}
	return ShortTensor(&t, model.MaxHeadDim/2, "there is one divisor for each pair of a head's elements")
}

// ShortTensor reads the elements of a tensor that has at most a number of them, by a rule.
func ShortTensor(t *gguf.Tensor, most int, rule string) ([]float32, error) {
	numbers := t.DType.Format()
	if !numbers.Valid() {
		return nil, unsupported.Errorf("the tensor %s has the type %v, which cannot be read", t.Name, t.Type)
	}
	n := 1
	for _, d := range t.Shape {
		if d > most || n*d > most {
			return nil, format.Errorf(t.Offset, "the tensor %s has the shape %v: %s", t.Name, t.Shape, rule)
		}
		n *= d
	}
	list := make([]float32, n)
	if err := numbers.Dequantize(list, t.Data); err != nil {
		return nil, format.Errorf(t.Offset, "the tensor %s: %w", t.Name, err)
	}
	return list, nil
}

// ropeToFile writes GGUF's keys. RoPE.Divisors and Long and the scaling llama3 have no keys: see Divisors.
func (c *walking) ropeToFile(k *keys.Walk) {
	d, r := &c.family.rope, &c.RoPE
	whole, _ := c.HeadDims()
	rotated := cmp.Or(r.Rotated, whole)
	attention, one := r.Attention, 1.0
	k.Float("", ropeThetaKey, &r.Theta, 0)
	k.Int("", ropeRotatedKey, &rotated, 0)
	if r.QueryScale != 0 {
		k.Float("", temperatureKey, &r.QueryScale, 0)
		k.Int("", temperatureLen, &r.OriginalContext, 0)
	}
	switch r.Scaling {
	case linear, model.YaRN:
		k.Text("", ropeScalingKey, &r.Scaling, "")
		k.Float("", ropeFactorKey, &r.Factor, 0)
	case model.LongRoPE:
		k.Int("", ropeContextKey, &r.OriginalContext, 0)
		k.Float("", ropeAttentionKey, &attention, 0)
	}
	if r.Scaling == model.YaRN {
		k.Int("", ropeContextKey, &r.OriginalContext, 0)
		k.Float("", ropeBetaFastKey, &r.BetaFast, 0)
		k.Float("", ropeBetaSlowKey, &r.BetaSlow, 0)
		if d.latent {
			c.latentToFile(k)
		} else if d.logMultiplier && attention == 1 { // as llama.cpp writes it for this architecture alone
			k.Float("", ropeLogKey, &one, 0)
		} else {
			attention /= model.YaRNAttention(r.Factor, 1)
			k.Float("", ropeAttentionKey, &attention, 0)
		}
	}
	c.sectionsToFile(k)
	k.Float("", ropeLocalKey, &c.LocalRoPE.Theta, 0)
}

// stillDivisor is what GGUF divides the frequencies of pairs by that do not turn.
const stillDivisor = 1e30

// readStill makes GGUF's divisors, by which some pairs do not turn, RotatedPairs.
func readStill(r *model.RoPE) error {
	if r.Divisors == nil {
		return nil
	}
	turned := 0
	for turned < len(r.Divisors) && r.Divisors[turned] == 1 {
		turned++
	}
	for _, d := range r.Divisors[turned:] {
		if d != stillDivisor {
			return unsupported.Errorf("%s has %g after %d pairs of elements that turn; only %g, which leaves a pair still, is implemented", DivisorsGGUF, d, turned, float32(stillDivisor))
		}
	}
	if turned < len(r.Divisors) {
		r.RotatedPairs = turned
		if turned == 0 {
			return unsupported.Errorf("%s leaves all pairs of elements still", DivisorsGGUF)
		}
	}
	r.Divisors = nil
	return nil
}
