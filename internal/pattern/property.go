package pattern

import (
	"strings"
	"unicode"

	"github.com/antigravity-go/antigravity/internal/charset"
)

// property parses the rest of \p{…} behind the p: a general category or a script, by its short or long name, or a binary property.
func (p *ecma) property(begin int) charset.Set {
	end := strings.IndexByte(p.source[p.at:], '}')
	if !p.peek("{") || end < 0 {
		p.fail(begin, `a \p without a {property} behind it`, false)
		return nil
	}
	name := p.source[p.at+1 : p.at+end]
	p.at += end + 1
	set, ok := propertySet(name)
	if !ok {
		p.fail(begin, "an unknown property of characters {"+name+"}", true)
		return nil
	}
	return set
}

// propertySet returns the characters with a property.
func propertySet(name string) (charset.Set, bool) {
	kind, value, has := strings.Cut(name, "=")
	switch kind {
	case "General_Category", "gc":
		return category(value)
	case "Script", "sc":
		if long, ok := scriptNames[value]; ok {
			value = long
		}
		table, ok := unicode.Scripts[value]
		if !ok {
			return nil, false
		}
		return charset.OfTables(table), true
	}
	if has {
		return nil, false
	}
	if set, ok := category(name); ok {
		return set, true
	}
	switch name {
	case "Any":
		return charset.All(), true
	case "ASCII":
		return charset.Between(0, unicode.MaxASCII), true
	}
	if tables, ok := binaryProperties[name]; ok {
		return charset.OfTables(tables...), true
	}
	return nil, false
}

// category returns the characters of a general category.
func category(name string) (charset.Set, bool) {
	switch name {
	case "Assigned":
		set, _ := category("Cn")
		return set.Not(), true
	case "Cn", "Unassigned": // the tables count no surrogates as assigned, and sets have no surrogates at all
		return charset.OfTables(unicode.L, unicode.M, unicode.N, unicode.P, unicode.S, unicode.Z, unicode.Cc, unicode.Cf, unicode.Co).Not(), true
	case "C", "Other":
		return charset.OfTables(unicode.L, unicode.M, unicode.N, unicode.P, unicode.S, unicode.Z).Not(), true
	case "LC", "Cased_Letter":
		return charset.OfTables(unicode.Lu, unicode.Ll, unicode.Lt), true
	}
	if short, ok := unicode.CategoryAliases[name]; ok {
		name = short
	}
	table, ok := unicode.Categories[name]
	if !ok {
		return nil, false
	}
	return charset.OfTables(table), true
}

// binaryProperties are the binary properties that package unicode has tables for.
var binaryProperties = map[string][]*unicode.RangeTable{
	"Alphabetic":      {unicode.L, unicode.Nl, unicode.Other_Alphabetic},
	"Alpha":           {unicode.L, unicode.Nl, unicode.Other_Alphabetic},
	"Lowercase":       {unicode.Ll, unicode.Other_Lowercase},
	"Lower":           {unicode.Ll, unicode.Other_Lowercase},
	"Uppercase":       {unicode.Lu, unicode.Other_Uppercase},
	"Upper":           {unicode.Lu, unicode.Other_Uppercase},
	"White_Space":     {unicode.White_Space},
	"space":           {unicode.White_Space},
	"ASCII_Hex_Digit": {unicode.ASCII_Hex_Digit},
	"AHex":            {unicode.ASCII_Hex_Digit},
	"Hex_Digit":       {unicode.Hex_Digit},
	"Hex":             {unicode.Hex_Digit},
	"Dash":            {unicode.Dash},
	"Diacritic":       {unicode.Diacritic},
	"Dia":             {unicode.Diacritic},
	"Ideographic":     {unicode.Ideographic},
	"Ideo":            {unicode.Ideographic},
	"Math":            {unicode.Sm, unicode.Other_Math},
	"Quotation_Mark":  {unicode.Quotation_Mark},
	"QMark":           {unicode.Quotation_Mark},
	"Radical":         {unicode.Radical},
}

// scriptNames are short names of common scripts.
var scriptNames = map[string]string{
	"Arab": "Arabic", "Armn": "Armenian", "Beng": "Bengali", "Bopo": "Bopomofo", "Cyrl": "Cyrillic", "Deva": "Devanagari",
	"Ethi": "Ethiopic", "Geor": "Georgian", "Grek": "Greek", "Gujr": "Gujarati", "Guru": "Gurmukhi", "Hang": "Hangul", "Hani": "Han",
	"Hebr": "Hebrew", "Hira": "Hiragana", "Kana": "Katakana", "Khmr": "Khmer", "Knda": "Kannada", "Laoo": "Lao", "Latn": "Latin",
	"Mlym": "Malayalam", "Mong": "Mongolian", "Mymr": "Myanmar", "Orya": "Oriya", "Sinh": "Sinhala", "Taml": "Tamil", "Telu": "Telugu",
	"Thai": "Thai", "Tibt": "Tibetan", "Zinh": "Inherited", "Zyyy": "Common",
}
