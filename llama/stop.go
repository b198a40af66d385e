package llama

import (
	"encoding/json"
	"fmt"
)

// StopReason says why an answer ended. In JSON it is OpenAI's finish_reason; see FinishReason.
type StopReason int

// The reasons.
const (
	EndOfTurn   StopReason = iota + 1 // the model ended its turn; the end token is not part of Tokens
	ToolCalled                        // the model ended its turn, and it calls functions: Message.ToolCalls is not empty
	StopString                        // one of Params.Stop came up
	MaxTokens                         // Params.MaxTokens were generated
	ContextFull                       // no room for another token
)

// stopNames has the words for people, and OpenAI's word, of each reason.
var stopNames = [...]struct{ words, finish string }{
	{"not stopped", ""},
	EndOfTurn:   {"end of turn", "stop"},
	ToolCalled:  {"tool called", "tool_calls"},
	StopString:  {"stop string", "stop"},
	MaxTokens:   {"maximum of tokens", "length"},
	ContextFull: {"context full", "length"},
}

func (r StopReason) known() bool { return r >= 0 && int(r) < len(stopNames) }

// String names the reason in words for people.
func (r StopReason) String() string {
	if !r.known() {
		return fmt.Sprintf("StopReason(%d)", int(r))
	}
	return stopNames[r].words
}

// FinishReason returns OpenAI's word for the reason: "stop" (EndOfTurn, StopString), "tool_calls" (ToolCalled) or "length" (MaxTokens,
// ContextFull); "" for 0, an answer that has not stopped. All programs and interfaces of this module that write a reason for other programs use
// these words, unless the interface has words of its own.
func (r StopReason) FinishReason() string {
	if !r.known() {
		return ""
	}
	return stopNames[r].finish
}

// MarshalJSON writes FinishReason, and null for an answer that has not stopped.
func (r StopReason) MarshalJSON() ([]byte, error) {
	if r == 0 {
		return []byte("null"), nil
	}
	if !r.known() {
		return nil, fmt.Errorf("llama: %v has no word in JSON", r)
	}
	return json.Marshal(r.FinishReason())
}

// UnmarshalJSON reads what MarshalJSON writes. The first reason with the word counts: "stop" becomes EndOfTurn, "length" becomes MaxTokens.
func (r *StopReason) UnmarshalJSON(data []byte) error {
	var word *string
	if err := json.Unmarshal(data, &word); err != nil {
		return fmt.Errorf("llama: a finish reason is %.40s: it must be a string", data)
	}
	if word == nil {
		*r = 0
		return nil
	}
	for i, n := range stopNames {
		if n.finish == *word && *word != "" {
			*r = StopReason(i)
			return nil
		}
	}
	return fmt.Errorf(`llama: a finish reason is %.40q: it must be "stop", "tool_calls" or "length"`, *word)
}
