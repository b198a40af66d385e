package otel_test

import (
	"context"
	"fmt"
	"iter"
	"log"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/flint"
	withotel "github.com/antigravity-go/antigravity/llama/with/otel"
)

// An answer of a pool is a span. A program that sends spans to a collector makes its TracerProvider with otlptracehttp.
func Example() {
	model, err := flint.Load(nil) // or llama.Load("Llama-3.2-1B-Instruct", nil)
	if err != nil {
		log.Fatal(err)
	}
	defer model.Close()
	pool, err := model.NewPool(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer pool.Close()
	exporter := tracetest.NewInMemoryExporter()
	telemetry, err := withotel.New(withotel.Options{Tracers: sdktrace.NewTracerProvider(sdktrace.WithSyncer(exporter))})
	if err != nil {
		log.Fatal(err)
	}
	defer telemetry.WatchPool("flint", pool)()

	history := []llama.Message{{Role: llama.RoleUser, Content: "What is the capital of Japan?"}}
	answer, err := llama.Collect(telemetry.Answer(context.Background(), "flint", func(ctx context.Context) iter.Seq2[llama.Piece, error] {
		return pool.Chat(ctx, history, llama.Params{})
	}))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(answer.Text)
	for _, span := range exporter.GetSpans() {
		fmt.Println(span.Name)
	}
	// Output:
	// The capital of Japan is Tokyo.
	// chat flint
}
