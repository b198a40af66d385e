// Package neutral has the values of parameters that ask for nothing. Programs fill in every parameter that they know, most of them with a value
// that means "leave it": a server that refuses such a value refuses the program. Only tests import the package. They send each value to each
// interface that has the parameter: see Check.
package neutral

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// rows are the values and the parameters for which they ask for nothing, by name, in all interfaces that have a parameter of the name. null asks
// for nothing in any parameter.
var rows = []struct{ value, names string }{
	{`false`, `stream echo store background use_beam_search early_stopping ignore_eos post_sampling_probs include_stop_str_in_output timings_per_token
		return_progress continue_final_message raw shift _debug_render_only return_tokens`},
	{`true`, `parallel_tool_calls include_reasoning add_generation_prompt skip_special_tokens spaces_between_special_tokens penalize_nl truncate cache_prompt`},
	{`0`, `min_p presence_penalty frequency_penalty mirostat dry_multiplier xtc_probability dynatemp_range smoothing_factor top_a min_tokens n_indent n_probs
		prompt_logprobs top_logprobs typical_p typ_p repetition_penalty repeat_penalty length_penalty t_max_predict_ms t_max_prompt_ms min_keep top_n_sigma
		steps width height`},
	{`1`, `n best_of top_p typical_p typ_p tfs_z repetition_penalty repeat_penalty length_penalty min_keep`},
	{`1.0`, `top_p typical_p repetition_penalty repeat_penalty`},
	{`-1`, `max_tokens max_completion_tokens n_predict top_n_sigma adaptive_target thinking_budget thinking_budget_tokens t_max_predict_ms t_max_prompt_ms`},
	{`64`, `repeat_last_n`},
	{`""`, `grammar user suffix system template format instructions stop previous_response_id`},
	{`[]`, `stop tools functions samplers lora stop_token_ids mcp_servers include images fallbacks stop_sequences betas context context_management system`},
	{`{}`, `logit_bias metadata client_metadata chat_template_kwargs stream_options reasoning text options output_config prompt_cache_options`},
	{`"auto"`, `tool_choice function_call service_tier reasoning_format`},
	{`{"type":"auto"}`, `tool_choice`},
	{`"none"`, `tool_choice function_call`},
	{`{"type":"none"}`, `tool_choice`},
	{`"default"`, `service_tier`},
	{`{"type":"text"}`, `response_format`},
	{`{"format":{"type":"text"}}`, `text`},
	{`{"verbosity":"medium"}`, `text`},
	{`"medium"`, `verbosity`},
	{`["text"]`, `modalities`},
	{`"disabled"`, `truncation`},
	{`{"include_usage":false}`, `stream_options`},
	{`{"continuous_usage_stats":false,"include_obfuscation":false}`, `stream_options`},
	{`{"include_obfuscation":false}`, `stream_options`},
	{`{"effort":null,"summary":null}`, `reasoning`},
	{`{"edits":[]}`, `context_management`},
	{`{"format":null,"effort":null}`, `output_config`},
	{`"5m"`, `keep_alive`},
	{`"float"`, `encoding_format`},
}

// forms are the parameters that have other forms in other interfaces: a value may be refused that is of another interface's.
var forms = []string{"tool_choice", "stream_options", "context_management", "system", "reasoning", "truncation", "format", "context"}

// values returns the values that ask for nothing in a parameter.
func values(name string) (all []string) {
	for _, row := range rows {
		if slices.Contains(strings.Fields(row.names), name) {
			all = append(all, row.value)
		}
	}
	return append(all, `null`)
}

// Members returns the parameters that have more than n such values, each with its n-th.
func Members(n int) map[string]string {
	members := map[string]string{}
	for _, row := range rows {
		for _, name := range strings.Fields(row.names) {
			if list := values(name); len(list) > n {
				members[name] = list[n]
			}
		}
	}
	return members
}

// Check adds each value that asks for nothing to a request, which is right without it, for all parameters of an interface. read reads a request,
// and judges it as far as that is possible without a model. null, at least, is neutral in every parameter but those that a request must have.
func Check(t *testing.T, request string, parameters []string, read func(body []byte) error) {
	t.Helper()
	var members map[string]json.RawMessage
	if err := json.Unmarshal([]byte(request), &members); err != nil {
		t.Fatal(err)
	}
	if err := read([]byte(request)); err != nil {
		t.Fatalf("%s: %v", request, err)
	}
	slices.Sort(parameters)
	tried := 0
	for _, name := range slices.Compact(parameters) {
		if _, given := members[name]; given {
			continue
		}
		taken, list := 0, values(name)
		for _, value := range list {
			body := strings.TrimSuffix(strings.TrimSpace(request), "}") + `,"` + name + `":` + value + `}`
			err := read([]byte(body))
			if err == nil {
				taken++
			} else if value == `null` || !slices.Contains(forms, name) {
				t.Errorf("%s asks for nothing, and is refused: %v", body, err)
			}
		}
		if tried += taken; taken < 2 && len(list) > 1 {
			t.Errorf("of %s, no value but null is taken", name)
		}
	}
	if tried < 20 {
		t.Errorf("%d values were tried", tried)
	}
}
