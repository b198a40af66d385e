package model

// Sampling has what a model's authors recommend. The zero value stands for files that say nothing.
type Sampling struct {
	Draws       bool    // the files say how tokens are drawn, or that they are not
	Temperature float32 // 0: the likeliest token is chosen
	TopK        int     // 0: all
	TopP, MinP  float32 // 0: all
	// Of the penalties, 0 is no recommendation.
	RepeatPenalty, FrequencyPenalty, PresencePenalty float32
	// Ignored are recommendations that this module does not follow, such as "mirostat 2".
	Ignored []string

	Named uint // bit i: the files name the i-th of the numbers, in the order of those who read and write files
}
