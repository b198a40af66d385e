"""Trains Flint: a 9M-parameter Llama-3-architecture chat model that calls functions, on the synthetic conversations of corpus.py.
usage: train.py SECONDS_DATA SECONDS_TRAIN"""
import random
import corpus, trainer  # corpus makes Pebble's recipe known, where trainer is
tmpl = ("{{- bos_token }}{%- if messages[0]['role'] == 'system' %}{%- set system = messages[0]['content'] | trim %}{%- set turns = messages[1:] %}{%- else %}{%- set system = '' %}{%- set turns = messages %}{%- endif %}"
    "{%- if system or tools %}{{- '<|start_header_id|>system<|end_header_id|>\\n\\n' + system }}{%- if tools %}{{- ('\\n\\n' if system else '') + 'Tools:' }}{%- for tool in tools %}{{- '\\n' + ((tool['function'] if 'function' in tool else tool) | tojson) }}{%- endfor %}{%- endif %}{{- '<|eot_id|>' }}{%- endif %}"
    "{%- for message in turns %}{{- '<|start_header_id|>' + message['role'] + '<|end_header_id|>\\n\\n' }}{%- if message['tool_calls'] %}{%- for call in message['tool_calls'] %}{%- set f = call['function'] if 'function' in call else call %}{{- ('; ' if not loop.first else '') + '{\"name\": ' + (f['name'] | tojson) + ', \"parameters\": ' + (f['arguments'] | tojson) + '}' }}{%- endfor %}{%- else %}{{- message['content'] | trim }}{%- endif %}{{- '<|eot_id|>' }}{%- endfor %}"
    "{%- if add_generation_prompt %}{{- '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}{%- endif %}")
def make_eval(seed, n_each):
    r = random.Random(seed); ev = []
    for name, f in (('tool', corpus.tool_talk), ('extract', corpus.extract), ('edit', corpus.edit)):
        for _ in range(n_each * (3 if name == 'tool' else 2)): ev.append({'skill': name, 'messages': f(r, True)})
    for f, _ in corpus.base.SKILLS:
        if f.__name__ in ('tellstory', 'recall', 'tell'): continue
        for _ in range(n_each // 2): u, a = f(r, corpus.Ctx(), True); ev.append({'skill': f.__name__, 'messages': [('user', u), ('assistant', a)]})
    for L in (50, 300, 600):
        for _ in range(n_each // 2):
            note, qn, a, *_ = corpus.needle(r, L); ev.append({'skill': f'needle{L}', 'messages': [('user', note + '\n\n' + qn), ('assistant', a)]})
    return ev
def answers(tk, e):
    """Every assistant's turn, given what came before."""
    i, w = trainer.encode(tk, e['messages'])
    return i, [v == 1. for v in w]
tools = corpus.tools_system([{**t, 'ren': {k: k for k in t['props']}} for t in [dict(name=x[0][0], what=x[1], props=x[2], opt=x[3], gen=x[4]) for x in (corpus.TOOLS[0], corpus.TOOLS[2], corpus.TOOLS[5])]])
prompts = [[('user', 'What is the capital of Japan?')], [('system', tools), ('user', 'What is the weather in Oslo?')], [('system', tools), ('user', 'What is 4711 + 1234?'), ('assistant', '{"name": "add", "parameters": {"a": 4711, "b": 1234}}'), ('tool', '{"result": 5945}')], [('user', 'Replace lantern with kite in this text:\n\nThe old lantern hung above the stairs. Nina and Zoe played with the parrot all day. Somebody left a lantern on the table.')], [('user', 'Who are you?')]]
if __name__ == '__main__': trainer.main(corpus, 'flint', 1024, tmpl, make_eval, answers, prompts)
