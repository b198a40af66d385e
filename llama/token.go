package llama

import "unsafe"

// Token is the id of a vocabulary entry.
type Token int32

// fromInt32 and toInt32 convert without copying: Token is an int32.
func fromInt32(ids []int32) []Token {
	return unsafe.Slice((*Token)(unsafe.SliceData(ids)), len(ids))
}

func toInt32(tokens []Token) []int32 {
	return unsafe.Slice((*int32)(unsafe.SliceData(tokens)), len(tokens))
}
