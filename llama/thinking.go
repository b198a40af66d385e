package llama

// Thinking says whether a model thinks before it answers, and for how long. The zero value leaves both to the model and to its chat
// template. A model that does not think keeps to any value.
type Thinking struct {
	// Enabled says whether the model thinks; nil: as its template has it. A template learns of it as enable_thinking, or as thinking,
	// if it reads one of these variables. With false, a thought that begins all the same is closed at once.
	Enabled *bool
	// Budget is the most tokens of a thought, without the marks around it; 0: no bound. A thought that has them is closed, and the answer follows.
	Budget int
	// Effort is the word that a template learns as reasoning_effort, if it reads that variable: "low", "medium", "high". "" leaves it undefined.
	Effort string
}
