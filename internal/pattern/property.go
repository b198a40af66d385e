package pattern

//go:generate sh -c "go run gen.go /usr/share/unicode >tables.new && mv tables.new tables.go"

import (
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/antigravity-go/antigravity/internal/charset"
)

// property parses the rest of \p{…} behind the p: a general category, a script or the scripts that use a character, by its short or long
// name, or a binary property. It knows all that ECMA-262 has.
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
		table, ok := unicode.Scripts[longScript(value)]
		if !ok {
			return nil, false
		}
		return charset.OfTables(table), true
	case "Script_Extensions", "scx":
		return extended(longScript(value))
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
	if long, ok := propertyNames[name]; ok {
		name = long
	}
	if table, ok := propertyTables[name]; ok {
		return unpacked(table), true
	}
	return nil, false
}

// longScript returns the long name of a script.
func longScript(name string) string {
	if long, ok := scriptNames[name]; ok {
		return long
	}
	return name
}

// extended returns the characters that are used in a script: those of the script that are not listed as used in others, and those listed
// as used in it.
func extended(script string) (charset.Set, bool) {
	table, ok := unicode.Scripts[script]
	if !ok {
		return nil, false
	}
	var listed, used charset.Set
	for scripts, table := range extensionTables {
		set := unpacked(table)
		listed = listed.Or(set)
		if slices.ContainsFunc(strings.Fields(scripts), func(short string) bool { return longScript(short) == script }) {
			used = used.Or(set)
		}
	}
	return charset.OfTables(table).Minus(listed).Or(used), true
}

// unpacked returns the characters of a table of gen.go: ranges, each as how far it begins behind the end of the one before, and its length less
// one, in base 36.
func unpacked(table string) charset.Set {
	var spans []charset.Span
	end := rune(-1)
	for field := range strings.FieldsSeq(table) {
		gap, more, _ := strings.Cut(field, "+")
		low, _ := strconv.ParseInt(gap, 36, 32)
		length, _ := strconv.ParseInt(more, 36, 32) // 0 if it is not written
		spans = append(spans, charset.Span{Low: end + rune(low), High: end + rune(low+length)})
		end += rune(low + length)
	}
	return charset.Of(spans...)
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

	"Bidi_Control":            {unicode.Bidi_Control},
	"Bidi_C":                  {unicode.Bidi_Control},
	"Deprecated":              {unicode.Deprecated},
	"Dep":                     {unicode.Deprecated},
	"Extender":                {unicode.Extender},
	"Ext":                     {unicode.Extender},
	"IDS_Binary_Operator":     {unicode.IDS_Binary_Operator},
	"IDSB":                    {unicode.IDS_Binary_Operator},
	"IDS_Trinary_Operator":    {unicode.IDS_Trinary_Operator},
	"IDST":                    {unicode.IDS_Trinary_Operator},
	"Join_Control":            {unicode.Join_Control},
	"Join_C":                  {unicode.Join_Control},
	"Logical_Order_Exception": {unicode.Logical_Order_Exception},
	"LOE":                     {unicode.Logical_Order_Exception},
	"Noncharacter_Code_Point": {unicode.Noncharacter_Code_Point},
	"NChar":                   {unicode.Noncharacter_Code_Point},
	"Pattern_Syntax":          {unicode.Pattern_Syntax},
	"Pat_Syn":                 {unicode.Pattern_Syntax},
	"Pattern_White_Space":     {unicode.Pattern_White_Space},
	"Pat_WS":                  {unicode.Pattern_White_Space},
	"Regional_Indicator":      {unicode.Regional_Indicator},
	"RI":                      {unicode.Regional_Indicator},
	"Sentence_Terminal":       {unicode.Sentence_Terminal},
	"STerm":                   {unicode.Sentence_Terminal},
	"Soft_Dotted":             {unicode.Soft_Dotted},
	"SD":                      {unicode.Soft_Dotted},
	"Terminal_Punctuation":    {unicode.Terminal_Punctuation},
	"Term":                    {unicode.Terminal_Punctuation},
	"Unified_Ideograph":       {unicode.Unified_Ideograph},
	"UIdeo":                   {unicode.Unified_Ideograph},
	"Variation_Selector":      {unicode.Variation_Selector},
	"VS":                      {unicode.Variation_Selector},
}
