package split

import "unicode"

// properties are those that expressions may name, as \p{L}. Package unicode has them by their names, too, with those of all writing systems,
// which would make every program larger.
var properties = map[string][]*unicode.RangeTable{
	"L": {unicode.L}, "Lu": {unicode.Lu}, "Ll": {unicode.Ll}, "Lt": {unicode.Lt}, "Lm": {unicode.Lm}, "Lo": {unicode.Lo},
	"M": {unicode.M}, "Mn": {unicode.Mn}, "Mc": {unicode.Mc}, "Me": {unicode.Me},
	"N": {unicode.N}, "Nd": {unicode.Nd}, "Nl": {unicode.Nl}, "No": {unicode.No},
	"P": {unicode.P}, "Pc": {unicode.Pc}, "Pd": {unicode.Pd}, "Ps": {unicode.Ps}, "Pe": {unicode.Pe}, "Pi": {unicode.Pi},
	"Pf": {unicode.Pf}, "Po": {unicode.Po},
	"S": {unicode.S}, "Sm": {unicode.Sm}, "Sc": {unicode.Sc}, "Sk": {unicode.Sk}, "So": {unicode.So},
	"Z": {unicode.Z}, "Zs": {unicode.Zs}, "Zl": {unicode.Zl}, "Zp": {unicode.Zp},
	"C": {unicode.C}, "Cc": {unicode.Cc}, "Cf": {unicode.Cf}, "Co": {unicode.Co},
	"Han": {unicode.Han}, "Hiragana": {unicode.Hiragana}, "Katakana": {unicode.Katakana}, "Hangul": {unicode.Hangul},
	"Latin": {unicode.Latin}, "Greek": {unicode.Greek}, "Cyrillic": {unicode.Cyrillic}, "Arabic": {unicode.Arabic},
	"Hebrew": {unicode.Hebrew}, "Thai": {unicode.Thai}, "Devanagari": {unicode.Devanagari},
}

// shorthands are the classes with a name of one letter; with the capital letter they mean all other characters.
var shorthands = map[byte][]*unicode.RangeTable{
	's': {unicode.White_Space},
	'd': {unicode.Nd},
	'w': {unicode.L, unicode.M, unicode.N, unicode.Other_Alphabetic, unicode.Pc}, // as Oniguruma has it, with "½" and "²"
}
