package model

import (
	"slices"
)

// Layer is what one layer of a model computes. The engine reads it and never asks for a family's name.
type Layer struct {
	Mixer       Mixer
	FeedForward FeedForward
	LayerSizes
	Source    int     // the layer that has the keys and values which SharedAttention reads: an earlier one
	ValueNorm bool    // the values of each head are normalised, without weights
	ScoreCap  float64 // what attention's scores s are limited to, ScoreCap·tanh(s/ScoreCap); 0: they are not
	Window    int     // how many positions Attention sees, the token's own included; 0: all
	Reach     int     // how many positions before and after the token's own TextAttention sees; 0: all
	RoPE      *RoPE   // by which angles attention rotates queries and keys, one of the configuration's; nil: nothing is rotated
}

// LayerSizes are the sizes in which layers of one model may differ; see Config's fields of these names.
type LayerSizes struct {
	IntermediateSize, KVHeads, HeadDim int
}

// Mixer is how a layer lets tokens see each other.
type Mixer uint8

// The mixers.
const (
	Attention       Mixer = iota
	TextAttention         // sees the tokens after its own, too
	TiedAttention         // values are what keys are made of, before their norm and rotation
	SharedAttention       // has queries alone, and reads the keys and values of an earlier layer, Layer.Source
	GatedAttention
	LatentAttention  // keys and values are made of one short row, which the cache has: see Latent
	NoMixer          // the layer is a feed-forward network alone
	DeltaRule        // the gated delta rule (arXiv 2412.06464)
	ShortConvolution // of the last few tokens
	SelectiveScan    // the state space of Mamba 2 (arXiv 2405.21060)
	AttentionAndScan // Attention and SelectiveScan, which read one norm: the results of both are added
)

// Recurrent reports whether the mixer remembers something of fixed size of a conversation.
func (m Mixer) Recurrent() bool { return m >= DeltaRule }

// Attends reports whether the mixer has attention.
func (m Mixer) Attends() bool { return m < NoMixer || m == AttentionAndScan }

// Scans reports whether the mixer has a selective scan.
func (m Mixer) Scans() bool { return m == SelectiveScan || m == AttentionAndScan }

// parts returns the parts that the mixer computes with, in the order of computation.
func (m Mixer) parts() []Part { return mixerParts[m] }

var attentionParts = []Part{Query, Key, Value, QueryNorm, KeyNorm, Sinks, AttentionSubNorm, AttentionOutput}

var scanParts = []Part{RecurrentQuery, RecurrentKey, RecurrentValue, RecurrentGate, RecurrentStep, QueryFilter, KeyFilter, ValueFilter, StepBias, Decay,
	Skip, RecurrentNorm, RecurrentOutput}

// mixerParts has each mixer's parts. A family may have only some of those that are optional.
var mixerParts = [...][]Part{
	Attention: attentionParts, TextAttention: attentionParts, GatedAttention: {Query, QueryGate, Key, Value, QueryNorm, KeyNorm, AttentionOutput},
	TiedAttention:   {Query, Key, QueryNorm, KeyNorm, AttentionOutput},
	SharedAttention: {Query, QueryNorm, AttentionOutput},
	LatentAttention: {QueryDown, QueryDownNorm, LatentQuery, RotatedQuery, LatentRow, RotatedKey, LatentNorm, KeyUp, ValueUp, AttentionOutput},
	NoMixer:         {},
	DeltaRule: {RecurrentQuery, RecurrentKey, RecurrentValue, RecurrentGate, RecurrentBeta, RecurrentStep, QueryFilter, KeyFilter, ValueFilter,
		StepBias, Decay, RecurrentNorm, RecurrentOutput},
	ShortConvolution: {InputGate, OutputGate, ConvolutionInput, ConvolutionFilter, ConvolutionOutput},
	SelectiveScan:    scanParts, AttentionAndScan: slices.Concat(attentionParts, scanParts),
}

// FeedForward is what a layer computes of each token by itself.
type FeedForward uint8

// The feed-forward networks.
const (
	Gated          FeedForward = iota // down(activation(gate(x))·up(x))
	Ungated                           // down(activation(up(x)))
	Routed                            // networks, some of them for each token, and maybe one for all tokens: see Experts
	GatedAndRouted                    // Gated and Routed, side by side: each reads the residual stream by a norm of its own, the router by another one
	NoFeedForward                     // the layer is a mixer alone
)

// parts returns the parts that the network computes with, in the order of computation.
func (f FeedForward) parts() []Part { return feedForwardParts[f] }

// feedForwardParts has each network's parts.
var feedForwardParts = [...][]Part{Gated: {Gate, Up, FeedForwardSubNorm, Down}, Ungated: {Up, Down},
	NoFeedForward: {},
	Routed: {Router, RouterCorrection, LatentDown, ExpertScales, ExpertGateScales, ExpertUpScales, ExpertGate, ExpertUp, ExpertDown, ExpertSumBias, LatentUp,
		SharedRouter, SharedGate, SharedUp, SharedDown},
	GatedAndRouted: {Gate, Up, Down, DensePostNorm, RouterNorm, Router, ExpertScales, ExpertGateScales, ExpertUpScales, ExpertNorm, ExpertGate, ExpertUp, ExpertDown, ExpertPostNorm}}

// Routed reports whether the network has experts.
func (f FeedForward) Routed() bool { return f == Routed || f == GatedAndRouted }

// has reports whether a layer has a part: one of its mixer, of its feed-forward network, or one that belongs to neither.
func (l *Layer) has(p Part) bool {
	switch {
	case l.Mixer == NoMixer && (p == AttentionNorm || p == AttentionPostNorm || p == AttentionSumNorm),
		l.FeedForward == NoFeedForward && (p == FeedForwardNorm || p == FeedForwardPostNorm || p == FeedForwardSumNorm):
		return false
	}
	if slices.Contains(l.Mixer.parts(), p) || slices.Contains(l.FeedForward.parts(), p) {
		return true
	}
	of := func(parts []Part) bool { return slices.Contains(parts, p) }
	return !slices.ContainsFunc(mixerParts[:], of) && !slices.ContainsFunc(feedForwardParts[:], of)
}
