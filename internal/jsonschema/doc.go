// Package jsonschema makes rules of a grammar of a JSON Schema: the texts of the values that satisfy it (drafts 2020-12 and 7, and what
// drafts 4 and 6 spell differently).
//
// # How values are written
//
// A schema is about values, a grammar about texts. A text of the grammar is the text of a value that satisfies the schema, always. Of
// each value there is a text, but not every text of it:
//
//   - Properties come in the order of the keyword properties, a schema's own before those of the schemas in its $ref, allOf, anyOf and so
//     on; then names that are only required; then all other members. With AnyOrder, they come in any order if an object has few
//     enough, each once.
//   - If a schema demands some member without knowing its name ("not": {"additionalProperties": …}), later members with such names
//     are of the same kind: a name that came again would replace the one that was demanded.
//   - Strings about which only the length is known may be written in any way; all others in the one canonical way that package jsonexpr
//     describes, and so are the names of members.
//   - Numbers are written as numbers.Written describes: whole ones without a fraction and an exponent, and no number has more digits than
//     float64s differ in, unless the schema asks for more. Numbers of a complement, such as "not": {"minimum": 1}, and of what else is made
//     of one ("oneOf" of ranges), have no exponent, so that those with more digits than that are missing: a complement is a set of plain
//     decimals, since a beginning such as 7e must not promise a number before its exponent has come. A union of ranges has all texts of
//     each range.
//   - White space is that of package jsonexpr.
//
// # What cannot be promised
//
// A grammar cannot remember an unbounded text: elements that must differ, and members that are counted although their names are free, are
// promised only if a few values can be listed. That, patterns that are not regular, other documents, and what would make a grammar too
// large, is an UnsupportedError.
//
// # How it works
//
// Three packages do one step each. Package read makes schemas of the text: references are resolved, drafts are forgotten. Package normal makes
// nodes of the schemas: in these, there is no allOf, anyOf, oneOf, not and if. Package emit makes rules of the nodes. For example,
//
//	{"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"],
//	 "anyOf": [{"properties": {"a": {"minimum": 0}}}, {"required": ["b"]}]}
//
// is read as
//
//	0  true                       (which every compilation has)
//	1  Types: objects, Properties: a is 2, Required: a, AnyOf: 3, 4
//	2  Types: integers
//	3  Properties: a is 5
//	4  Required: b
//	5  Number: at least 0
//
// A node is a set of schemas that a value must be of, and of schemas that it must not be of. Its values that are neither arrays nor objects are
// one set (package sets); its arrays and objects are a union of forms, one for each way through the choices (disjunctive normal form):
//
//	{1}     no scalars; objects: a is {2, 5}, others are {}
//	                    objects: a is {2}, b is {}, others are {}
//	{2, 5}  the integers from 0 on
//	{2}     the integers
//	{}      all scalars; arrays: elements are {}; objects: others are {}
//
// A rule is an alternative for the scalars and one for each form. In the order of properties, and with white space left out, they are
//
//	{1} = first | second
//	first = '{' '"a"' ':' {2, 5} (',' other ':' {})* '}'           other: any string but "a"
//	second = '{' '"a"' ':' {2} ',' '"b"' ':' {} (',' …)* '}'
//	{} = scalar | '[' ({} (',' {})*)? ']' | '{' (string ':' {} (',' string ':' {})*)? '}'
//
// where {2, 5} and {2} are expressions of package regular. Below these packages, document reads JSON text, and limits counts work.
//
// # What it may take
//
// Schemas come from strangers. Every loop over schemas, values, members or names takes steps out of a Budget, and so does the arena; when
// no step is left, the schema is too complex, and the error names the schema that was being compiled. Chains of references are read from a
// queue, so that they are no chains of calls; calls that go from schema to schema are counted (limits.Meter.Deeper). Nothing searches a
// list once for each element: equal values have one number (document.Document.Same), members an index, enumerations a set.
package jsonschema
