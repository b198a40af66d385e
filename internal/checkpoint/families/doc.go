// Package families knows the families of models: each is a file, or a few that are near to each other, with its names, parts, keys, defaults, refusals
// and layouts of tensors. No other package asks for a family's name, nor for a trait that stands for one.
//
// [Family.Walk] goes over a family's keys in either format, to read or to write them: the keys of every model (base.go, rope.go, windows.go), and then the
// family's own. [Family.Layouts] says how the files of both formats have a tensor.
package families
