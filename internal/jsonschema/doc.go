// Package jsonschema makes rules of a grammar of a JSON Schema: the texts of the values that satisfy it (drafts 2020-12 and 7, and what
// drafts 4 and 6 spell differently).
//
// # What is written how
//
// A schema is about values, a grammar about texts. A text of the grammar is the text of a value that satisfies the schema, always. Of
// each value there is a text, but not every text of it:
//
//   - Properties come in the order of the keyword properties, a schema's own before those of the schemas in its $ref, allOf, anyOf and so
//     on; then names that are only required; then all other members. With AnyOrder, they come in any order where an object has few
//     enough, each once.
//   - Where a schema demands some member without knowing its name ("not": {"additionalProperties": …}), later members with such names
//     are of the same kind: a name that came again would replace the one that was demanded.
//   - Strings about which only the length is known may be written in any way; all others in the one canonical way that package jsonexpr
//     describes, and so are the names of members.
//   - Numbers without conditions may be written in any way; whole ones without a fraction and an exponent; others as package numbers
//     describes.
//   - White space is that of package jsonexpr.
//
// # What cannot be promised
//
// A grammar cannot remember without bound what was written: elements that must differ, and members that are counted although their
// names are free, are promised only where a few values can be listed. That, patterns that are not regular, other documents, and what
// would make a grammar too large, is an UnsupportedError.
//
// # How it works
//
// What a value must be is a node: a set of schemas that it must be of, and of schemas that it must not be of. Of a node, the values that
// are neither arrays nor objects are computed exactly, as sets (scalars). Its arrays and objects are a union of shapes, each an
// intersection of plain demands, found by going through all choices that anyOf, oneOf, not and if leave (disjunctive normal form).
// Elements and members of shapes are nodes again; equal sets are one node, which is how recursion ends. Nodes without a value are found
// before the rules are made, so that no text of the grammar leads to where it cannot be completed.
//
// # What it may take
//
// Schemas come from strangers. Every loop over schemas, values, members or names takes steps out of a Budget, and so does the arena; when none
// are left, the schema is too complex, with the place where that was noticed. Chains of references are read from a queue, so that they are no
// chains of calls; where calls go from schema to schema, they are counted (deeper). Lists are not looked through for each element: equal
// values have one number (source.same), members an index, enumerations a set.
package jsonschema
