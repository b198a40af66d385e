package llama

// callIDs makes the IDs of an answer's calls. An ID is nine letters and digits, as Mistral's templates want it. The same conversation
// gives the same IDs; no two calls of a conversation have the same one, but for a chance of 1 in 10¹⁶ for each two.
type callIDs struct{ seed uint64 }

// newCallIDs returns the IDs of the calls in the answer to prompt: as a conversation goes on no two prompts are the same.
func newCallIDs(prompt []Token) callIDs {
	seed := uint64(len(prompt))
	for _, t := range prompt {
		seed = mix(seed ^ uint64(uint32(t)))
	}
	return callIDs{seed}
}

// of returns the ID of the call that begins as the index-th of its answer.
func (c callIDs) of(index int) string {
	const letters = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	var id [9]byte
	bits := mix(c.seed + uint64(index))
	for i := range id {
		id[i] = letters[bits%uint64(len(letters))]
		bits /= uint64(len(letters))
	}
	return string(id[:])
}

// mix is the generator SplitMix64 (Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators", 2014).
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
