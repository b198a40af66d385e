"""Writes cases.json: what Jinja 2 makes of conversations with published chat templates, in the environment that transformers sets up.

Run in a folder of *.jinja files with a Python that has jinja2 (3.1). llama.cpp has such files in models/templates, and model folders have
chat_template.jinja. Then
	ANTIGRAVITY_TEMPLATES=that/folder go test -run Published ./internal/chat ./llama/serve
"""

import datetime
import glob
import json
import os

import jinja2, jinja2.ext
from jinja2.sandbox import ImmutableSandboxedEnvironment
class Generation(jinja2.ext.Extension):
    tags = {"generation"}
    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return jinja2.nodes.CallBlock(self.call_method("mark"), [], [], body).set_lineno(line)
    def mark(self, caller): return caller()
def raise_exception(m): raise jinja2.exceptions.TemplateError(m)
def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)
env = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[Generation, jinja2.ext.loopcontrols])
env.filters["tojson"]=tojson
env.globals["raise_exception"]=raise_exception
date=datetime.datetime(2025,3,4,5,6,7)
env.globals["strftime_now"]=lambda f: date.strftime(f)
def call(id,name,args): return {"id":id,"type":"function","function":{"name":name,"arguments":args}}
U=lambda s:{"role":"user","content":s}
A=lambda s:{"role":"assistant","content":s}
S=lambda s:{"role":"system","content":s}
tools=[{"type":"function","function":{"name":"weather","description":"Tells the <weather> of a \"city\"","parameters":{"type":"object","properties":{"city":{"type":"string","description":"Where"},"days":{"type":["integer","null"],"enum":[1,2]}},"required":["city"]}}},
       {"type":"function","function":{"name":"clock","description":"","parameters":{"type":"object","properties":{}}}}]
def T(thought,text,*calls): return dict(A(text),THOUGHT=thought,**({"tool_calls":list(calls)} if calls else {}))
def R(id,text): return {"role":"tool","tool_call_id":id,"content":text}
plan={"title":"A \"plan\" <b>\nof é","steps":[{"what":"go","days":2.5,"done":False},{"what":"","days":-3,"done":True}],"where":{"city":"Seoul","at":[1,2]},"kind":"short"}
nested=[{"type":"function","function":{"name":"plan","description":"Makes a plan","parameters":{"type":"object","properties":{
  "title":{"type":"string","description":"Its \"title\""},"kind":{"type":"string","enum":["short","long"],"default":"short"},
  "steps":{"type":"array","description":"What to do","items":{"type":"object","properties":{"what":{"type":"string"},"days":{"type":"number"},"done":{"type":"boolean"}},"required":["what"]}},
  "where":{"type":"object","description":"Where","properties":{"city":{"type":"string","description":"A city"},"at":{"type":"array","items":{"type":"integer"}}},"required":["city"]},
  "tags":{"type":"array","items":{"type":"string"}},"note":{"type":"string","nullable":True},"count":{"type":"integer","default":3},"any":{}},"required":["title","steps"]}}},
  {"type":"function","function":{"name":"clock","description":"The time","parameters":{"type":"object","properties":{}}}}]
convs={
 'user':([U("Hello <b>")],None,{}),
 'system':([S("Be brief."),U("Hi")],None,{}),
 'turns':([S("S"),U(" one "),A(" two "),U("three")],None,{}),
 'thinking':([U("q"),A("<think>\nhmm\n</think>\n\nanswer"),U("again")],None,{}),
 'nothink':([U("q")],None,{"enable_thinking":False}),
 'nothinkword':([S("/no_think be kind"),U("q /no_think")],None,{}),
 'tools':([U("Weather?")],tools,{}),
 'toolsys':([S("Sys"),U("Weather?")],tools,{}),
 'calls':([U("Weather?"),{"role":"assistant","content":"","tool_calls":[call("abcdefghi","weather",{"city":"Seoul","days":2})]},{"role":"tool","name":"weather","tool_call_id":"abcdefghi","content":"22 C"}],tools,{}),
 'calls2':([S("Sys"),U("Weather?"),{"role":"assistant","content":"Let me see","tool_calls":[call("abcdefghi","weather",{"city":"Seoul \"x\""}),call("abcdefgh2","clock",{})]},{"role":"tool","name":"weather","tool_call_id":"abcdefghi","content":"22 C"},{"role":"tool","name":"clock","tool_call_id":"abcdefgh2","content":"{\"h\": 3}"},A("It is 22."),U("Thanks")],tools,{}),
 'alternation':([U("a"),U("b")],None,{}),
 'complete':([U("a"),A("b")],None,{}),
 'nested':([S("Sys"),U("Plan")],nested,{"enable_thinking":True}),
 'effort':([U("q")],None,{"reasoning_effort":"high"}),
 'efforttools':([S("Sys"),U("q")],nested,{"reasoning_effort":"low","enable_thinking":True}),
 'thoughts':([U("q"),T("I wonder","a"),U("again"),T("I still do","b"),U("more")],None,{"enable_thinking":True}),
 'thoughtcall':([U("Plan"),T("I need a plan","",call("c1","plan",plan)),R("c1","{\"ok\": true}")],nested,{"enable_thinking":True}),
 'thoughtcalls':([U("Plan"),T("First","",call("c1","plan",plan)),R("c1","done"),T("Then","",call("c2","clock",{})),R("c2","7 \"h\" <é>")],nested,{}),
 'callsover':([U("Plan"),T("First","",call("c1","plan",plan)),R("c1","done"),T("So","All done."),U("Thanks")],nested,{}),
 'calltext':([U("Plan"),dict(A("Let me see."),tool_calls=[call("c1","clock",{})]),R("c1","7")],nested,{}),
}
out=[]
for path in sorted(glob.glob('*.jinja')):
    src=open(path,encoding='utf8').read()
    try: t=env.from_string(src)
    except Exception as e:
        print(path,'jinja2 parse',e); continue
    for name,(msgs,tl,vars) in convs.items():
        v=dict(messages=msgs,tools=tl,documents=None,add_generation_prompt=name!='complete',bos_token='<s>',eos_token='</s>',date_string=date.strftime("%d %b %Y"),**vars)
        key=next((k for k in ("reasoning_content","thinking","reasoning") if k in src),"reasoning_content") # as internal/chat chooses
        v["messages"]=[{key if k=="THOUGHT" else k:x for k,x in m.items()} for m in msgs]
        try: r=t.render(**v); err=None
        except Exception as e: r=None; err=str(e)[:100]
        out.append(dict(path=os.path.basename(path),conv=name,messages=msgs,tools=tl,vars=vars,agp=name!='complete',text=r,error=err))
json.dump(out,open('cases.json','w'),ensure_ascii=False)
print(len(out))
