"use strict";
// Everything that came from outside is shown as text: nodes are made one by one, and no text is ever read as markup.

const tokenKey = "signalbox.token";
const svgSpace = "http://www.w3.org/2000/svg";
const rowLimit = 200;
let token = null;
let next = 0;
let skipped = null;
let isPaused = false;
let filter = "";
let rows = [];
let lastLive = null;
let timer = null;
/** How often the page has connected or left. An answer to an earlier round is ignored. */
let rounds = 0;

const element = id => document.getElementById(id);

/** Makes an element with attributes, and with children, of which strings become text. */
function make(name, attributes = {}, ...children) {
  return build(document.createElement(name), attributes, children);
}

function draw(name, attributes = {}, ...children) {
  return build(document.createElementNS(svgSpace, name), attributes, children);
}

function build(node, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== null) node.setAttribute(key, String(value));
  }
  node.append(...children.filter(child => child !== undefined && child !== null));
  return node;
}

/** Text without characters that could hide or reorder what is beside it. */
function plain(value) {
  return String(value ?? "").replace(/[\u0000-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069\u200e\u200f]/g, "\u00b7");
}

function cell(value, className) {
  return make("td", className ? { class: className } : {}, plain(value));
}

function duration(seconds) {
  if (seconds === undefined || seconds === null) return "\u2013";
  if (seconds < 0.001) return `${Math.round(seconds * 1e6)} us`;
  return seconds < 1 ? `${(seconds * 1000).toFixed(1)} ms` : `${seconds.toFixed(1)} s`;
}

function rate(value) {
  return value < 100 ? value.toFixed(1) : String(Math.round(value));
}

// MARK: - Asking

class Refused extends Error {}

/** Asks the program, and returns its answer: an object, or the bytes of an export. */
async function ask(path, body) {
  const headers = { Authorization: `Bearer ${token}` };
  if (body) headers["Content-Type"] = "application/json";
  const answer = await fetch(`/console/${path}`, {
    method: body ? "POST" : "GET", headers, body: body ? JSON.stringify(body) : undefined, cache: "no-store", credentials: "omit",
  });
  if (answer.status === 401) throw new Refused("The token is not the one of 'observe'.");
  if (answer.headers.get("Content-Type") !== "application/json") throw new Error((await answer.text()).trim());
  if (path === "export" && answer.ok) return answer.blob();
  const object = await answer.json();
  if (object.error) throw new Error(object.error);
  return object;
}

async function refresh(round) {
  try {
    const live = await ask(`live?after=${next}`);
    // The user has forgotten the token, or entered another one, meanwhile.
    if (round !== rounds) return;
    show(live);
    element("login").hidden = true;
    element("content").hidden = false;
    for (const id of ["leave", "pause"]) element(id).hidden = false;
  } catch (error) {
    if (round !== rounds) return;
    if (error instanceof Refused) return leave(error.message);
    setState(lastLive ? "The program does not answer" : plain(error.message), "bad");
    if (!lastLive) element("login-error").textContent = plain(error.message);
  }
  timer = setTimeout(refresh, 1000, round);
}

function connect(text) {
  token = text;
  sessionStorage.setItem(tokenKey, token);
  clearTimeout(timer);
  [next, skipped, rows, lastLive] = [0, null, [], null];
  refresh(++rounds);
}

function leave(reason) {
  clearTimeout(timer);
  rounds++;
  token = null;
  sessionStorage.removeItem(tokenKey);
  element("content").hidden = true;
  element("login").hidden = false;
  for (const id of ["leave", "pause"]) element(id).hidden = true;
  element("program").textContent = "";
  element("login-error").textContent = reason ?? "";
  setState("Not connected", "");
  element("token").focus();
}

function setState(text, className) {
  const state = element("state");
  if (state.textContent !== text) state.textContent = text;
  state.className = className;
}

// MARK: - Showing

function show(live) {
  lastLive = live;
  const { program, isReady, problems, warnings } = live.status;
  setState(isReady ? `${program.state}, ready` : `${program.state}, not ready`, isReady ? "ready" : "bad");
  const memory = program.residentBytes ? `, ${Math.round(program.residentBytes / 1e6)} MB` : "";
  element("program").textContent = plain(`${program.configuration}, up ${program.uptimeSeconds} s${memory}, log level ${program.logLevel}`);
  takeActions(live);
  if (isPaused) return;
  showProblems(problems, warnings);
  showDiagram(live);
  showCharts(live.charts);
  showPlugins(live.status.plugins);
  showActions();
  showLetters(live);
  showChoices(live);
}

function showProblems(problems, warnings) {
  element("problems").hidden = problems.length + warnings.length === 0;
  const line = (className, text, { source, plugin }) => {
    const place = [source, plugin].filter(Boolean).join("/");
    return [className, plain(place ? `${place}: ${text}` : text)];
  };
  const lines = [
    ...problems.map(problem => line("problem", problem.problem, problem)),
    ...warnings.map(warning => line("warning", warning.warning, warning)),
  ];
  replace(element("problem-list"), lines, ([className, text]) => make("li", { class: className }, text));
}

/** Replaces the children, unless nothing has changed: a screen reader would read them again, and a selection would be lost. */
function replace(parent, items, makeNode) {
  const text = JSON.stringify(items);
  if (parent.dataset.shown === text) return;
  parent.dataset.shown = text;
  parent.replaceChildren(...items.map(makeNode));
}

// MARK: - Diagram

const boxWidth = 230, boxHeight = 44, boxGap = 14, diagramWidth = 1000;

function showDiagram(live) {
  const { sources, plugins } = live.status;
  const places = new Map();
  const place = (kind, names, x) => names.forEach((name, index) => places.set(`${kind} ${name}`, { x, y: 8 + index * (boxHeight + boxGap) }));
  place("source", sources.map(source => source.source), 8);
  place("plugin", plugins.map(plugin => plugin.plugin), diagramWidth - boxWidth - 8);
  const height = 16 + Math.max(1, sources.length, plugins.length) * (boxHeight + boxGap);
  const summary = live.links.filter(link => link.rate > 0).map(link => `${link.source} to ${link.plugin}: ${rate(link.rate)} a second`);
  const label = `${sources.length} sources, ${plugins.length} plugins. ${summary.join("; ")}`;
  const svg = draw("svg", { viewBox: `0 0 ${diagramWidth} ${height}`, role: "group", "aria-label": plain(label) });
  for (const link of [...live.links].sort((a, b) => a.rate - b.rate)) {
    const from = places.get(`source ${link.source}`), to = places.get(`plugin ${link.plugin}`);
    if (!from || !to) continue;
    const [x1, y1, x2, y2] = [from.x + boxWidth, from.y + boxHeight / 2, to.x, to.y + boxHeight / 2];
    const width = link.rate > 0 ? Math.min(22, 2 + 3.2 * Math.log10(1 + link.rate)) : 1.5;
    const path = draw("path", {
      class: `link ${link.worst ?? ""} ${link.rate > 0 ? "" : "quiet"}`, "stroke-width": width.toFixed(1),
      d: `M${x1} ${y1}C${x1 + 200} ${y1} ${x2 - 200} ${y2} ${x2} ${y2}`,
    });
    path.append(draw("title", {}, plain(`${link.source} to ${link.plugin}: ${rate(link.rate)} a second, ${link.worst ?? "nothing"}`)));
    svg.append(path);
  }
  for (const source of sources) {
    const isBad = source.isConnected === false;
    const state = source.isConnected === undefined ? source.kind : `${source.kind}, ${isBad ? "disconnected" : "connected"}`;
    svg.append(box("source", source.source, places, isBad, state, `${rate(source.rate)}/s`));
  }
  for (const plugin of plugins) {
    const isBad = plugin.stalled > 0 || plugin.isCircuitOpen;
    const state = plugin.stalled > 0 ? "stalled" : plugin.isCircuitOpen ? "circuit open" : plugin.use ?? "no plugin";
    svg.append(box("plugin", plugin.plugin, places, isBad, state, `${rate(plugin.rate)}/s, ${duration(plugin.p99Seconds)}`));
  }
  const old = element("diagram").firstChild;
  const focused = document.activeElement?.closest?.("#diagram .node")?.dataset.name;
  if (old) old.replaceWith(svg); else element("diagram").append(svg);
  if (focused) [...svg.querySelectorAll(".node")].find(node => node.dataset.name === focused)?.focus();
}

function box(kind, name, places, isBad, state, numbers) {
  const { x, y } = places.get(`${kind} ${name}`);
  const text = plain(name), shown = text.length > 26 ? `${text.slice(0, 25)}\u2026` : text;
  const node = draw("g", {
    class: `node ${filter === name ? "chosen" : ""}`, tabindex: 0, role: "button", "aria-pressed": filter === name,
    "aria-label": `${kind} ${text}: ${plain(state)}, ${numbers}`, "data-name": `${kind} ${name}`,
  });
  node.append(
    draw("rect", { class: `box ${isBad ? "bad" : ""}`, x, y, width: boxWidth, height: boxHeight, rx: 6 }),
    draw("text", { x: x + 10, y: y + 18 }, shown),
    draw("text", { class: "small", x: x + 10, y: y + 35 }, plain(state)),
    draw("text", { class: "small", x: x + boxWidth - 10, y: y + 35, "text-anchor": "end" }, numbers),
  );
  const choose = () => {
    setFilter(filter === name ? "" : name);
    if (lastLive) showDiagram(lastLive);
  };
  // The diagram is drawn again each second, which would lose a click that begins before and ends after.
  node.addEventListener("pointerdown", choose);
  node.addEventListener("keydown", event => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    choose();
  });
  return node;
}

// MARK: - Charts

function showCharts(charts) {
  const parts = [
    chart("Settled a second", charts.settled, "", value => rate(value)),
    chart("99 % of calls took at most", charts.p99Seconds, "", duration),
    chart("Rejected and failed a second", charts.errors, "errors", value => rate(value)),
  ];
  element("charts").replaceChildren(...parts);
}

function chart(title, values, className, shown) {
  const [width, height, count] = [300, 90, 60];
  const known = values.filter(value => value !== null);
  const highest = Math.max(...known, 0);
  const last = known.length ? known[known.length - 1] : 0;
  const x = index => 4 + (index + count - values.length) * (width - 8) / (count - 1);
  const y = value => height - 6 - (highest > 0 ? value / highest : 0) * (height - 24);
  let path = "", isDown = false;
  values.forEach((value, index) => {
    if (value === null) { isDown = false; return; }
    path += `${isDown ? "L" : "M"}${x(index).toFixed(1)} ${y(value).toFixed(1)}`;
    if (!isDown) path += "h0.1";
    isDown = true;
  });
  const label = `${title}: now ${shown(last)}, at most ${shown(highest)}`;
  return make("figure", {},
    make("figcaption", {}, label),
    draw("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label },
      draw("line", { class: "axis", x1: 4, x2: width - 4, y1: height - 6, y2: height - 6 }),
      draw("text", { class: "small", x: 4, y: 12 }, shown(highest)),
      draw("path", { class: `curve ${className}`, d: path })));
}

// MARK: - Tables

function showPlugins(plugins) {
  replace(element("plugins"), plugins, plugin => {
    const state = plugin.stalled > 0 ? `${plugin.stalled} stalled` : plugin.isCircuitOpen ? "circuit open" : "ok";
    return make("tr", {},
      make("th", { scope: "row" }, plain(plugin.plugin)), cell(plugin.use ?? "\u2013"), cell(rate(plugin.rate)),
      cell(duration(plugin.p50Seconds)), cell(duration(plugin.p99Seconds)), cell(plugin.outcomes.handled),
      cell(plugin.outcomes.failed + plugin.outcomes.rejected), cell(plugin.running), cell(plugin.waiting),
      cell(state, state === "ok" ? "" : "failed"));
  });
}

function takeActions(live) {
  // A program that was started again counts from the beginning.
  if (live.next < next) [rows, skipped] = [[], null];
  next = live.next;
  if (skipped !== null && live.skipped > skipped) {
    element("sampled").textContent = `A sample: ${live.skipped - skipped} actions were left out in the last second.`;
  } else if (live.actions.length) {
    element("sampled").textContent = "";
  }
  skipped = live.skipped;
  rows = [...live.actions.reverse(), ...rows].slice(0, rowLimit);
}

function showActions() {
  const wanted = filter.toLowerCase();
  const found = wanted ? rows.filter(row => JSON.stringify(row).toLowerCase().includes(wanted)) : rows;
  replace(element("actions"), found, row => {
    const from = row.topic ?? row.peer ?? row.host ?? row.scheme ?? row.principal ?? "";
    const detail = row.reason ? `${row.reason}: ${row.detail ?? ""}` : row.isDuplicate ? "duplicate" : "";
    return make("tr", {},
      cell(row.receivedAt.slice(11, 23)), cell(row.source), cell(row.action ?? "(unreadable)"), cell(row.id ?? "", "id"), cell(from),
      cell(row.outcome, row.outcome), cell(duration(row.seconds)), cell(detail, "why"));
  });
}

function setFilter(text) {
  filter = text;
  element("filter").value = text;
  showActions();
}

function showLetters(live) {
  const { total, stored, fullness } = live.status.deadLetters;
  const room = stored === undefined ? "" : `, ${stored} in the store, ${Math.round((fullness ?? 0) * 100)} % of its room`;
  element("letter-count").textContent = `${total} since the start${room}.`;
  element("export").disabled = stored === undefined;
  replace(element("letters"), live.letters.map(letter => ({ ...letter, canReplay: live.canReplay })), letter => {
    const stages = make("details", {}, make("summary", {}, `${letter.steps.length} stages`),
      make("ul", {}, ...letter.steps.map(step => make("li", {}, plain(`${step.stage}: ${step.passes ? "passes" : "stops"}, ${step.detail}`)))));
    const button = letter.number === undefined ? "\u2013" : make("button", { type: "button", "aria-label": `Replay dead letter ${letter.number}` },
      letter.isToBeReplayed ? "Waits" : "Replay");
    if (button instanceof Element) {
      button.disabled = !letter.canReplay || letter.isToBeReplayed === true;
      button.addEventListener("click", () => replay(letter.number, button));
    }
    return make("tr", {},
      cell(letter.at.slice(11, 19)), cell(letter.source), cell(letter.action ?? "(unreadable)"), cell(`${letter.reason}: ${letter.detail}`, "why"),
      cell(letter.attempts), make("td", { class: "why" }, stages), make("td", {}, button));
  });
}

async function replay(number, button) {
  button.disabled = true;
  const isAsked = await tell(element("letter-result"), "replay", { number }, () => `Dead letter ${number} will be replayed.`);
  button.disabled = isAsked;
}

async function tell(output, path, body, text) {
  try {
    output.textContent = text(await ask(path, body));
    return true;
  } catch (error) {
    output.textContent = plain(error.message);
    return false;
  }
}

// MARK: - Forms

function showChoices(live) {
  const names = live.status.sources.filter(source => !["internal", "removed"].includes(source.kind)).map(source => source.source);
  replace(element("explain-source"), ["", ...names], name => make("option", { value: name }, plain(name || "(any that fits)")));
  replace(element("send-actions"), live.status.plugins.filter(plugin => plugin.use).map(plugin => plugin.plugin), name => make("option", { value: name }));
  element("send-section").hidden = live.isReadOnly;
}

const value = id => element(id).value.trim() || undefined;

async function explain(event) {
  event.preventDefault();
  const asked = {
    source: value("explain-source"), url: value("explain-url"), topic: value("explain-topic"), path: value("explain-path"),
    body: element("explain-body").value,
  };
  let result;
  try { result = await ask("explain", asked); } catch (error) { result = { error: error.message }; }
  const list = element("explanations");
  list.prepend(explanation(asked, result));
  while (list.childElementCount > 10) list.lastChild.remove();
}

function explanation(asked, result) {
  const title = asked.url ?? (asked.body || "(empty)");
  const node = make("div", { class: "explanation" }, make("strong", {}, plain(title.slice(0, 200))));
  if (result.error) {
    node.append(make("p", { class: "error" }, plain(result.error)));
    return node;
  }
  const { code, detail } = result.verdict ?? {};
  const message = [result.source, result.action].filter(Boolean).join("/");
  node.append(make("p", { class: code === "called" ? "handled" : "error" }, plain(`${message}: ${code}${detail ? `, ${detail}` : ""}`)));
  node.append(make("ol", {}, ...(result.steps ?? []).map(step =>
    make("li", {}, plain(`${step.stage}: ${step.passes ? "passes" : "stops"}, ${step.detail}`)))));
  if (result.navigation) {
    const { policy, decider, reason, trace } = result.navigation;
    node.append(make("p", {}, plain(`Navigation: ${policy}, decided by ${decider}: ${reason}`)));
    node.append(make("ol", {}, ...trace.map(step =>
      make("li", {}, plain([step.handler, step.answer, step.policy, step.reason].filter(Boolean).join(": "))))));
  }
  return node;
}

async function send(event) {
  event.preventDefault();
  const asked = { action: value("send-action"), id: value("send-id"), body: element("send-body").value };
  await tell(element("send-result"), "send", asked, result => plain(JSON.stringify(result)));
}

async function showConfiguration() {
  try {
    const result = await ask("configuration");
    element("configuration-file").textContent = plain(`${result.file}: ${result.findings.length} findings`);
    element("findings").replaceChildren(...result.findings.map(finding =>
      make("li", { class: finding.severity === "error" ? "error" : "rejected" },
        plain(`${finding.line}:${finding.column} ${finding.severity} [${finding.code}] ${finding.key}: ${finding.problem}`))));
    const marked = new Map(result.findings.map(finding => [finding.line, finding.severity]));
    element("configuration").replaceChildren(...result.lines.map((line, index) =>
      make("span", marked.has(index + 1) ? { class: marked.get(index + 1) } : {}, plain(line.replaceAll("\t", "  ")) || "\u00a0")));
    element("configuration").hidden = false;
  } catch (error) {
    element("configuration-file").textContent = plain(error.message);
  }
}

async function exportLetters() {
  try {
    const blob = await ask("export");
    const link = make("a", { download: "dead-letters.jsonl" });
    link.href = URL.createObjectURL(blob);
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
    element("letter-result").textContent = `Exported ${blob.size} bytes.`;
  } catch (error) {
    element("letter-result").textContent = plain(error.message);
  }
}

// MARK: - Start

element("login").addEventListener("submit", event => {
  event.preventDefault();
  const text = element("token").value;
  element("token").value = "";
  connect(text);
});
element("leave").addEventListener("click", () => leave());
element("pause").addEventListener("click", () => {
  isPaused = !isPaused;
  element("pause").setAttribute("aria-pressed", String(isPaused));
  element("pause").textContent = isPaused ? "Continue" : "Pause";
  if (!isPaused && lastLive) show({ ...lastLive, actions: [] });
});
element("filter").addEventListener("input", event => setFilter(event.target.value));
element("explain").addEventListener("submit", explain);
element("send").addEventListener("submit", send);
element("export").addEventListener("click", exportLetters);
element("show-configuration").addEventListener("click", showConfiguration);

/** Returns the token after '#', which is not sent to the program, and removes it, so that no history keeps it. */
function givenToken() {
  const given = new URLSearchParams(location.hash.slice(1)).get("token");
  if (given) history.replaceState(null, "", location.pathname);
  return given;
}

addEventListener("hashchange", () => {
  const given = givenToken();
  if (given) connect(given);
});
const known = givenToken() ?? sessionStorage.getItem(tokenKey);
if (known) connect(known); else element("token").focus();
