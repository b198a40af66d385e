"""Writes golden.json: what Jinja 2 (3.1) makes of conversations with this folder's templates, in the environment that transformers sets up.

Thoughts are the member THOUGHT, which each template calls by a name of its own.
"""

import datetime
import glob
import json

import jinja2, jinja2.ext
from jinja2.sandbox import ImmutableSandboxedEnvironment


class Generation(jinja2.ext.Extension):
    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return jinja2.nodes.CallBlock(self.call_method("mark"), [], [], body).set_lineno(line)

    def mark(self, caller):
        return caller()


def raise_exception(message):
    raise jinja2.exceptions.TemplateError(message)


date = datetime.datetime(2025, 3, 4, 5, 6, 7)
env = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[Generation, jinja2.ext.loopcontrols])
env.filters["tojson"] = lambda x, **options: json.dumps(x, ensure_ascii=False, **options)
env.globals.update(raise_exception=raise_exception, strftime_now=date.strftime)

U = lambda s: {"role": "user", "content": s}
S = lambda s: {"role": "system", "content": s}
def A(s, thought=None, *calls):
    m = {"role": "assistant", "content": s}
    if thought is not None:
        m["THOUGHT"] = thought
    if calls:
        m["tool_calls"] = [{"id": f"call{i}", "type": "function", "function": {"name": n, "arguments": a}} for i, (n, a) in enumerate(calls)]
    return m
R = lambda i, s: {"role": "tool", "tool_call_id": f"call{i}", "content": s}
tools = [
    {"type": "function", "function": {"name": "plan", "description": 'A <plan> of "steps"', "parameters": {"type": "object", "properties": {
        "title": {"type": "string"}, "days": {"type": "integer"}, "where": {"type": "object"}, "steps": {"type": "array"}}}}},
    {"type": "function", "function": {"name": "clock", "description": "", "parameters": {"type": "object", "properties": {}}}},
]
plan = ("plan", {"title": 'A "plan" <b>\nof é', "days": 3, "where": {"city": "서울", "at": [1.5, -2]}, "steps": ["go", "rest"]})
conversations = {
    "user": ([U(" Hello <b> ")], None, {}),
    "answered": ([S(" Be brief. "), U("Hi"), A(" Yes "), U("Again")], None, {}),
    "thinking": ([U("q")], None, {"enable_thinking": True}),
    "not thinking": ([U("q")], None, {"enable_thinking": False}),
    "thoughts": ([U("q"), A("a", "I wonder"), U("again"), A("b", " I still do\n"), U("more")], None, {}),
    "thoughts in the text": ([U("q"), A("<think>\nhmm\n</think>\n\nanswer"), U("again")], None, {}),
    "tools": ([U("Plan")], tools, {}),
    "tools and a system's text": ([S("Sys"), U("Plan")], tools, {}),
    "call": ([U("Plan"), A("", "I need one", plan)], tools, {}),
    "results": ([U("Plan"), A("Let me see.", None, plan, ("clock", {})), R(0, "done"), R(1, '{"h": "<é>"}')], tools, {}),
    "answered calls": ([U("Plan"), A("", "First", plan), R(0, "done"), A("", "Then", ("clock", {})), R(0, "7"), A("All done."), U("Thanks")], tools, {}),
    "system not first": ([U("a"), S("b"), U("c")], None, {}),
    "nobody asks": ([A("a")], None, {}),
}
out = []
for path in sorted(glob.glob("*.jinja")):
    source = open(path, encoding="utf8").read()
    key = next((k for k in ("reasoning_content", "thinking") if "message." + k in source), "reasoning_content")
    for name, (messages, offer, variables) in conversations.items():
        named = [{key if k == "THOUGHT" else k: v for k, v in m.items()} for m in messages]
        case = dict(template=path, name=name, messages=messages, tools=offer, vars=variables)
        try:
            case["text"] = env.from_string(source).render(messages=named, tools=offer, add_generation_prompt=True, bos_token="<s>", eos_token="</s>", **variables)
        except jinja2.exceptions.TemplateError as e:
            case["error"] = str(e)
        out.append(case)
with open("golden.json", "w", encoding="utf8") as f:
    f.write("[\n" + ",\n".join(json.dumps(c, ensure_ascii=False) for c in out) + "\n]\n")
