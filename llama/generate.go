package llama

import (
	"context"
	"errors"
	"iter"
	"sync/atomic"
)

// Generate appends the prompt to the conversation and returns the continuation, piece by piece, as it is computed.
//
// The sequence computes while it is ranged over, and once: a second range gives an error. An error comes as the last element, together with
// a piece that has the text that was still held back, and Stats; a cancelled context gives the context's error. However the loop ends, by
// break too, the conversation then holds the prompt and exactly the tokens that the loop was given, and the session can go on. An
// end-of-turn token that the model chose is not appended.
//
// The context is looked at as in Prefill while the prompt is computed, and then before each token is chosen. The computing of
// a single token and an eviction are not interrupted.
//
// When the prompt does not fit, the error is ErrContextFull and nothing was computed. An empty prompt continues from the last
// token.
func (s *Session) Generate(ctx context.Context, prompt []Token, p Params) iter.Seq2[Piece, error] {
	return s.pieces(func(yield func(Piece) bool) (Piece, error) {
		return s.call.generate(ctx, prompt, 0, p, opening{}, yield)
	})
}

// Chat answers a conversation: it renders the history with the model's chat template, reuses the longest beginning of the
// rendered tokens that the cache holds already, and generates the next message. Pass the whole history each time; Chat does not
// append the answer to it. If Params.Template.Continue is set, the answer goes on with the history's last message. The sequence behaves as Generate's does.
func (s *Session) Chat(ctx context.Context, history []Message, p Params) iter.Seq2[Piece, error] {
	return s.pieces(func(yield func(Piece) bool) (Piece, error) {
		prompt, how, err := chatPrompt(ctx, s.sequence.home.tokenizer, history, p.Template, s.sequence.options.ImageTokens)
		if err != nil {
			return Piece{}, err
		}
		shared, err := s.keepPrefix(prompt)
		if err != nil {
			return Piece{}, err
		}
		return s.call.generate(ctx, prompt[shared:], shared, p, how, yield)
	})
}

// once returns pieces as a sequence that can be ranged over a single time: a second range gives an error.
func once(pieces iter.Seq2[Piece, error]) iter.Seq2[Piece, error] {
	var ranged atomic.Bool
	return func(yield func(Piece, error) bool) {
		if ranged.Swap(true) {
			yield(Piece{}, errors.New("llama: an answer is ranged over a second time: call Generate or Chat again for another"))
			return
		}
		pieces(yield)
	}
}

// emptyPrompt returns the error for a conversation without tokens. Without a tokenizer, texts have no tokens.
func (t *Tokenizer) emptyPrompt() error {
	if err := t.hasTexts(); err != nil {
		return err
	}
	return &ParamError{"the prompt", "empty", "at least one token, such as begin-of-text, in an empty conversation"}
}

// pieces returns the pieces that call yields. It claims the session while they are ranged over. If call returns an error, the last element
// is that error, with the piece that call returned. callMu is not held while the loop's body runs, so that the body may move the session.
func (s *Session) pieces(call func(yield func(Piece) bool) (Piece, error)) iter.Seq2[Piece, error] {
	return once(func(yield func(Piece, error) bool) {
		if err := s.begin(); err != nil {
			yield(Piece{}, err)
			return
		}
		defer s.end()
		left := false // the loop's body ended the loop: yield must not be called again
		deliver := func(p Piece, err error) bool {
			s.callMu.Unlock()
			defer s.callMu.Lock()
			left = !yield(p, err)
			return !left
		}
		last, err := call(func(p Piece) bool { return deliver(p, nil) })
		if err != nil && !left {
			deliver(last, err)
		}
	})
}
