package pattern

import (
	"strings"
	"testing"
	"unicode"

	"github.com/antigravity-go/antigravity/internal/charset"
)

// ecmaProperties are all binary properties that ECMA-262 has, with their short names.
const ecmaProperties = `ASCII ASCII_Hex_Digit AHex Alphabetic Alpha Any Assigned Bidi_Control Bidi_C Bidi_Mirrored Bidi_M Case_Ignorable CI Cased
Changes_When_Casefolded CWCF Changes_When_Casemapped CWCM Changes_When_Lowercased CWL Changes_When_NFKC_Casefolded CWKCF Changes_When_Titlecased CWT
Changes_When_Uppercased CWU Dash Default_Ignorable_Code_Point DI Deprecated Dep Diacritic Dia Emoji Emoji_Component EComp Emoji_Modifier EMod
Emoji_Modifier_Base EBase Emoji_Presentation EPres Extended_Pictographic ExtPict Extender Ext Grapheme_Base Gr_Base Grapheme_Extend Gr_Ext Hex_Digit Hex
IDS_Binary_Operator IDSB IDS_Trinary_Operator IDST ID_Continue IDC ID_Start IDS Ideographic Ideo Join_Control Join_C Logical_Order_Exception LOE
Lowercase Lower Math Noncharacter_Code_Point NChar Pattern_Syntax Pat_Syn Pattern_White_Space Pat_WS Quotation_Mark QMark Radical Regional_Indicator RI
Sentence_Terminal STerm Soft_Dotted SD Terminal_Punctuation Term Unified_Ideograph UIdeo Uppercase Upper Variation_Selector VS White_Space space
XID_Continue XIDC XID_Start XIDS`

// Every property that ECMA-262 has is known.
func TestPropertiesAreKnown(t *testing.T) {
	for name := range strings.FieldsSeq(ecmaProperties) {
		if set, ok := propertySet(name); !ok || len(set) == 0 {
			t.Errorf("%s is unknown", name)
		}
	}
	for name := range unicode.Scripts {
		for _, kind := range []string{"Script", "sc", "Script_Extensions", "scx"} {
			if set, ok := propertySet(kind + "=" + name); !ok || len(set) == 0 {
				t.Errorf("%s=%s is unknown", kind, name)
			}
		}
	}
	for _, name := range []string{"", "Han", "Emoji=Yes", "Script", "Script=", "Script=Nothing", "scx=nothing", "emoji", "General_Category=Han", "Line_Break=AL", "Hyphen"} {
		if _, ok := propertySet(name); ok {
			t.Errorf("%s is known", name)
		}
	}
	if len(scriptNames) < 160 {
		t.Errorf("%d scripts have short names", len(scriptNames))
	}
}

// A table has as many characters as the Unicode Character Database counts itself, and those that it should.
func TestPropertyTables(t *testing.T) {
	if unicode.Version != "15.0.0" {
		t.Skip("the counts are those of Unicode 15: make tables.go again with gen.go")
	}
	for name, want := range map[string]int{ // "Total code points" of the files that gen.go reads
		"ID_Start": 136345, "ID_Continue": 139482, "XID_Start": 136322, "XID_Continue": 139463, "Cased": 4526, "Case_Ignorable": 2707,
		"Changes_When_Lowercased": 1433, "Changes_When_Uppercased": 1525, "Changes_When_Titlecased": 1452, "Changes_When_Casefolded": 1506,
		"Changes_When_Casemapped": 2927, "Changes_When_NFKC_Casefolded": 10491, "Default_Ignorable_Code_Point": 4174, "Grapheme_Extend": 2125,
		"Grapheme_Base": 146986, "Bidi_Mirrored": 553, "Emoji": 1424, "Emoji_Presentation": 1205, "Emoji_Modifier": 5, "Emoji_Modifier_Base": 134,
		"Emoji_Component": 146, "Extended_Pictographic": 3537,
	} {
		if set, _ := propertySet(name); set.Len() != want {
			t.Errorf("%s has %d characters, want %d", name, set.Len(), want)
		}
	}
	for name, c := range map[string]struct{ yes, no string }{
		"Extended_Pictographic": {"❤😀©🈚", "a1🇦"},
		"Emoji":                 {"1#😀🇦", "a"},
		"scx=Han":               {"漢、〆", "あa"},
		"sc=Han":                {"漢", "、"},
		"scx=Latn":              {"aé\u0363", "漢"},
		"scx=Hira":              {"あー。", "ア"},
		"sc=Hira":               {"あ", "ー。"},
		"scx=Arab":              {"ش،", "a"},
		"XID_Start":             {"aé漢", "1_"},
	} {
		set, _ := propertySet(name)
		for _, r := range c.yes {
			if !set.Has(r) {
				t.Errorf("%s lacks %q", name, r)
			}
		}
		for _, r := range c.no {
			if set.Has(r) {
				t.Errorf("%s has %q", name, r)
			}
		}
	}
}

// What package unicode can derive agrees with the tables: those are made of other files.
func TestTablesAgreeWithPackageUnicode(t *testing.T) {
	minus := func(set charset.Set, tables ...*unicode.RangeTable) charset.Set {
		return set.Minus(charset.OfTables(tables...))
	}
	for name, want := range map[string]charset.Set{
		"ID_Start": minus(charset.OfTables(unicode.L, unicode.Nl, unicode.Other_ID_Start), unicode.Pattern_Syntax, unicode.Pattern_White_Space),
		"ID_Continue": minus(charset.OfTables(unicode.L, unicode.Nl, unicode.Other_ID_Start, unicode.Mn, unicode.Mc, unicode.Nd, unicode.Pc, unicode.Other_ID_Continue),
			unicode.Pattern_Syntax, unicode.Pattern_White_Space),
		"Cased":           charset.OfTables(unicode.Lt, unicode.Lu, unicode.Ll, unicode.Other_Lowercase, unicode.Other_Uppercase),
		"Grapheme_Extend": charset.OfTables(unicode.Me, unicode.Mn, unicode.Other_Grapheme_Extend),
	} {
		got, _ := propertySet(name)
		if more, less := got.Minus(want).Len(), want.Minus(got).Len(); more > 0 || less > 0 {
			t.Errorf("%s has %d characters too many, and lacks %d", name, more, less)
		}
	}
}
