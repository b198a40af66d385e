// Package antigravity is the map of a module that runs language models, those of llama.Families, inside the caller's own process,
// in Go with hand-written assembly: no C toolchain, no server, nothing to download but the model.
//
// A program imports package llama, and the packages below it if it needs to choose more:
//
//	llama     models, sessions, sampling, chat templates: the package to use; llama/constrain makes answers have a form,
//	          llama/hub fetches models by their names, llama/pebble and llama/flint are small models that need no file, and
//	          llama/serve answers requests of any program, in the interfaces of OpenAI,
//	          Anthropic and Ollama
//	eviction  what a cache forgets when memory is short
//	kvcache   keys and values, one cache a layer
//	backend   the contract between a model and what computes it; backend/cpu is the processor, backend/opencl a GPU,
//	          backend/host the portable reference
//	asm       the raw kernels
//	tensor    element types, shapes, memory, tensors
//	quant     block formats of quantised numbers
//
// Each package imports only packages below it in this list; internal packages hold file formats and mechanisms. Under examples, a module of
// its own, are programs to copy from, under examples/tools those that measure and convert.
package antigravity
