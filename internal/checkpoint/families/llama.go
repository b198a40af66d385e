package families

// llamas are Llama 1 to 3 and all that share its architecture.
var llamas = []*Family{
	{Name: llama, Type: "llama", Class: "LlamaForCausalLM", rounds: true},
}
