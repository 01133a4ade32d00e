// <guideway-tokens>: generated tokens, each with what became of it at every stage.
//
// Notebooks (api/notebook.py) and the playground of the server show tokens by this file alone. It
// reads records of `TracedStep.record`. Texts of models go into text nodes only. Colours are
// translucent or taken from the page around, so they are readable on light and dark pages.
(() => {
  if (customElements.get("guideway-tokens")) return;

  const STYLE = `
    :host { display: block; }
    * { box-sizing: border-box; }
    .legend, .facts, .head, .about { display: flex; flex-wrap: wrap; gap: .25rem 1.25rem; margin: 0; }
    .legend, .facts, .about, .stage small { font-size: .8125rem; }
    .legend, .facts { opacity: .8; margin-top: .75rem; }
    .facts:empty, .legend:empty { display: none; }
    .legend .token { padding: 0 .3em; margin-right: .5em; cursor: auto; outline: 0;
      box-shadow: none; }
    .tokens { white-space: pre-wrap; overflow-wrap: anywhere; line-height: 1.9;
      font: .9375rem/1.9 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; }
    .token { border-radius: 3px; padding: .1em 0; cursor: pointer;
      border-top: 2px solid transparent; border-bottom: 2px solid transparent;
      box-shadow: inset 1px 0 color-mix(in srgb, currentColor 12%, transparent);
      background: rgba(224, 78, 30, calc(.62 * var(--removed, 0))); }
    .token:hover { outline: 1px solid color-mix(in srgb, currentColor 45%, transparent); }
    .token:focus-visible, .token[aria-selected="true"] { outline: 2px solid currentColor;
      outline-offset: 1px; }
    .forced { color: color-mix(in srgb, currentColor 88%, transparent); font-style: italic; }
    .drafted { border-top-color: #3b82d6; }
    .green { border-bottom: 2px solid #1f9d55; }
    .red { border-bottom: 2px dashed #d64545; }
    .detail { margin-top: 1.25rem; padding-top: 1.25rem;
      border-top: 1px solid color-mix(in srgb, currentColor 18%, transparent); }
    .head { align-items: center; gap: .5rem; }
    .head b, code, .name { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; }
    .head b { font-size: 1.25rem; margin-right: .25rem; white-space: pre-wrap; }
    .head small { font-size: .8125rem; opacity: .75; }
    .chip { font-size: .75rem; padding: .05rem .55rem; border-radius: 99px;
      border: 1px solid color-mix(in srgb, currentColor 35%, transparent); }
    .about { margin: .5rem 0 1.25rem; gap: .5rem 1.75rem; }
    .about dt { opacity: .75; font-size: .75rem; }
    .about dd { margin: 0; overflow-wrap: anywhere; font-size: .875rem; }
    .stages { display: grid; gap: 1rem; grid-template-columns: repeat(auto-fill, minmax(11rem, 1fr));
      margin: 0; padding: 0; list-style: none; }
    .stage .name { font-weight: 600; font-size: .875rem; overflow-wrap: anywhere; }
    .stage small { display: block; opacity: .75; margin-bottom: .35rem; }
    .stage ol { margin: 0; padding: 0; list-style: none; }
    .stage ol li { display: flex; gap: .5rem; justify-content: space-between; font-size: .8125rem;
      padding: .15rem .4rem; margin-bottom: 2px; border-radius: 3px;
      background: linear-gradient(to right, rgba(59, 130, 214, .28) calc(100% * var(--p)),
        color-mix(in srgb, currentColor 6%, transparent) 0); }
    .stage code { overflow: hidden; text-overflow: ellipsis; white-space: pre; }
    .stage .drawn { font-weight: 700; box-shadow: inset 3px 0 currentColor; }
    .stage .gone code { text-decoration: line-through; }
    .stage .gone { opacity: .7; }
  `;
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(STYLE);

  const MARKS = [
    ["removed", "probability removed by the constraint", (step) => step.mass_removed > 0],
    ["forced", "no other text was allowed", (step) => step.forced],
    ["drafted", "drafted: took no forward of its own", (step) => step.drafted],
    ["green", "green by the watermark", (step) => step.green !== null],
    ["red", "red", (step) => step.green !== null],
  ];

  function make(tag, name, ...children) {
    const made = document.createElement(tag);
    if (name) made.className = name;
    made.append(...children);
    return made;
  }

  function percent(share) {
    if (share > 0 && share < 0.001) return "<0.1 %";
    return share > 0.999 && share < 1 ? ">99.9 %" : `${(100 * share).toFixed(1)} %`;
  }

  const NAMED = { "\n": "↵", "\t": "⇥", "\r": "␍" };
  const marked = (text) => text.replace(/[\n\t\r]/g, (one) => NAMED[one]);
  const quoted = (text) => marked(text).replace(/^ | $/g, "␣");
  const inFlow = (text) => text.replace(/[\n\t\r]/g, (one) => NAMED[one] + (one === "\r" ? "" : one));

  const probability = (step) => percent(Math.exp(Math.min(0, step.logprob)));

  function kinds(step) {
    const colour = step.green === null ? [] : [step.green ? "green" : "red"];
    return [...["forced", "drafted"].filter((name) => step[name]), ...colour];
  }

  function words(step) {
    const removed = step.mass_removed ? [`${percent(step.mass_removed)} removed`] : [];
    return [`probability ${probability(step)}`, ...removed, ...kinds(step)].join(", ");
  }

  // A token before the constraint that the constraint forbids. Allowed tokens keep their order and
  // get more probable, so they would still be shown.
  function isGone(each, stage, next, removed) {
    if (next?.name !== "constraint" || next.top.some((other) => other.token === each.token)) {
      return false;
    }
    const least = next.top.length < stage.top.length ? 0 : next.top.at(-1).probability;
    return each.probability / (1 - removed) > least * 1.000001;
  }

  function stageOf(stage, next, step) {
    const list = make("ol");
    for (const each of stage.top) {
      const gone = isGone(each, stage, next, step.mass_removed);
      const name = each.token === step.token ? "drawn" : gone ? "gone" : "";
      const text = make("code", "", quoted(each.text));
      const item = make("li", name, text, make("span", "", percent(each.probability)));
      if (name) item.setAttribute("aria-description", name === "gone" ? "forbidden" : "drawn");
      item.style.setProperty("--p", each.probability);
      list.append(item);
    }
    const moved = stage.moved === null ? "" : ` · moved ${stage.moved.toFixed(2)}`;
    const about = make("small", "", `entropy ${stage.entropy.toFixed(2)}${moved}`);
    about.title = "in nats; moved: Kullback-Leibler divergence from the input of the stage";
    return make("li", "stage", make("span", "name", stage.name), about, list);
  }

  function detailOf(step) {
    const detail = make("div", "detail");
    const head = make("p", "head", make("b", "", quoted(step.text) || "(nothing)"));
    head.append(...kinds(step).map((kind) => make("span", "chip", kind)));
    head.append(make("small", "", `token ${step.token}`));
    const facts = [
      ["probability by the model", probability(step)],
      ["removed by the constraint", percent(step.mass_removed)],
    ];
    const state = step.state;
    if (state) {
      facts.push(["state", `${state.number}${state.accepts ? ", where the text may end" : ""}`]);
      facts.push(["tokens allowed", `${state.allowed}`]);
      if (state.forced) facts.push(["must come", make("code", "", quoted(state.forced))]);
    }
    const about = make("dl", "about");
    for (const [name, fact] of facts) {
      about.append(make("div", "", make("dt", "", name), make("dd", "", fact)));
    }
    detail.append(head, about);
    const stages = make("ol", "stages");
    step.stages.forEach((stage, n) => stages.append(stageOf(stage, step.stages[n + 1], step)));
    detail.append(stages);
    return detail;
  }

  class Tokens extends HTMLElement {
    constructor() {
      super();
      this.attachShadow({ mode: "open" }).adoptedStyleSheets = [sheet];
      this.list = make("div", "tokens");
      this.list.setAttribute("role", "listbox");
      this.list.setAttribute("aria-orientation", "horizontal");
      this.list.setAttribute("aria-label", "Generated tokens");
      this.legend = make("p", "legend");
      this.told = make("p", "facts");
      this.detail = make("div");
      this.detail.setAttribute("role", "region");
      this.detail.setAttribute("aria-label", "The chosen token");
      this.shadowRoot.append(this.list, this.legend, this.told, this.detail);
      this.list.addEventListener("click", (event) => this.choose(this.at(event.target)));
      this.list.addEventListener("keydown", (event) => this.press(event));
      this.clear();
    }

    // Notebooks give the data as a JSON child, which may come after the element itself.
    connectedCallback() {
      const load = () => {
        const data = this.querySelector("script[type='application/json']");
        if (data && !this.steps.length) this.show(JSON.parse(data.textContent));
      };
      if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", load);
      else load();
    }

    show({ steps, facts }) {
      this.clear();
      steps.forEach((step) => this.add(step));
      this.facts(facts);
      this.chooseMost();
    }

    clear() {
      this.steps = [];
      this.chosen = -1;
      this.known = new Set();
      for (const part of [this.list, this.legend, this.told, this.detail]) part.replaceChildren();
    }

    add(step) {
      const colour = step.green === null ? "" : step.green ? " green" : " red";
      const marks = (step.forced ? " forced" : "") + (step.drafted ? " drafted" : "");
      const token = make("span", `token${marks}${colour}`, inFlow(step.text));
      token.setAttribute("role", "option");
      token.setAttribute("aria-selected", "false");
      token.setAttribute("aria-label", `${quoted(step.text)}, ${words(step)}`);
      token.title = words(step);
      token.tabIndex = this.steps.length ? -1 : 0;
      token.style.setProperty("--removed", step.mass_removed);
      this.steps.push(step);
      this.list.append(token);
      for (const [name, told, applies] of MARKS) {
        if (this.known.has(name) || !applies(step)) continue;
        this.known.add(name);
        const sample = make("span", `token ${name}`, "abc");
        if (name === "removed") sample.style.setProperty("--removed", 0.8);
        sample.setAttribute("aria-hidden", "true");
        this.legend.append(make("span", "", sample, told));
      }
    }

    facts(facts) {
      this.told.replaceChildren(...facts.map((fact) => make("span", "", fact)));
    }

    // The token where the constraint mattered most, if stages say why.
    chooseMost() {
      const removed = this.steps.map((step) => (step.stages.length ? step.mass_removed : -1));
      const most = Math.max(...removed);
      if (most >= 0) this.choose(removed.indexOf(most));
    }

    at(node) {
      return [...this.list.children].indexOf(node);
    }

    choose(place) {
      if (place < 0 || place >= this.steps.length) return;
      const before = this.list.children[Math.max(0, this.chosen)];
      before.setAttribute("aria-selected", "false");
      before.tabIndex = -1;
      this.chosen = place;
      const token = this.list.children[place];
      token.setAttribute("aria-selected", "true");
      token.tabIndex = 0;
      this.detail.replaceChildren(detailOf(this.steps[place]));
    }

    press(event) {
      const last = this.steps.length - 1;
      const moves = {
        ArrowRight: this.chosen + 1,
        ArrowLeft: this.chosen - 1,
        Home: 0,
        End: last,
        Enter: this.at(event.target),
        " ": this.at(event.target),
      };
      if (!(event.key in moves)) return;
      event.preventDefault();
      this.choose(Math.min(last, Math.max(0, moves[event.key])));
      this.list.children[this.chosen].focus();
    }
  }

  customElements.define("guideway-tokens", Tokens);
})();
