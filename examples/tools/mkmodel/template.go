package main

// chatTemplate is Llama 3's chat format, without its tools: every turn names its speaker in a header and ends with a token of
// its own.
const chatTemplate = `{{- bos_token }}` +
	`{%- for turn in messages %}` +
	`{{- "<|start_header_id|>" + turn["role"] + "<|end_header_id|>\n\n" + turn["content"] | trim + "<|eot_id|>" }}` +
	`{%- endfor %}` +
	`{%- if add_generation_prompt %}{{- "<|start_header_id|>assistant<|end_header_id|>\n\n" }}{%- endif %}`
