// Package infer brings language models to Apache Beam: transforms that answer prompts, embed and classify texts, find entities in them and score continuations, inside the
// workers' own processes, on any of Beam's runners.
//
//	answers, failures := infer.Infer(s, infer.Model{Path: "gs://bucket/model.gguf"}, requests)
//
// # Answers do not depend on the machine
//
// Beam may cut a collection into bundles as it likes, run a bundle again after a failure, and run it twice at the same time. An answer is
// byte for byte the same each time, on any machine, in any bundle, whatever else is computed with it. So a retry is harmless: two attempts
// write the same bytes. Results therefore hold nothing that is measured; times are metrics.
//
// # Errors go with their element
//
// Every transform has two outputs: results, and Failures. An element that cannot be answered (a prompt that is longer than the context, a
// schema that no constraint can keep) is a Failure, with the element and the error, and the others go on. Each element is in exactly one of
// the two outputs. A failure of all elements (a model that cannot be fetched or loaded, interrupted work) fails the bundle, so that the
// runner tries it again.
//
// # One model a process
//
// Runners make an instance of a DoFn for each bundle that they run at the same time. All of them share one Model, which is loaded by the
// first element that needs it and closed when no element has needed it for Model.Idle. Elements of a bundle are computed side by side, and
// so are those of several bundles: the model computes them together, up to Model.Sessions in each pass.
//
// # Windows and timestamps
//
// A result has its element's window and timestamp. In the global window the results of a bundle come as they are ready, the last when
// the bundle ends. In other windows each element is waited for before the next one is begun, since Beam has a result only go to the
// window of the element that is being processed; bundles then have to run side by side to keep a processor busy.
package infer
