package model

// Encoder is what a model has that reads a text as a whole, and makes a vector of it. The zero value is a model that reads a text token by token.
type Encoder struct {
	Whole          bool    // attention sees the tokens after its own, too
	LayerNorm      bool    // norms subtract the mean: they are LayerNorm (arXiv 1607.06450), and not RMSNorm
	NormBias       bool    // norms have biases
	Positions      int     // rows of the table of learned positions; 0: no table
	PositionOffset int     // rows before them in a Hugging Face folder, which nothing uses
	Types          int     // rows of the table of the types of tokens, which say what text of a pair a token belongs to; 0: no table
	Dense          []Dense // layers that follow pooling, in their order; the first one may be a projection of states, which makes no difference after the mean
	Poolings       int     // how many states pooling puts together for a vector; 0: 1
}

// Dense is a layer that follows pooling: x ↦ activation(x·weightᵀ + bias).
type Dense struct {
	Folder     string // of a Hugging Face folder; "" for a layer of a head, and for a projection of states, which is among the other weights
	In, Out    int
	Bias       bool
	Activation string // "tanh", "relu", "gelu" for that with the error function, or "" for no activation
}
