package infer

import (
	"context"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"
)

// Infer answers requests, PCollection<Request>: it returns PCollection<Answer> and PCollection<Failure>.
func Infer(s beam.Scope, m Model, requests beam.PCollection) (answers, failures beam.PCollection) {
	return beam.ParDo2(s.Scope("infer.Infer"), &doFn[Request, Answer]{Model: m}, requests)
}

// Embed turns texts, PCollection<Text>, into vectors: it returns PCollection<Vector> and PCollection<Failure>.
func Embed(s beam.Scope, m Model, texts beam.PCollection) (vectors, failures beam.PCollection) {
	return beam.ParDo2(s.Scope("infer.Embed"), &doFn[Text, Vector]{Model: m}, texts)
}

// Score says how likely the model finds continuations of prompts, PCollection<Continuations>: it returns PCollection<Scores> and
// PCollection<Failure>.
func Score(s beam.Scope, m Model, prompts beam.PCollection) (scores, failures beam.PCollection) {
	return beam.ParDo2(s.Scope("infer.Score"), &doFn[Continuations, Scores]{Model: m}, prompts)
}

// Classify puts a model's labels on texts, PCollection<LongText>: it returns PCollection<Labels> and PCollection<Failure>.
func Classify(s beam.Scope, m Model, texts beam.PCollection) (labels, failures beam.PCollection) {
	return beam.ParDo2(s.Scope("infer.Classify"), &doFn[LongText, Labels]{Model: m}, texts)
}

// FindEntities finds entities in texts, PCollection<Passage>: it returns PCollection<Entities> and PCollection<Failure>.
func FindEntities(s beam.Scope, m Model, texts beam.PCollection) (entities, failures beam.PCollection) {
	return beam.ParDo2(s.Scope("infer.FindEntities"), &doFn[Passage, Entities]{Model: m}, texts)
}

// WriteFiles computes the JSON lines of each element of PCollection<Lines> and writes the results to the element's file, which is there when
// all of its lines are done, as a whole. It returns PCollection<File>.
func WriteFiles(s beam.Scope, m Model, lines beam.PCollection) (files beam.PCollection) {
	s = s.Scope("infer.WriteFiles")
	files, _ = beam.ParDo2(s, &doFn[Lines, File]{Model: m}, lines)
	// A stage of its own counts the files. Without an output that another stage reads, prism (of Beam 2.77) asks without pause whether the
	// stage has ended, which takes a processor for each bundle.
	files = beam.Reshuffle(s, files)
	beam.ParDo0(s, countFile, files)
	return files
}

// countFile counts a file.
func countFile(ctx context.Context, _ File) { filesWritten.Inc(ctx, 1) }

func init() {
	register.Function2x0(countFile)
	registerDoFn[Request, Answer]()
	registerDoFn[Text, Vector]()
	registerDoFn[Continuations, Scores]()
	registerDoFn[LongText, Labels]()
	registerDoFn[Passage, Entities]()
	registerDoFn[Lines, File]()
	register.Emitter2[beam.EventTime, Failure]()
}

// registerDoFn registers with Beam the DoFn that makes results R of elements E.
func registerDoFn[E workItem[R], R any]() {
	register.DoFn6x1[context.Context, beam.Window, beam.EventTime, E, func(beam.EventTime, R), func(beam.EventTime, Failure), error](
		&doFn[E, R]{})
	register.Emitter2[beam.EventTime, R]()
}
