"""Trains Pebble: a 7M-parameter Llama-3-architecture chat model on the synthetic conversations of base.py.
usage: train.py SECONDS_DATA SECONDS_TRAIN"""
import random
import base as corpus, trainer
tmpl = "{{- bos_token }}{% for message in messages %}{{- '<|start_header_id|>' + message['role'] + '<|end_header_id|>\\n\\n' + message['content'] | trim + '<|eot_id|>' }}{% endfor %}{% if add_generation_prompt %}{{- '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}{% endif %}"
def make_eval(seed, n_each):
    r = random.Random(seed); ev = []
    for fn, _ in corpus.SKILLS:
        if fn.__name__ == 'tellstory': continue
        for _ in range(n_each):
            c = corpus.Ctx(); conv = []
            if fn.__name__ == 'recall':
                for _ in range(r.randint(1, 3)): conv += [('user', (x := corpus.tell(r, c, True))[0]), ('assistant', x[1])]
                for _ in range(r.randint(0, 3)): conv += [('user', (x := corpus.capital(r, c, True))[0]), ('assistant', x[1])]
            u, a = fn(r, c, True); ev.append({'skill': fn.__name__, 'messages': conv + [('user', u)], 'answer': a})
    for L in (50, 150, 300, 600, 900):
        for _ in range(n_each * 2):
            note, qn, a, *_ = corpus.needle(r, L); ev.append({'skill': f'needle{L}', 'messages': [('user', note + '\n\n' + qn)], 'answer': a})
        for _ in range(n_each * 2):
            note, qn, a, *_ = corpus.needle(r, L); ev.append({'skill': f'needle_late{L}', 'messages': [('user', 'Read these notes.\n\n' + note), ('assistant', 'I have read the notes.'), ('user', qn)], 'answer': a})
    return ev
def answers(tk, e):
    i, _ = trainer.encode(tk, e['messages'] + [('assistant', e['answer'])]); k = len(tk.encode(e['answer'], add_special_tokens=False).ids) + 1
    return i, [False] * (len(i) - k) + [True] * k
prompts = [[('user', 'What is the capital of Japan?')], [('system', 'You are Pebble.'), ('user', 'Tell me a story about a fox and a lantern.')], [('user', 'My name is Jade.'), ('assistant', 'Nice to meet you, Jade.'), ('user', 'What is my name?')], [('user', 'How do you say hello in Korean?')], [('user', 'Show me a llama emoji.')]]
if __name__ == '__main__': trainer.main(corpus, 'pebble', 768, tmpl, make_eval, answers, prompts)
