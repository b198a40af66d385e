package fantasy

import (
	"context"
	"errors"
	"reflect"

	"charm.land/fantasy"
	"charm.land/fantasy/schema"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/with"
)

// GenerateObject is fantasy.LanguageModel's. An answer that ends before its object does, because of MaxOutputTokens say, is a
// *fantasy.NoObjectGeneratedError.
func (m languageModel) GenerateObject(ctx context.Context, call fantasy.ObjectCall) (*fantasy.ObjectResponse, error) {
	r, err := m.objectRequest(&call)
	if err != nil {
		return nil, err
	}
	answer, err := m.model.Answer(ctx, r)
	if err != nil {
		return nil, explained(err)
	}
	object, err := whole(ctx, &call, answer.Text, &answer)
	if err != nil {
		return nil, err
	}
	return &fantasy.ObjectResponse{Object: object, RawText: answer.Text, Usage: usage(&answer.Stats), FinishReason: reason(answer.Stop)}, nil
}

// StreamObject is fantasy.LanguageModel's: each piece of text gives the object so far, if it has changed.
func (m languageModel) StreamObject(ctx context.Context, call fantasy.ObjectCall) (fantasy.ObjectStreamResponse, error) {
	r, err := m.objectRequest(&call)
	if err != nil {
		return nil, err
	}
	return func(yield func(fantasy.ObjectStreamPart) bool) {
		text, last := "", any(nil)
		for piece, err := range m.model.Chat(ctx, r) {
			if err != nil {
				yield(fantasy.ObjectStreamPart{Type: fantasy.ObjectStreamPartTypeError, Error: explained(err)})
				return
			}
			if piece.Text != "" {
				text += piece.Text
				if !yield(fantasy.ObjectStreamPart{Type: fantasy.ObjectStreamPartTypeTextDelta, Delta: piece.Text}) {
					return
				}
			}
			if piece.Stop == 0 {
				part, _, err := schema.ParsePartialJSON(text)
				if err == nil && part != nil && !reflect.DeepEqual(part, last) {
					if last = part; !yield(fantasy.ObjectStreamPart{Type: fantasy.ObjectStreamPartTypeObject, Object: part}) {
						return
					}
				}
				continue
			}
			object, err := whole(ctx, &call, text, &piece)
			if err != nil {
				yield(fantasy.ObjectStreamPart{Type: fantasy.ObjectStreamPartTypeError, Error: err})
				return
			}
			if yield(fantasy.ObjectStreamPart{Type: fantasy.ObjectStreamPartTypeObject, Object: object}) {
				yield(fantasy.ObjectStreamPart{Type: fantasy.ObjectStreamPartTypeFinish, Usage: usage(&piece.Stats), FinishReason: reason(piece.Stop)})
			}
			return
		}
	}, nil
}

// objectRequest returns a call as the model is asked.
func (m languageModel) objectRequest(call *fantasy.ObjectCall) (*with.Request, error) {
	err := with.Rest("fantasy.ObjectCall", call, "Prompt", "Schema", "SchemaName", "SchemaDescription", "MaxOutputTokens", "Temperature", "TopP", "TopK",
		"PresencePenalty", "FrequencyPenalty", "UserAgent", "ProviderOptions", "RepairText")
	if err != nil {
		return nil, err
	}
	r, err := m.request(&fantasy.Call{
		Prompt: call.Prompt, MaxOutputTokens: call.MaxOutputTokens, Temperature: call.Temperature, TopP: call.TopP, TopK: call.TopK,
		PresencePenalty: call.PresencePenalty, FrequencyPenalty: call.FrequencyPenalty, ProviderOptions: call.ProviderOptions,
	})
	if err != nil {
		return nil, err
	}
	form := schema.ToMap(call.Schema)
	if call.SchemaName != "" {
		form["title"] = call.SchemaName
	}
	if call.SchemaDescription != "" {
		form["description"] = call.SchemaDescription
	}
	r.Schema, err = with.JSON(form)
	return r, err
}

// whole returns the object of an answer that is over. An object that is cut off is no object, though it could be repaired.
func whole(ctx context.Context, call *fantasy.ObjectCall, text string, answer *llama.Piece) (any, error) {
	failed := &fantasy.NoObjectGeneratedError{RawText: text, Usage: usage(&answer.Stats), FinishReason: reason(answer.Stop)}
	object, state, err := schema.ParsePartialJSON(text)
	if state == schema.ParseStateSuccessful {
		return object, nil
	}
	if call.RepairText == nil {
		failed.ParseError = errors.Join(errors.New("the answer ended before its object did: "+answer.Stop.String()), err)
		return nil, failed
	}
	if object, err = schema.ParseAndValidateWithRepair(ctx, text, call.Schema, call.RepairText); err != nil {
		failed.ParseError = err
		return nil, failed
	}
	return object, nil
}
