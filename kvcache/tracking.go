package kvcache

// Tracking says what a cache records besides keys and values. The zero value records only which token is in which slot.
type Tracking struct {
	// Queries is how many of the latest tokens' queries are kept.
	Queries int
	// Attention asks for the sum of the attention that each slot has received from all queries; see Cache.Received.
	Attention bool
	// Anchors is how many of the first keys are kept as they were before RoPE, so that Reanchor can give them other positions.
	Anchors int
}

// Rotation writes the headDim/2 cosines and then the headDim/2 sines of a position's RoPE angles to row [headDim]; see
// backend.Backend's RoPE.
type Rotation func(row []float32, position int)
