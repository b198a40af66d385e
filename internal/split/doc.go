// Package split cuts texts into pieces by regular expressions, as tokenizers do before they merge: no token reaches over the
// end of a piece.
//
// An [Expression] is compiled to a table of states once, and then reads a text character by character, so that neither a text nor
// an expression can make it search for long: what backtracking would try one after another is followed at once. Of the matches
// at a place it finds the one that backtracking would find first.
//
// The syntax is what tokenizers use of Oniguruma's (https://github.com/kkos/oniguruma, doc/RE): alternatives, groups, classes with ranges,
// properties, intersections; greedy, lazy and possessive quantifiers; (?i:…); and a look ahead at one character, (?!\S). Expressions that
// may match an empty text are refused, and so are anchors but $ and \z, looks behind, references and the like.
//
// A [Step] says which pieces matches and the text between them become, a [Rule] is steps one after another.
package split
