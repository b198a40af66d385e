package llama

import (
	"context"
	"errors"
	"slices"

	"github.com/antigravity-go/antigravity/internal/jinja"
)

// DropTurns returns the history without its oldest turns: with as many of the latest turns as Template renders to at most limit
// tokens. It is for conversations that have outgrown the context. The limit is what the context holds less the room that the answer
// wants, such as session.Capacity() - 512. Dropping a turn moves all later ones, so that a cache keeps only what stands before them:
// a limit that leaves room for several answers makes that rarer.
//
// A turn is the user's messages and everything up to the user's next message: answers, function calls and their results. Turns are dropped
// as a whole. So the remaining history begins with a user's message, and no call loses its result. Messages of the role system (or
// developer, as some templates call it) stay, wherever they are. The last turn stays, too: if it does not fit together with these messages,
// the error is a *ContextFullError with the number of tokens that they need as Want.
//
// Images are counted without being encoded. If nothing has to be dropped, the result is history itself, otherwise a new slice. Other errors are Template's.
func (t *Tokenizer) DropTurns(history []Message, o TemplateOptions, limit int) ([]Message, error) {
	var fits []Message
	var tooLong error // why the last attempt does not fit
	begins := turnBegins(history)
	// The whole history is tried first. Then bisection finds the fewest turns to drop: the fewer are dropped, the more tokens are left.
	for low, high, try := 0, len(begins)-1, 0; low <= high; try = (low + high) / 2 {
		rest := since(history, begins[try])
		tokens, err := t.render(context.Background(), rest, o, t.eyes.measure)
		switch {
		case err == nil && len(tokens) <= limit:
			fits, high = rest, try-1
		case err == nil:
			tooLong, low = &ContextFullError{Want: len(tokens), Room: max(limit, 0)}, try+1
		case errors.As(err, new(*jinja.BudgetError)):
			tooLong, low = err, try+1
		default:
			return nil, err
		}
	}
	if fits == nil { // the last turn alone was tried last
		return nil, tooLong
	}
	return fits, nil
}

// turnBegins returns the indices at which a history can begin once turns have been dropped, in ascending order: 0, for the whole history,
// and the first message of every turn but the oldest. Of
//
//	system, user, assistant (calls f and g), tool, tool, assistant, user, user, assistant
//
// these are 0 and 6.
func turnBegins(history []Message) []int {
	needs, first := needed(history), slices.IndexFunc(history, droppable)
	var begins []int
	for i, earliest := len(history)-1, len(history); first >= 0 && i > first; i-- {
		earliest = min(earliest, needs[i])
		if history[i].Role == RoleUser && earliest == i {
			begins = append(begins, i)
		}
	}
	begins = append(begins, 0)
	slices.Reverse(begins)
	return begins
}

// needed returns for each message the index of an earlier one without which it cannot be: a result needs the message with its call, a
// user's message the user's message before it, and any other message the one before it. A message that needs no other has its own index.
func needed(history []Message) []int {
	needs := make([]int, len(history))
	calls, latest, previous := map[string]int{}, -1, -1 // where calls are, by their IDs; the latest of them; the latest message of a turn
	for i, m := range history {
		needs[i] = i
		if !droppable(m) {
			continue
		}
		call, known := calls[m.ToolCallID]
		switch {
		case m.Role == RoleTool && known:
			needs[i] = call
		case m.Role == RoleTool && latest >= 0:
			needs[i] = latest
		case previous >= 0 && (m.Role != RoleUser || history[previous].Role == RoleUser):
			needs[i] = previous
		}
		for _, c := range m.ToolCalls {
			calls[c.ID], latest = i, i
		}
		previous = i
	}
	return needs
}

// droppable reports whether a message is part of a turn, not an instruction.
func droppable(m Message) bool { return m.Role != RoleSystem && m.Role != "developer" }

// since returns the messages from begin on, after the instructions that come before them.
func since(history []Message, begin int) []Message {
	if begin == 0 {
		return history
	}
	instructions := slices.DeleteFunc(slices.Clone(history[:begin]), droppable)
	return append(instructions, history[begin:]...)
}
