package main

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode"
)

// The constants of BM25 (Robertson and Zaragoza, The Probabilistic Relevance Framework, 2009): how soon more of a word no longer counts, and how
// much the length of a passage counts.
const (
	saturation = 1.2
	byLength   = 0.75
)

// rankWords returns the n texts that share the rarest words with a question, by BM25, the best first; of equal ones the earlier comes
// first. Texts that share no word are left out.
func rankWords(texts []string, question string, n int) []hit {
	asked := map[string]int{} // how many texts have the word
	for _, word := range words(question) {
		asked[word] = 0
	}
	counts, lengths, mean := make([]map[string]int, len(texts)), make([]float64, len(texts)), 0.0
	for i, text := range texts {
		counts[i] = map[string]int{}
		for _, word := range words(text) {
			lengths[i]++
			if _, ok := asked[word]; ok {
				counts[i][word]++
			}
		}
		for word := range counts[i] {
			asked[word]++
		}
		mean += lengths[i] / float64(len(texts))
	}
	var hits []hit
	for i, found := range counts {
		score := 0.0
		for _, word := range slices.Sorted(maps.Keys(found)) { // in one order, so that sums are the same each time
			n, in := float64(found[word]), float64(asked[word])
			rare := math.Log(1 + (float64(len(texts))-in+0.5)/(in+0.5))
			score += rare * n * (saturation + 1) / (n + saturation*(1-byLength+byLength*lengths[i]/mean))
		}
		if score > 0 {
			hits = append(hits, hit{i, float32(score)})
		}
	}
	return best(hits, n)
}

// words returns the words of a text, in lower case. A name that is written in one, such as ReadAll, counts as itself and as its parts.
func words(text string) (list []string) {
	for _, run := range strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		list = append(list, strings.ToLower(run))
		first, before := 0, 'A'
		for i, r := range run {
			if unicode.IsUpper(r) && unicode.IsLower(before) {
				list = append(list, strings.ToLower(run[first:i]))
				first = i
			}
			before = r
		}
		if first > 0 {
			list = append(list, strings.ToLower(run[first:]))
		}
	}
	return list
}

// rankOffset is how far the first places of lists are from 0 when lists are joined.
const rankOffset = 60

// join joins lists of the same passages, the best first in each, by their places: a passage scores 1/(60 + its place) in each list that has it
// (Cormack, Clarke and Büttcher, Reciprocal Rank Fusion, 2009).
func join(n int, lists ...[]hit) []hit {
	scores := map[int]float32{}
	for _, list := range lists {
		for place, h := range list {
			scores[h.at] += 1 / float32(rankOffset+1+place)
		}
	}
	hits := make([]hit, 0, len(scores))
	for _, at := range slices.Sorted(maps.Keys(scores)) {
		hits = append(hits, hit{at, scores[at]})
	}
	return best(hits, n)
}

// best returns the n hits of the highest scores, the best first; of equal ones the earlier comes first.
func best(hits []hit, n int) []hit {
	slices.SortStableFunc(hits, func(a, b hit) int { return cmp.Compare(b.score, a.score) })
	return hits[:min(n, len(hits))]
}
