// The playground: a form over the server's own API.
//
// All inputs are in the fragment of the address, so an address is a permalink. Whatever the server
// or a link says becomes text nodes and values of inputs, never HTML or code.
import "./tokens.js";

const $ = (id) => document.getElementById(id);
const form = $("form");
const fields = form.elements;

const DEFAULTS = {
  api: "chat",
  prompt: "Who is it? Maria Lopez, 34, lives in Valencia and works as an architect.",
  kind: "json",
  source: "",
  temperature: "0.7",
  top_p: "",
  top_k: "",
  seed: "1",
  max_tokens: "200",
  alternatives: "5",
  guidance: "",
  classifier: "",
  watermark: "",
};

const EXAMPLES = {
  any: "",
  json: `{
  "type": "object",
  "properties": {
    "name": {"type": "string", "maxLength": 40},
    "age": {"type": "integer", "maximum": 150},
    "city": {"type": "string", "maxLength": 30}
  },
  "required": ["name", "age", "city"]
}`,
  regex: "(Mr|Ms) [A-Z][a-z]+, [0-9]{1,3} years",
  choice: "engineer\narchitect\nteacher",
  grammar: `start: person ("; " person)*
person: NAME " (" NUMBER ")"
NAME: /[A-Z][a-z]{1,12}/
NUMBER: /[1-9][0-9]?/`,
};

const HINTS = {
  json: "The server runs no code: for a Python type, paste TypeAdapter(T).json_schema(), as JSON.",
  regex: "The whole text matches it. \\d is a digit of ASCII.",
  choice: "One of these lines.",
  grammar: "A Lark grammar, or GBNF if it has ::=.",
};

let own = { id: "", guideway: {} };
let running = null;
let text = "";
let drawnFrom = {};

// Requests

function headers() {
  const key = sessionStorage.getItem("guideway-key");
  const more = key ? { Authorization: `Bearer ${key}` } : {};
  return { "Content-Type": "application/json", ...more };
}

class Refused extends Error {
  constructor(message, place) {
    super(message);
    this.place = place;
  }
}

async function send(path, body, signal) {
  const how = body && { method: "POST", body: JSON.stringify(body), signal };
  const answer = await fetch(path, { ...how, headers: headers() });
  if (answer.ok) return answer;
  if (answer.status === 401 && (await askKey())) return send(path, body, signal);
  const { error } = await answer.json().catch(() => ({}));
  throw new Refused(error?.message ?? `the server answers ${answer.status}`, error?.param);
}

function askKey() {
  const dialog = $("asked");
  $("secret").value = "";
  $("refused").hidden = !sessionStorage.getItem("guideway-key");
  dialog.returnValue = "";
  dialog.showModal();
  return new Promise((done) => {
    const close = () => {
      const key = $("secret").value.trim();
      const used = dialog.returnValue === "use" && key !== "";
      if (used) sessionStorage.setItem("guideway-key", key);
      $("key").hidden = false;
      done(used);
    };
    dialog.addEventListener("close", close, { once: true });
  });
}

async function* events(answer) {
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    const blocks = (rest + part.value).split("\n\n");
    rest = blocks.pop();
    for (const block of blocks) {
      const data = block.replace(/^data: /, "");
      if (data === "[DONE]") return;
      const event = JSON.parse(data);
      if (event.error) throw new Refused(event.error.message, event.error.param);
      yield event;
    }
  }
  throw new Refused("the connection has ended before the text");
}

// Inputs

function structured() {
  const { kind, source } = inputs();
  if (kind === "any") return undefined;
  return { [kind]: kind === "choice" ? source.split("\n").filter((line) => line) : source };
}

function parsed(text, place) {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Refused(`this is not JSON: ${error.message}`, place);
  }
}

function request() {
  const given = inputs();
  const number = (name) => (given[name] === "" ? undefined : Number(given[name]));
  const shared = {
    model: own.id,
    stream: true,
    trace: { alternatives: number("alternatives") },
    structured_outputs: structured(),
    guidance: given.guidance.trim() ? parsed(given.guidance, "/guidance") : undefined,
    classifier: given.classifier || undefined,
    watermark: given.watermark || undefined,
  };
  for (const name of ["temperature", "top_p", "top_k", "seed", "max_tokens"]) {
    shared[name] = number(name);
  }
  if (given.api === "text") return ["v1/completions", { ...shared, prompt: given.prompt }];
  const messages = [{ role: "user", content: given.prompt }];
  return ["v1/chat/completions", { ...shared, messages }];
}

function inputs() {
  return Object.fromEntries(Object.keys(DEFAULTS).map((name) => [name, fields[name].value]));
}

function defaults(kind) {
  return { ...DEFAULTS, source: EXAMPLES[kind] ?? "" };
}

function toAddress() {
  const given = inputs();
  const usual = defaults(given.kind);
  const changed = Object.entries(given).filter(([name, value]) => value !== usual[name]);
  history.replaceState(null, "", changed.length ? `#${new URLSearchParams(changed)}` : "#");
}

function fromAddress() {
  const given = Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
  const kind = Object.hasOwn(EXAMPLES, given.kind) ? given.kind : DEFAULTS.kind;
  const usual = defaults(kind);
  for (const [name, value] of Object.entries({ ...usual, ...given, kind })) {
    if (!Object.hasOwn(usual, name)) continue;
    if (fields[name].options && value) offer(fields[name], value); // the server's may come later
    fields[name].value = value;
    if (value !== usual[name] && $("more").querySelector(`[name=${name}]`)) $("more").open = true;
  }
  showKind();
}

function showKind() {
  const kind = fields.kind.value;
  $("held").hidden = kind === "any";
  $("hint").textContent = HINTS[kind] ?? "";
}

function offer(field, name) {
  const known = [...field.options].some((option) => option.value === name);
  if (!known) field.add(new Option(name, name));
  field.parentElement.hidden = false;
}

// Output

function fail(error) {
  const [first, ...lines] = error.message.split("\n");
  const told = document.createElement("strong");
  told.textContent = first;
  $("error").replaceChildren(told);
  if (lines.length) {
    const shown = document.createElement("pre");
    shown.textContent = lines.join("\n");
    $("error").append(shown);
  }
  if (error.place?.startsWith("/") && !first.includes(error.place)) {
    const place = document.createElement("p");
    place.textContent = `at ${error.place}`;
    $("error").append(place);
  }
  $("error").scrollIntoView({ block: "nearest" });
}

// Run an action; show its error, but not that it was stopped.
async function attempt(action) {
  $("error").replaceChildren();
  try {
    await action();
    return true;
  } catch (error) {
    if (error.name !== "AbortError") fail(error);
    return false;
  }
}

const count = (number, noun) => `${number} ${noun}${number === 1 ? "" : "s"}`;

function facts(ended, seconds) {
  const steps = $("tokens").steps;
  const removed = steps.reduce((sum, step) => sum + step.mass_removed, 0) / (steps.length || 1);
  const of = (name) => steps.filter((step) => step[name]).length;
  return [
    `${count(steps.length, "token")} in ${seconds.toFixed(1)} s`,
    of("forced") && `${of("forced")} forced`,
    of("drafted") && `${of("drafted")} drafted`,
    removed && `${(100 * removed).toFixed(1)} % removed on average`,
    `ended by ${ended}`,
  ].filter(Boolean);
}

function show(tokens) {
  $("tokens").hidden = !tokens;
  $("empty").hidden = tokens;
}

async function generate() {
  const view = $("tokens");
  view.clear();
  text = "";
  show(false);
  const began = performance.now();
  const control = new AbortController();
  running = control;
  $("stop").disabled = false;
  $("generate").disabled = true;
  $("status").textContent = "Generating…";
  let ended = "";
  const fine = await attempt(async () => {
    const [path, body] = request();
    drawnFrom = body;
    const answer = await send(path, body, control.signal);
    show(true);
    $("tokens-title").scrollIntoView({ block: "nearest" });
    for await (const { choices } of events(answer)) {
      for (const choice of choices) {
        const { delta } = choice;
        text += delta ? (delta.reasoning_content ?? "") + (delta.content ?? "") : choice.text;
        for (const step of choice.guideway?.trace ?? []) view.add(step);
        ended = choice.finish_reason ?? ended;
      }
    }
  });
  const stopped = control.signal.aborted;
  const told = fine ? "Done" : stopped ? "Stopped" : "Failed";
  $("status").textContent = fine || stopped ? `${told}: ${count(view.steps.length, "token")}` : told;
  if (fine || stopped) view.facts(facts(stopped ? "you" : ended, (performance.now() - began) / 1000));
  view.chooseMost();
  running = null;
  $("stop").disabled = true;
  $("generate").disabled = false;
  $("copy").hidden = !text;
  $("detection").hidden = !(text && own.guideway.watermarks?.length);
  $("evidence").replaceChildren();
}

function define(list, pairs) {
  list.replaceChildren();
  for (const [name, value] of pairs) {
    const term = document.createElement("dt");
    const fact = document.createElement("dd");
    term.textContent = name;
    fact.textContent = value;
    list.append(term, fact);
  }
}

async function explain() {
  await attempt(async () => {
    const answer = await send("v1/explain", { structured_outputs: structured() });
    const told = await answer.json();
    define($("summary"), [
      ["a shortest text", `${told.example} (${count(told.shortest_tokens, "token")})`],
      ["may come first", `${count(told.first_count, "token")}: ${told.first_tokens.join("  ")}`],
    ]);
    const rows = told.enforced.map((each) => {
      const row = document.createElement("tr");
      const how = document.createElement("td");
      const kind = document.createElement("small");
      kind.textContent = each.standing;
      const named = each.place.endsWith(each.part) ? "" : `${each.part}: `;
      how.append(kind, named + each.how);
      row.insertCell().textContent = each.place;
      row.append(how);
      return row;
    });
    $("enforced").replaceChildren(...rows);
    $("explanation").hidden = false;
    $("explanation").focus();
  });
}

async function detect() {
  await attempt(async () => {
    const watermark = drawnFrom.watermark ?? own.guideway.watermarks[0];
    const body = { watermark, text, structured_outputs: drawnFrom.structured_outputs };
    const found = await (await send("v1/detect", body)).json();
    const chance = found.p < 1e-4 ? found.p.toExponential(1) : found.p.toFixed(4);
    define($("evidence"), [
      ["key", watermark],
      ["z", `${found.z.toFixed(2)} standard deviations above chance`],
      ["p", `${chance}, the probability of this by chance`],
      ["green", `${(100 * found.green_fraction).toFixed(1)} %, by chance ${(100 * found.expected).toFixed(1)} %`],
      ["counted", `${found.counted} of ${count(found.tokens, "token")}`],
    ]);
  });
}

// Events

async function connect() {
  const found = await attempt(async () => {
    const { data } = await (await send("v1/models")).json();
    own = data[0];
    const { models, classifiers, watermarks, max_tokens: most } = own.guideway;
    $("model").textContent = own.id;
    $("models").textContent =
      `For example {"base": "${own.id}", "plus": [[0.5, "NAME"]]}. This server has ${[own.id, ...models].join(", ")}.`;
    classifiers.forEach((name) => offer(fields.classifier, name));
    watermarks.forEach((name) => offer(fields.watermark, name));
    fields.max_tokens.max = most;
    if (Number(fields.max_tokens.value) > most) fields.max_tokens.value = most;
  });
  if (!found) $("model").textContent = "not connected";
}

async function copy(what, told) {
  if (!navigator.clipboard) {
    throw new Refused("browsers copy only on https and on localhost; the address bar has the link");
  }
  await navigator.clipboard.writeText(what);
  $("status").textContent = told;
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  if (!running) generate();
});
form.addEventListener("input", toAddress);
form.addEventListener("invalid", () => ($("more").open = true), true); // where most inputs are
form.addEventListener("change", (event) => {
  if (event.target.name !== "kind") return;
  fields.source.value = EXAMPLES[fields.kind.value];
  showKind();
  toAddress();
});
document.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit();
  if (event.key === "Escape" && running) running.abort();
});
$("stop").addEventListener("click", () => running?.abort());
$("explain").addEventListener("click", explain);
$("detect").addEventListener("click", detect);
$("copy").addEventListener("click", () => attempt(() => copy(text, "The text is copied")));
$("link").addEventListener("click", () => attempt(() => copy(location.href, "The link is copied")));
$("key").addEventListener("click", async () => (await askKey()) && connect());
addEventListener("hashchange", fromAddress);

fromAddress();
connect();
