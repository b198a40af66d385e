const $ = (id) => document.getElementById(id);
const began = performance.now();
const tasks = {
  chat: { label: "Question", text: "What is the capital of Japan?", note: "A conversation: the next question goes on from it." },
  calls: { label: "Question", text: "How warm is it in Nairobi?", note: "Flint may call get_weather(city) and add(a, b), which are Go functions in this page." },
  form: { label: "Text about a person", text: "Sam likes apples and salad, is happy, lives in Kyiv and is 18 years old.", note: "The answer always fits the form's JSON Schema." },
};
let task = "chat", busy = false, answer = null;
const fetched = {};
const worker = new Worker("worker.js");

function choose(name) {
  task = name;
  for (const b of document.querySelectorAll("[data-task]")) b.setAttribute("aria-pressed", String(b.dataset.task === name));
  $("label").textContent = tasks[name].label;
  $("question").value = tasks[name].text;
  $("note").textContent = tasks[name].note;
  $("log").replaceChildren();
  $("form").hidden = name !== "form";
  if (name === "chat") worker.postMessage({ kind: "forget", text: "" });
}

function entry(kind, text) {
  const p = document.createElement("p");
  p.className = kind;
  p.textContent = text;
  $("log").append(p);
  return p;
}

function ask(event) {
  event.preventDefault();
  const text = $("question").value.trim();
  if (busy || !text) return;
  busy = true;
  $("send").disabled = true;
  $("stop").disabled = false;
  if (task !== "chat") $("log").replaceChildren();
  entry("asked", text);
  answer = entry("answer", "");
  worker.postMessage({ kind: task, text });
}

function fill(text) {
  try {
    const person = JSON.parse(text);
    for (const [name, value] of Object.entries(person)) {
      const field = $("form").elements.namedItem(name);
      if (!field) continue;
      if (field.type === "checkbox") field.checked = value;
      else field.value = Array.isArray(value) ? value.join(", ") : value;
    }
  } catch {
    // the answer was stopped
  }
}

worker.onmessage = ({ data }) => {
  switch (data.kind) {
    case "fetched": {
      fetched[data.name] = data;
      const sum = (key) => Object.values(fetched).reduce((n, f) => n + f[key], 0);
      $("state").textContent = `Fetched ${(sum("read") / 1e6).toFixed(1)} MB of ${(sum("length") / 1e6).toFixed(1)} MB`;
      break;
    }
    case "ready": {
      const seconds = ((performance.now() - began) / 1000).toFixed(1);
      $("state").textContent = `Ready after ${seconds} s: Flint runs in this page, and nothing that you write leaves it.`;
      document.body.dataset.ready = seconds;
      $("send").disabled = busy;
      break;
    }
    case "text":
      answer.textContent += data.text;
      break;
    case "end": {
      busy = false;
      $("send").disabled = false;
      $("stop").disabled = true;
      if (data.text) entry("failed", data.text);
      if (task === "form") fill(answer.textContent);
      const figures = entry("figures", `${data.tokens} tokens, the first after ${data.first} ms, all after ${data.milliseconds} ms; digest ${data.digest}`);
      figures.dataset.digest = data.digest;
      break;
    }
    case "failed":
      $("state").textContent = "It does not run here: " + data.text;
      break;
  }
};
worker.onerror = (event) => { $("state").textContent = "It does not run here: " + event.message; };
for (const b of document.querySelectorAll("[data-task]")) b.addEventListener("click", () => { if (!busy) choose(b.dataset.task); });
$("ask").addEventListener("submit", ask);
$("stop").addEventListener("click", () => worker.postMessage({ kind: "stop", text: "" }));
choose("chat");
