// The page: its controls, its state in the address, and what is drawn when something moves.
const $ = (id) => document.getElementById(id);
const node = (tag, attributes = {}, ...children) => {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "class") made.className = value;
    else if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
};
const formula = (id, fallback) => {
  const template = document.getElementById(id);
  return template ? template.content.cloneNode(true) : document.createTextNode(fallback);
};

for (const theorem of DATA.theorems) {
  theorem.symbol = Object.fromEntries(theorem.symbols.map((s) => [s.name, s]));
  theorem.statement = Object.fromEntries(theorem.statements.map((s) => [s.label, s]));
  for (const s of theorem.statements) s.at = Object.fromEntries(s.symbols.map((name, i) => [name, i]));
}
const LEVEL = { refuted: "bad", proved: "good", derived: "good" }; // of a badge; any other one warns

const state = { theorem: DATA.theorems[0], label: "", texts: {}, preset: 0, over: "", x: "", y: "", rivals: null };
const statementNow = () => state.theorem.statement[state.label];

// --- values ----------------------------------------------------------------------------------------------------------

// Numbers of the symbols; a scheduled one that nobody set is left out and follows.
const numbersFor = (theorem, statement, texts) => {
  const known = {};
  for (const symbol of theorem.symbols) {
    const text = texts[symbol.name];
    if (text !== undefined) known[symbol.name] = read(text);
    else if (!statement.order.includes(symbol.name)) known[symbol.name] = read(theorem.values[symbol.name]);
  }
  return known;
};
const textsOf = (theorem, preset) => {
  const texts = { ...theorem.values, ...(theorem.presets[preset] ? theorem.presets[preset].values : {}) };
  const scheduled = new Set(theorem.statements.flatMap((s) => s.order));
  for (const name of scheduled) if (!theorem.presets[preset] || theorem.presets[preset].values[name] === undefined) delete texts[name];
  return texts;
};

// --- choosing --------------------------------------------------------------------------------------------------------

const option = (value, text, selected) => { const made = node("option", { value }, text); made.selected = selected; return made; };
const fillChoice = () => {
  const theorem = state.theorem;
  $("theorem").replaceChildren(...DATA.theorems.map((t, i) => option(String(i), `${t.id} — ${t.title}`, t === theorem)));
  const radios = theorem.statements.map((s) => {
    const input = node("input", { type: "radio", name: "statement", value: s.label, onchange: () => { state.label = s.label; buildInputs(); changed(); } });
    input.checked = s.label === state.label;
    return node("label", {}, input, ` ${s.label} `, badge(s.status));
  });
  const legend = $("statement").querySelector("legend");
  $("statement").replaceChildren(legend, ...radios);
  const presets = theorem.presets.map((p, i) => option(String(i), `${p.name}${p.measured.length ? " · measured" : ""}`, i === state.preset));
  $("preset").replaceChildren(...(presets.length ? presets : [option("0", "constants 1, noise 1/10", true)]));
  const preset = theorem.presets[state.preset];
  $("about").replaceChildren(`${theorem.source}. It bounds `, formula(`b-${theorem.number}`, theorem.metric.name), theorem.metric.meaning ? `: ${theorem.metric.meaning}.` : ".", ...(preset ? [` Preset: ${preset.why}.`] : []));
  $("assumptions").replaceChildren(...theorem.assumptions.map((a) => node("li", {}, node("strong", {}, a.name), `: ${a.text}`)));
  const names = theorem.symbols.map((s) => s.name);
  fillNames("over", names, state.over);
  fillRivals();
};
const fillNames = (id, names, chosen) => $(id).replaceChildren(...names.map((name) => option(name, `${name}: ${state.theorem.symbol[name].meaning}`, name === chosen)));
const fillAxes = () => { // the two hyperparameters of the picture are among those of the statement
  const statement = statementNow(), names = hypers(state.theorem).filter((s) => !s.steps && s.name in statement.at).map((s) => s.name);
  if (!names.includes(state.x) || !names.includes(state.y)) [state.x, state.y] = statement.axes;
  fillNames("region-x", names, state.x);
  fillNames("region-y", names, state.y);
  $("region").closest("section").hidden = names.length < 2 || !statement.conditions.length;
};
const badge = (status) => { const [sign, word] = DATA.outcomes[status]; return node("span", { class: `badge ${LEVEL[status] || "warn"}` }, `${sign} ${word}`); };
const hypers = (theorem) => theorem.symbols.filter((s) => s.role === "hyperparameter");

const choose = (theorem, { label, preset = 0, texts, over, x, y, rivals } = {}) => {
  const is = (name) => name !== undefined && theorem.symbol[name] !== undefined;
  Object.assign(state, {
    theorem, label: theorem.statement[label] ? label : theorem.default,
    preset: theorem.presets[preset] ? preset : 0,
    over: is(over) ? over : theorem.horizon || theorem.symbols[0].name,
    x, y,
    rivals: rivals || usualRivals(theorem),
  });
  state.texts = { ...textsOf(theorem, state.preset), ...(texts || {}) };
  for (const name of Object.keys(state.texts)) if (!is(name)) delete state.texts[name];
  for (const [name, text] of Object.entries(state.texts)) if (text === "" || (texts && name in texts && complaint(theorem.symbol[name], text))) state.texts[name] = theorem.values[name];
  if (texts) for (const [name, text] of Object.entries(texts)) if (text === "") delete state.texts[name];
  fillChoice();
  buildInputs();
};

// --- inputs ----------------------------------------------------------------------------------------------------------

const rowOf = {};
const wide = matchMedia("(min-width: 900px)"); // beside the results; below that only the first group is open at first
const buildInputs = () => {
  const theorem = state.theorem, statement = statementNow();
  const groups = [["Hyperparameters", (s) => s.role === "hyperparameter"], ["Constants of the problem", (s) => s.role === "constant"], ["Measured along a run", (s) => s.role === "observable"]];
  const made = [];
  for (const name of Object.keys(rowOf)) delete rowOf[name];
  for (const [title, wanted] of groups) {
    const symbols = theorem.symbols.filter((s) => wanted(s) && s.name in statement.at);
    if (!symbols.length) continue;
    const group = node("details", { class: "group" }, node("summary", {}, `${title} (${symbols.length})`), ...symbols.map(inputRow));
    group.open = wide.matches || !made.length;
    made.push(group);
  }
  const idle = theorem.symbols.filter((s) => !(s.name in statement.at));
  if (idle.length) made.push(node("p", { class: "hint" }, `Not in this statement: ${idle.map((s) => s.name).join(", ")}.`));
  $("inputs").replaceChildren(...made);
  fillAxes();
};
const inputRow = (symbol) => {
  const scheduled = statementNow().order.includes(symbol.name);
  const id = `in-${symbol.name}`;
  const range = node("input", { type: "range", min: "0", max: String(SLIDER_STEPS), step: "1", "aria-label": `${symbol.name}: ${symbol.meaning}`,
    oninput: () => { state.texts[symbol.name] = atPosition(symbol, Number(range.value)); text.value = state.texts[symbol.name]; mark(""); changed(); } });
  const text = node("input", { type: "text", id, inputmode: "decimal", autocomplete: "off", spellcheck: "false", "aria-describedby": `${id}-foot`,
    oninput: () => { const wrong = complaint(symbol, text.value); mark(wrong); if (!wrong) { state.texts[symbol.name] = text.value.trim(); changed(); } } });
  const wrong = node("div", { class: "wrong", role: "alert" });
  const mark = (message) => { wrong.textContent = message ? `${symbol.name}: ${message}` : ""; text.setAttribute("aria-invalid", message ? "true" : "false"); };
  const foot = node("div", { class: "foot", id: `${id}-foot` }, node("span", {}, `${symbol.zero && !symbol.steps ? "0, or " : ""}${show(symbol.low)} to ${show(symbol.high)}${symbol.whole ? ", whole" : ""}`));
  let follow = null;
  if (scheduled) {
    follow = node("input", { type: "checkbox", id: `${id}-follow`, onchange: () => {
      if (follow.checked) delete state.texts[symbol.name]; else state.texts[symbol.name] = show(evaluate(statementNow(), known()).point.get(symbol.name), 6);
      changed();
    } });
    foot.append(node("label", {}, follow, " follows its schedule"));
  }
  rowOf[symbol.name] = { symbol, range, text, follow };
  return node("div", { class: "symbol" },
    node("div", { class: "head" }, node("label", { class: "meaning", for: id }, formula(`m-${state.theorem.number}-${state.theorem.symbols.indexOf(symbol)}`, symbol.name), ` ${symbol.name} — ${symbol.meaning}`), node("span", { class: "unit" }, unit(symbol.unit))),
    node("div", { class: "row" }, range, text), foot, wrong);
};
const known = () => numbersFor(state.theorem, statementNow(), state.texts);

const syncInputs = (found) => {
  for (const { symbol, range, text, follow } of Object.values(rowOf)) {
    const value = found.point.get(symbol.name), follows = follow && state.texts[symbol.name] === undefined;
    if (follow) follow.checked = follows;
    const shown = follows ? show(value, 6) : state.texts[symbol.name] || "";
    if (document.activeElement !== text && text.getAttribute("aria-invalid") !== "true") text.value = shown;
    if (document.activeElement !== range) range.value = String(position(symbol, value));
    range.setAttribute("aria-valuetext", shown);
  }
};

// --- drawing ---------------------------------------------------------------------------------------------------------

const number = (value) => node("td", { class: "number" }, show(value));
const unit = (text) => (text === "1" ? "no unit" : text.replace(/\^(-?\d+)/g, (_, n) => superscript(n)));
const plain = (name) => name.replaceAll("_", " ");
const swatch = (i) => node("span", { class: "swatch", style: `background:${hue(i)}` }, String(i + 1));

const sentence = (text) => `${text[0].toUpperCase()}${text.slice(1)}.`;
const statusText = ({ status, word, why }) => { // what the status means, and what shows it where that says more
  const [, , meaning] = DATA.outcomes[status];
  if (why.startsWith(meaning)) return sentence(why);
  return sentence(meaning) + (status === "refuted" ? "" : ` ${word}: ${why}`);
};
const drawStatus = () => {
  const statement = statementNow(), box = $("status");
  box.className = statement.status;
  const better = state.theorem.statement.corrected;
  const children = [node("p", {}, badge(statement.status), ` ${statusText(statement)}`)];
  if (statement.note) children.push(node("p", {}, `Note: ${statement.note}`));
  const check = ({ command, about }) => node("div", {}, ...(about ? [node("p", {}, about)] : []), node("p", { class: "command" }, node("code", {}, command), node("button", { type: "button", onclick: () => copy("the command", command) }, "Copy")));
  const [first, ...more] = statement.checks;
  if (first) children.push(check(first));
  if (more.length) children.push(node("details", {}, node("summary", {}, `${more.length} more exact instances`), ...more.map(check)));
  if (["refuted", "reading", "slip"].includes(statement.status) && better && statement !== better) {
    children.push(node("p", {}, node("button", { type: "button", onclick: () => { state.label = "corrected"; fillChoice(); buildInputs(); changed(); } }, "Show the corrected statement")));
  }
  box.replaceChildren(...children);
};

// Tables of one statement: rows with their formulas are built when it is chosen, their numbers set when something moves.
let cells = {};
const buildTables = () => {
  const statement = statementNow(), cell = () => node("td", { class: "number" });
  const set = (id, made) => { $(id).tBodies[0].replaceChildren(...made.flatMap((m) => m.rows)); return made; };
  const typeset = (id, fallback, columns, ...more) => node("tr", { class: "below" }, node("td", { colspan: String(columns) }, node("span", { class: "formula" }, formula(id, fallback)), ...more));
  const hints = (...texts) => texts.filter(Boolean).map((text) => node("span", { class: "hint" }, ` — ${text}`));
  cells.terms = set("terms", statement.terms.map((term, i) => {
    const value = cell(), share = document.createTextNode(""), meter = node("span", { class: "meter", style: `background:${hue(i)}` });
    return { value, share, meter, rows: [node("tr", {}, node("th", { scope: "row" }, swatch(i), plain(term.name)), value, node("td", {}, share, meter)), typeset(`t-${statement.key}-${i}`, term.name, 3, ...hints(term.needed))] };
  }));
  cells.derived = set("derived", statement.derived.map((d, i) => {
    const value = cell();
    return { value, rows: [node("tr", {}, node("th", { scope: "row" }, d.name, d.meaning ? ` — ${d.meaning}` : ""), value), typeset(`d-${statement.key}-${i}`, d.name, 2)] };
  }));
  cells.conditions = set("conditions", statement.conditions.map((c, i) => {
    const sides = node("span", { class: "hint" }), is = node("span"), room = node("td");
    return { sides, is, room, rows: [node("tr", {}, node("th", { scope: "row" }, plain(c.name)), node("td", {}, is), room),
      typeset(`c-${statement.key}-${i}`, c.relation, 3, sides, ...hints(c.note, c.needed))] };
  }));
  $("terms").hidden = !statement.terms.length;
  $("derived").parentElement.hidden = !statement.derived.length;
  $("conditions").closest("section").hidden = !statement.conditions.length;
  $("now").replaceChildren(`${state.theorem.id} (${state.label}) ≤ `, node("strong", { id: "now-total" }), " ", node("span", { id: "now-outcome" }), " ", badge(statement.status));
  $("now").hidden = !statement.terms.length;
};
// A formula that is wider than its cell can be scrolled with the keyboard too.
const scrollable = () => {
  for (const each of document.querySelectorAll(".formula")) {
    if (each.scrollWidth > each.clientWidth) { each.tabIndex = 0; each.setAttribute("role", "group"); each.setAttribute("aria-label", "formula"); } else each.removeAttribute("tabindex");
  }
};
const verdict = (element, good, yes, no) => { element.className = `badge ${good ? "good" : "bad"}`; element.textContent = good ? `✓ ${yes}` : `✗ ${no}`; };

const drawBound = (found) => {
  const statement = statementNow(), failing = statement.conditions.filter((_, i) => !found.conditions[i].holds).map((c) => plain(c.name));
  const outcome = node("span");
  const wrong = [failing.length && `not admissible: ${failing.join(", ")}`, found.without.length && `no finite value: ${found.without.map(plain).join(", ")}`].filter(Boolean).join("; ");
  verdict(outcome, found.admissible, "admissible", wrong);
  $("value").replaceChildren(
    ...(statement.terms.length ? [formula(`b-${state.theorem.number}`, state.theorem.metric.name), " ≤ ", node("span", { class: "total", id: "total" }, show(found.total)), " ", node("span", { class: "unit" }, unit(state.theorem.metric.unit)), " "] : ["This statement only defines constants. "]), outcome);
  drawWorth(found);
  $("now-total").textContent = show(found.total);
  verdict($("now-outcome"), found.admissible, "admissible", failing.length ? "not admissible" : "no finite value");
  cells.terms.forEach(({ value, share, meter }, i) => {
    const percent = (100 * found.terms[i]) / found.total;
    value.textContent = show(found.terms[i]);
    share.data = Number.isFinite(percent) ? `${show(percent, 3)}% ` : "";
    meter.style.width = `${Math.max(0, Math.min(100, percent || 0)) * 0.7}px`;
  });
  cells.derived.forEach(({ value }, i) => { value.textContent = show(found.derived[i]); });
};

// Whether the bound says more than what holds without running, and which constants are estimates.
const drawWorth = (found) => {
  const statement = statementNow(), preset = state.theorem.presets[state.preset];
  const isAsPreset = preset && preset.of_problem.every((name) => state.texts[name] === preset.values[name]);
  const limit = Number.isFinite(found.total) ? withoutRunning(statement, found.point, preset, isAsPreset) : null;
  const estimated = preset ? preset.estimated.filter((name) => name in statement.at && state.texts[name] === preset.values[name]) : [];
  const words = [];
  if (limit) {
    const what = `${show(limit.value)}${limit.formula ? ` = ${limit.formula}` : ""} (${limit.by})`;
    words.push(found.total >= limit.value ? `Vacuous: not below what holds without running, ${what}.` : `Below what holds without running, ${what}.`);
  }
  if (estimated.length) words.push(`Rests on estimates: ${estimated.join(", ")}.`);
  $("worth").textContent = words.join(" ");
  $("worth").className = limit && found.total >= limit.value ? "vacuous" : "hint";
};

const SIGNS = { "<": "<", "<=": "≤", ">": ">", ">=": "≥", "==": "=" };
const drawConditions = (found) => {
  cells.conditions.forEach(({ sides, is, room }, i) => {
    const { relation } = statementNow().conditions[i], at = found.conditions[i];
    const ratio = relation === ">" || relation === ">=" ? at.left / at.right : at.right / at.left;
    sides.textContent = `here ${show(at.left)} ${at.holds ? SIGNS[relation] : "against"} ${show(at.right)}`;
    verdict(is, at.holds, "holds", "fails");
    if (relation === "==") room.textContent = at.holds ? "equal" : `differs by ${show(Math.abs(at.left - at.right), 3)}`;
    else if (!Number.isFinite(ratio)) room.textContent = "no limit";
    else room.textContent = at.holds ? `a factor ${show(ratio, 3)}` : `too far by a factor ${show(1 / ratio, 3)}`;
  });
};

const axisRange = (symbol, value) => {
  if (symbol.steps) return [0, symbol.high, true];
  const middle = value > 0 ? value : 1, low = 10 ** Math.floor(Math.log10(middle) - 2.5), high = 10 ** Math.ceil(Math.log10(middle) + 2.5);
  return symbol.whole ? [1, Math.max(high, 1000)] : [low, high];
};
const CURVE_POINTS = 121;
const curveGrid = (symbol, range) => {
  if (range[2]) return Array.from({ length: range[1] + 1 }, (_, i) => i);
  const xs = logGrid(range[0], range[1], CURVE_POINTS);
  return symbol.whole ? [...new Set(xs.map(Math.round))] : xs;
};

const drawCurves = (found, now) => {
  const theorem = state.theorem, statement = statementNow(), symbol = theorem.symbol[state.over];
  if (!statement.terms.length) { $("curve").closest("section").hidden = true; return; }
  $("curve").closest("section").hidden = false;
  const value = found.point.get(symbol.name) ?? read(theorem.values[symbol.name]);
  const range = axisRange(symbol, value), xs = curveGrid(symbol, range);
  const mine = along(statement, now, symbol.name, xs);
  const others = theorem.statements.filter((s) => s !== statement && s.terms.length).map((s) => ({ s, rows: along(s, numbersFor(theorem, s, state.texts), symbol.name, xs) }));
  const preset = theorem.presets[state.preset], measured = preset && symbol.name === theorem.horizon ? preset.measured : [];
  const box = padded(span([...mine.map((r) => r.total), ...others.flatMap((o) => o.rows.map((r) => r.total)), ...measured.map((m) => m.mean)]));
  const low = Math.max(box[0], box[1] / 1e14);
  const axes = new Axes($("curve"), { xs: range, ys: [low, box[1]], height: 300, right: 84, title: `${theorem.metric.name} against ${symbol.name}, logarithmic: the ${statement.label} bound is ${show(found.total)} at ${symbol.name} = ${show(value)}` });
  axes.frame(`${symbol.name}: ${symbol.meaning}`, "bound");
  outside(axes, mine);
  const ends = [];
  axes.add("path", { d: axes.path(mine.map((r) => [r.x, r.total])), fill: "none", stroke: hue(0), "stroke-width": 3 });
  others.forEach(({ s, rows }, i) => {
    axes.add("path", { d: axes.path(rows.map((r) => [r.x, r.total])), fill: "none", stroke: hue(i + 1), "stroke-width": 1.8, "stroke-dasharray": DASHES[i + 1] });
    ends.push({ y: rows[rows.length - 1].total, text: s.label, color: hue(i + 1) });
  });
  ends.push({ y: mine[mine.length - 1].total, text: statement.label, color: hue(0) });
  for (const point of measured) {
    if (!(point.mean > 0)) continue;
    const x = axes.x(point.at), y = axes.y(point.mean);
    if (point.bracket) axes.add("path", { d: `M${x} ${axes.y(Math.max(point.bracket[0], low))}V${axes.y(Math.max(point.bracket[1], low))}`, stroke: "var(--ink)", "stroke-width": 1.5 });
    axes.add("path", { d: `M${x - 5} ${y}L${x} ${y - 5}L${x + 5} ${y}L${x} ${y + 5}Z`, fill: "var(--ink)", class: "measured" });
  }
  axes.marker(value, `${symbol.name} = ${show(value)}`);
  endLabels(axes, ends);
  const words = ["The thick line is the statement shown; the dashed lines are the others at the same values."];
  if (mine.some((r) => !r.inside)) words.push("Striped: a condition of the shown statement fails.");
  if (measured.length) words.push("Diamonds: means measured on this preset's problem, with their brackets.");
  $("curve-words").textContent = words.join(" ");
  drawShares(mine, symbol, range, value);
};
const drawShares = (rows, symbol, range, value) => {
  const statement = statementNow();
  const axes = new Axes($("shares"), { xs: range, ys: [0, 1, true], height: 190, right: 84, title: `Share of each term along ${symbol.name}: ${statement.terms.map((t, i) => `${i + 1} ${t.name}`).join(", ")}` });
  const good = rows.filter((r) => Number.isFinite(r.total) && r.total > 0 && r.terms.every((t) => t >= 0));
  let base = good.map(() => 0);
  statement.terms.forEach((term, i) => {
    const top = good.map((r, k) => base[k] + r.terms[i] / r.total);
    const over = good.map((r, k) => `${axes.x(r.x).toFixed(1)} ${axes.y(top[k]).toFixed(1)}`), under = good.map((r, k) => `${axes.x(r.x).toFixed(1)} ${axes.y(base[k]).toFixed(1)}`);
    if (good.length > 1) axes.add("path", { d: `M${over.join("L")}L${under.reverse().join("L")}Z`, fill: hue(i), stroke: "var(--panel)", "stroke-width": 1 });
    let widest = -1, size = 0;
    good.forEach((r, k) => { const inner = k > 2 && k < good.length - 3; if (inner && top[k] - base[k] > size) { size = top[k] - base[k]; widest = k; } });
    if (size > 0.1) axes.root.append(label(axes.x(good[widest].x), axes.y((top[widest] + base[widest]) / 2) + 4, String(i + 1), { class: "band", "text-anchor": "middle" }));
    base = top;
  });
  axes.frame(`${symbol.name}: ${symbol.meaning}`, "share");
  axes.marker(value, "");
};

const wordsOf = (piece) => {
  if (piece.low === piece.high) return `exactly ${show(piece.low, 6)}`;
  return `${piece.lowClosed ? "[" : "("}${show(piece.low, 5)}, ${show(piece.high, 5)}${piece.highClosed ? "]" : ")"}`;
};
const drawIntervals = (found, now) => {
  const statement = statementNow();
  const rows = hypers(state.theorem).filter((s) => s.name in statement.at).map((symbol) => {
    const value = found.point.get(symbol.name), pieces = intervals(statement, now, symbol);
    const inside = pieces.some((p) => value >= p.low * (1 - 1e-12) && value <= p.high * (1 + 1e-12));
    const place = (x) => symbol.steps ? x / symbol.high : x > 0 ? Math.log(x / symbol.low) / Math.log(symbol.high / symbol.low) : 0;
    const at = (x) => 100 * Math.min(1, Math.max(0, place(x)));
    const track = node("div", { class: "track", "aria-hidden": "true", style: "position:relative;height:1.1rem;background:var(--back);border:1px solid var(--line);border-radius:3px;margin:.25rem 0" });
    for (const p of pieces) track.append(node("span", { style: `position:absolute;top:0;bottom:0;left:${at(p.low)}%;width:${Math.max(0.6, at(p.high) - at(p.low))}%;background:var(--inside)` }));
    track.append(node("span", { style: `position:absolute;top:-3px;bottom:-3px;width:3px;left:calc(${at(value)}% - 1px);background:var(--ink)` }));
    const binds = pieces.map((p) => [p.lowBinds && `below: ${p.lowBinds}`, p.highBinds && `above: ${p.highBinds}`].filter(Boolean).join("; ")).filter(Boolean).join(" · ");
    return node("div", { class: "interval", "data-symbol": symbol.name },
      node("div", { class: "words" }, node("strong", {}, symbol.name), node("span", { class: "number" }, pieces.length ? pieces.map(wordsOf).join(" or ") : "no admissible value on the grid"),
        node("span", { class: `badge ${inside ? "good" : "bad"}` }, `${inside ? "✓" : "✗"} ${show(value)}`), node("span", { class: "hint" }, binds ? `bound ${plain(binds)}` : pieces.length ? "no condition limits it" : "no value of the grid satisfies all conditions; fedco admissible decides it exactly")),
      track);
  });
  $("intervals").replaceChildren(...(rows.length ? rows : ["This statement has no hyperparameters."]));
};

const COLUMNS = 64, ROWS = 48;
const drawRegion = (found, now) => {
  const theorem = state.theorem, statement = statementNow();
  if ($("region").closest("section").hidden) return;
  if (state.x === state.y) {
    $("region").replaceChildren();
    $("region-words").textContent = "Choose two different hyperparameters.";
    return;
  }
  const names = [state.x, state.y], symbols = names.map((name) => theorem.symbol[name]);
  const values = names.map((name) => found.point.get(name));
  const windows = symbols.map((s, k) => {
    const middle = values[k] > 0 ? values[k] : 1, low = middle / 10 ** 2.5, high = middle * 10 ** 2.5;
    return s.whole ? [1, Math.max(high, 300)] : [low, high];
  });
  const [xs, ys] = windows.map(([low, high], k) => logGrid(low, high, k ? ROWS : COLUMNS));
  const layers = field(statement, now, names, xs, ys);
  const worst = new Float64Array(xs.length * ys.length).fill(-Infinity);
  layers.forEach((layer, i) => { if (statement.conditions[i].relation !== "==" && layer.some((v) => !(v <= 0))) layer.forEach((v, k) => { const w = Number.isNaN(v) ? 1e3 : v; if (w > worst[k]) worst[k] = w; }); });
  const axes = new Axes($("region"), { xs: windows[0], ys: windows[1], height: 330, title: `Admissible set of ${names[0]} and ${names[1]}` });
  const wide = axes.width - axes.left - axes.right, tall = axes.height - axes.top - axes.bottom;
  const px = (c) => (axes.left + (c / (COLUMNS - 1)) * wide).toFixed(1), py = (r) => (axes.height - axes.bottom - (r / (ROWS - 1)) * tall).toFixed(1);
  axes.add("path", { d: filled(worst, COLUMNS, ROWS, px, py), fill: "var(--inside)", class: "inside" });
  axes.frame(`${names[0]}: ${symbols[0].meaning}`, names[1]);
  const drawn = [];
  layers.forEach((layer, i) => {
    const lines = border(layer, COLUMNS, ROWS, px, py);
    if (!lines.length) return;
    const name = plain(statement.conditions[i].name), d = lines.map((line) => `M${line.join("L")}`).join("");
    axes.add("path", { d, class: "border", fill: "none", stroke: hue(drawn.length), "stroke-width": 2.2, "stroke-dasharray": DASHES[drawn.length % DASHES.length] });
    const [x, y] = lines[0][Math.floor(lines[0].length * (0.35 + 0.3 * (drawn.length % 2)))].split(" ").map(Number);
    const anchor = x > axes.width * 0.6 ? "end" : "start";
    drawn.push({ name, x: x + (anchor === "end" ? -6 : 6), y, anchor, color: hue(drawn.length) });
  });
  drawn.sort((a, b) => a.y - b.y);
  drawn.forEach((each, i) => {
    if (i && each.y - drawn[i - 1].y < 15) each.y = drawn[i - 1].y + 15;
    axes.root.append(label(each.x, each.y + 4, each.name, { class: "halo", "text-anchor": each.anchor, style: `fill:${each.color};font-weight:600` }));
  });
  const [x, y] = [axes.x(values[0]), axes.y(values[1])];
  axes.add("circle", { cx: x, cy: y, r: 5.5, fill: "var(--ink)", stroke: "var(--panel)", "stroke-width": 2 });
  $("region-words").textContent = `Shaded: every condition holds. The dot is where you are: ${names[0]} = ${show(values[0])}, ${names[1]} = ${show(values[1])}. ` + (drawn.length ? `Borders: ${drawn.map((d) => d.name).join(", ")}.` : "No border in this window.");
};

const drawElasticities = (now) => {
  const rows = elasticities(state.theorem, statementNow(), now), most = Math.max(1, ...rows.map((r) => Math.abs(r.value)).filter(Number.isFinite));
  $("elasticities").closest("section").hidden = !rows.length;
  const bars = node("div", { class: "bars" });
  for (const { name, value } of rows) {
    const share = Number.isFinite(value) ? (50 * Math.abs(value)) / most : 0;
    bars.append(node("span", {}, name), node("div", { class: "track", "aria-hidden": "true" },
      node("span", { style: "left:50%;width:1px;background:var(--soft)" }),
      node("span", { style: `left:${value < 0 ? 50 - share : 50}%;width:${Math.max(share, 0.4)}%;background:${value < 0 ? hue(0) : hue(1)}` })),
    node("span", { class: "number" }, `${value > 0 ? "+" : ""}${show(Math.abs(value) < 5e-8 ? 0 : value, 3)}%`));
  }
  $("elasticities").replaceChildren(bars);
};

const drawStatements = () => {
  const theorem = state.theorem;
  $("statements").closest("section").hidden = theorem.statements.length < 2;
  const found = theorem.statements.map((s) => evaluate(s, numbersFor(theorem, s, state.texts)));
  const names = [...new Set(theorem.statements.flatMap((s) => s.terms.map((t) => t.name)))];
  const head = node("tr", {}, node("th", { scope: "col" }, "Term"), ...theorem.statements.map((s) => node("th", { scope: "col", class: "number" }, s.label, node("br"), badge(s.status))));
  const cell = (s, i, name) => { const k = s.terms.findIndex((t) => t.name === name); return k < 0 ? node("td", { class: "number" }, "—") : number(found[i].terms[k]); };
  const rows = names.map((name) => node("tr", {}, node("th", { scope: "row" }, plain(name)), ...theorem.statements.map((s, i) => cell(s, i, name))));
  const last = [["total", (f, s) => (s.terms.length ? show(f.total) : "—")], ["admissible", (f) => (f.admissible ? "✓ yes" : "✗ no")]];
  rows.push(...last.map(([title, text]) => node("tr", {}, node("th", { scope: "row" }, title), ...theorem.statements.map((s, i) => node("td", { class: "number" }, node("strong", {}, text(found[i], s)))))));
  $("statements").tHead.replaceChildren(head);
  $("statements").tBodies[0].replaceChildren(...rows);
  $("checks").replaceChildren(...theorem.statements.filter((s) => s.checks.length).map((s) => node("li", {}, `${s.label} ${s.status}: `, node("code", {}, s.checks[0].command))));
};

// --- several theorems ------------------------------------------------------------------------------------------------

const sameMetric = (a, b) => a.unit === b.unit && (a.name === b.name || !(a.own || b.own)); // as `fedco compare` has it
const comparable = (a, b) => a.horizon && b.horizon && sameMetric(a.metric, b.metric) && a.statement[a.default].terms.length > 0;
const usualRivals = (theorem) => { // those about the same kind of problem; all where there is no other
  const all = DATA.theorems.filter((t) => comparable(t, theorem)), same = all.filter((t) => t.problem === theorem.problem);
  return new Set((same.length > 1 ? same : all).map((t) => t.id));
};
const fillRivals = () => {
  const rivals = DATA.theorems.filter((t) => comparable(t, state.theorem));
  $("rivals").replaceChildren($("rivals").querySelector("legend"), ...rivals.map((t) => {
    const input = node("input", { type: "checkbox", onchange: () => { if (input.checked) state.rivals.add(t.id); else state.rivals.delete(t.id); changed(); } });
    input.checked = state.rivals.has(t.id);
    return node("label", { class: "rival" }, input, ` ${t.id} (${t.problem || "any problem"})`);
  }));
};
const PERIOD = "communication_period", ITERATIONS = "iterations", ROUNDS = "rounds", COMPARE_POINTS = 17, SLICE = 12;

// What the theorem on the page says of the shared quantities: its constants and the hyperparameters that are not tuned.
const sharedQuantities = (found) => {
  const quantities = {};
  for (const symbol of state.theorem.symbols) {
    const value = symbol.name in statementNow().at ? found.point.get(symbol.name) : read(state.texts[symbol.name] || state.theorem.values[symbol.name]);
    if (!symbol.tuned && Number.isFinite(value) && !(symbol.quantity in quantities)) quantities[symbol.quantity] = value;
  }
  if (quantities[ITERATIONS] === undefined && quantities[ROUNDS] !== undefined) quantities[ITERATIONS] = quantities[ROUNDS] * (quantities[PERIOD] || 1);
  return quantities;
};

// The best bound of a theorem at a number of iterations, on given quantities.
const rivalAt = (rival, quantities, iterations, start) => {
  const statement = rival.statement[rival.default];
  const { known: numbers, assumed } = translated(rival, statement, { ...quantities, [ITERATIONS]: iterations, [ROUNDS]: iterations / (quantities[PERIOD] || 1) });
  return { ...best(rival, statement, numbers, start), assumed };
};

let comparison = 0;
const startComparison = (found) => {
  const ticket = ++comparison, theorem = state.theorem;
  const rivals = DATA.theorems.filter((t) => state.rivals.has(t.id) && comparable(t, theorem));
  $("compare").closest("section").hidden = !comparable(theorem, theorem);
  if (!comparable(theorem, theorem)) return;
  const quantities = sharedQuantities(found), middle = quantities[ITERATIONS] || 1e4;
  const range = [Math.max(1, 10 ** Math.floor(Math.log10(middle) - 2)), 10 ** Math.ceil(Math.log10(middle) + 4)];
  const xs = logGrid(range[0], range[1], COMPARE_POINTS).map(Math.round);
  const lines = rivals.map((rival) => ({ rival, rows: [], assumed: [] }));
  let at = 0;
  const work = () => {
    if (ticket !== comparison) return;
    const began = performance.now();
    while (at < lines.length * xs.length && performance.now() - began < SLICE) {
      const line = lines[Math.floor(at / xs.length)], x = xs[at % xs.length], last = line.rows[line.rows.length - 1];
      const made = rivalAt(line.rival, quantities, x, last && Number.isFinite(last.bound) ? last.at : undefined);
      line.rows.push({ x, bound: made.bound, at: made.at });
      line.assumed = made.assumed;
      at++;
    }
    if (at < lines.length * xs.length) { $("compare-words").textContent = `Searching: ${Math.round((100 * at) / (lines.length * xs.length))}%`; setTimeout(work, 0); } else drawComparison(lines, range, middle);
  };
  setTimeout(work, 120);
};
const drawComparison = (lines, range, value) => {
  const box = padded(span(lines.flatMap((l) => l.rows.map((r) => r.bound))));
  const axes = new Axes($("compare"), { xs: range, ys: [Math.max(box[0], box[1] / 1e12), box[1]], height: 330, bottom: 66, right: 34, title: "The best bound of each theorem against the number of iterations" });
  axes.frame("iterations per client", "best bound");
  lines.forEach(({ rows }, i) => {
    axes.add("path", { d: axes.path(rows.map((r) => [r.x, r.bound])), fill: "none", stroke: hue(i), "stroke-width": 2.4, "stroke-dasharray": DASHES[i % DASHES.length] });
  });
  endLabels(axes, lines.map(({ rows }, i) => ({ y: rows[rows.length - 1].bound, text: String(i + 1), color: hue(i) })));
  const winners = lines.length ? lines[0].rows.map((_, k) => lines.reduce((w, l, i) => (l.rows[k].bound < (w < 0 ? Infinity : lines[w].rows[k].bound) ? i : w), -1)) : [];
  const strip = axes.height - axes.bottom + 24, edge = (k) => k <= 0 ? axes.left : k >= winners.length ? axes.width - axes.right : axes.x(Math.sqrt(lines[0].rows[k - 1].x * lines[0].rows[k].x));
  for (let k = 0, from = 0; k < winners.length; k++) {
    if (k + 1 < winners.length && winners[k + 1] === winners[k]) continue;
    if (winners[k] >= 0) {
      axes.add("rect", { x: edge(from), y: strip, width: Math.max(1, edge(k + 1) - edge(from) - 1), height: 15, fill: hue(winners[k]) });
      axes.root.append(label((edge(from) + edge(k + 1)) / 2, strip + 11.5, String(winners[k] + 1), { class: "band", "text-anchor": "middle" }));
    }
    from = k + 1;
  }
  axes.marker(value, "");
  const none = lines.filter((l) => !l.rows.some((r) => Number.isFinite(r.bound))).map((l) => l.rival.id);
  const legend = lines.map((l, i) => node("span", { class: "rival" }, swatch(i), `${l.rival.id} (${l.rival.default}, ${l.rival.problem || "any problem"})`));
  $("compare-words").replaceChildren(...(lines.length ? ["Each is what the search found: not certified to be the best. The strip below the axis names the least bound. ", ...legend.flatMap((l) => [l, " "])] : ["Choose a theorem."]), ...(none.length ? [`No admissible point found for ${none.join(", ")}.`] : []));
  $("assumed").replaceChildren(...lines.map((l) => node("li", {}, `${l.rival.id}: ${l.assumed.length ? l.assumed.join(", ") : "nothing"}`)));
};

// --- taking it along -------------------------------------------------------------------------------------------------

const settled = () => {
  const statement = statementNow();
  const { symbol, values, clients, weights } = state.theorem, valueOf = (name) => state.texts[name] ?? values[name];
  const given = statement.symbols.filter((name) => symbol[name].written && (state.texts[name] !== undefined || !statement.order.includes(name)));
  const count = valueOf(clients) ?? "2"; // any, where their number falls out of the statement
  return [...given.map((name) => [symbol[name].written, valueOf(name)]), ...weights.map((name) => [name, Number.isInteger(Number(count)) && Number(count) <= MAX_CLIENTS ? Array(Number(count)).fill(`1/${count}`) : `1/${count}`])];
};
const shellWord = (text) => (/^[A-Za-z0-9_.\/:=+-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);
const isFile = () => state.theorem.reference !== state.theorem.id;
const COPIES = {
  TOML: () => [`# ${state.theorem.id} (${state.label}): fedco bound ${shellWord(state.theorem.reference)} --statement ${state.label} --constants FILE.toml`.replaceAll("\n", " "), ...settled().map(([name, value]) => `${name} = ${JSON.stringify(value)}`)].join("\n") + "\n",
  "Shell command": () => [`fedco bound ${shellWord(state.theorem.reference)} --statement ${state.label}`, ...settled().map(([name, text]) => `--set ${name}=${text}`)].join(" \\\n  "),
  Python: () => {
    const load = isFile() ? `fedco.load(${JSON.stringify(state.theorem.reference)})` : `fedco.theorem(${JSON.stringify(state.theorem.id)})`;
    return `import fedco\n\nbound = ${load}.bound(\n    ${JSON.stringify(state.label)},\n    strict=False,\n${settled().map(([name, value]) => `    ${name}=${JSON.stringify(value)},\n`).join("")})\nprint(bound)\n`;
  },
  LaTeX: () => `${statementNow().latex}\n% at ${settled().map(([name, text]) => `${name} = ${text}`).join(", ")}\n`,
  Link: () => location.href,
};
const copy = async (what, text) => {
  $("copy-text").textContent = text;
  let done = false;
  try { await navigator.clipboard.writeText(text); done = true; } catch { done = false; }
  $("copied").textContent = done ? `✓ Copied: ${what}` : `Select and copy it below: ${what}`;
};

// --- the address -----------------------------------------------------------------------------------------------------

const writeAddress = () => {
  const start = textsOf(state.theorem, state.preset), parts = new URLSearchParams();
  parts.set("theorem", state.theorem.id);
  parts.set("statement", state.label);
  if (state.preset) parts.set("preset", String(state.preset));
  const names = new Set([...Object.keys(start), ...Object.keys(state.texts)]);
  const moved = [...names].filter((name) => start[name] !== state.texts[name]).map((name) => `${name}:${state.texts[name] ?? ""}`);
  if (moved.length) parts.set("set", moved.join(","));
  parts.set("over", state.over);
  parts.set("axes", [state.x, state.y].join(","));
  parts.set("with", [...state.rivals].join(","));
  history.replaceState(null, "", `#${parts}`);
};
const readAddress = () => {
  const parts = new URLSearchParams(location.hash.slice(1)), theorem = DATA.theorems.find((t) => t.id === parts.get("theorem")) || DATA.theorems[0];
  const texts = {};
  for (const item of (parts.get("set") || "").split(",")) { const [name, text] = item.split(":"); if (text !== undefined && theorem.symbol[name] && (text === "" || !complaint(theorem.symbol[name], text))) texts[name] = text; }
  const [x, y] = (parts.get("axes") || "").split(",");
  choose(theorem, { label: parts.get("statement"), preset: Number(parts.get("preset")) || 0, texts, over: parts.get("over") ?? undefined, x, y, rivals: parts.has("with") ? new Set(parts.get("with").split(",")) : undefined });
};

// --- everything, when something moves --------------------------------------------------------------------------------

let lastRedraw = 0;
const redraw = () => {
  const began = performance.now(), now = known(), found = evaluate(statementNow(), now);
  measureHosts();
  syncInputs(found);
  drawBound(found);
  drawConditions(found);
  drawCurves(found, now);
  drawIntervals(found, now);
  drawRegion(found, now);
  drawElasticities(now);
  drawStatements();
  document.body.getBoundingClientRect(); // the layout belongs to the redraw
  lastRedraw = performance.now() - began;
  startComparison(found);
  return lastRedraw;
};
let addressTimer = 0, waiting = false, shown = null;
const changed = () => {
  if (shown !== statementNow()) { shown = statementNow(); drawStatus(); buildTables(); requestAnimationFrame(scrollable); }
  clearTimeout(addressTimer);
  addressTimer = setTimeout(writeAddress, 150);
  if (waiting) return;
  waiting = true;
  requestAnimationFrame(() => { waiting = false; redraw(); });
};

const setTheme = (dark) => {
  document.documentElement.dataset.theme = dark ? "dark" : "light";
  $("theme").setAttribute("aria-pressed", String(dark));
};
const preferred = matchMedia("(prefers-color-scheme: dark)");
setTheme(preferred.matches);
preferred.addEventListener("change", () => setTheme(preferred.matches));
$("theme").addEventListener("click", () => setTheme(document.documentElement.dataset.theme !== "dark"));
$("theorem").addEventListener("change", () => { choose(DATA.theorems[Number($("theorem").value)]); changed(); });
$("preset").addEventListener("change", () => { choose(state.theorem, { ...state, preset: Number($("preset").value), texts: undefined }); changed(); });
$("reset").addEventListener("click", () => { choose(state.theorem, { label: state.label, preset: state.preset }); changed(); });
for (const [id, key] of [["over", "over"], ["region-x", "x"], ["region-y", "y"]]) $(id).addEventListener("change", () => { state[key] = $(id).value; changed(); });
for (const [name, text] of Object.entries(COPIES)) $("copies").append(node("button", { type: "button", onclick: () => { writeAddress(); copy(name, text()); } }, `Copy ${name}`));
addEventListener("hashchange", () => { readAddress(); changed(); });
for (const each of document.querySelectorAll("details")) each.addEventListener("toggle", scrollable);
let width = innerWidth;
addEventListener("resize", () => { if (innerWidth !== width) { width = innerWidth; changed(); scrollable(); } });

readAddress();
changed();

const pointAt = (key, texts) => new Point(DATA.theorems.flatMap((t) => t.statements).find((s) => s.key === key), Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, read(text)])));

// For tests and for whoever looks at the page from its console.
window.fedco = {
  data: DATA,
  formulas: FORMULAS,
  redraw,
  lastRedraw: () => lastRedraw,
  state: () => ({ theorem: state.theorem.id, statement: state.label, texts: { ...state.texts } }),
  // Terms, then both sides of every condition, then derived constants, at points that give the texts of the symbols.
  evaluate: (key, points) => points.map((texts) => {
    const point = pointAt(key, texts);
    return { values: Array.from(point.all(), String), sides: Array.from(point.sides().subarray(0, 2 * point.statement.conditions.length), String) };
  }),
  conditions: (key, texts) => {
    const point = pointAt(key, texts), o = point.sides();
    return point.statement.conditions.map((c, i) => ({ left: o[2 * i], right: o[2 * i + 1], holds: holds(c.relation, o[2 * i], o[2 * i + 1]) }));
  },
  intervals: (id, label, texts, name) => {
    const theorem = DATA.theorems.find((t) => t.id === id), statement = theorem.statement[label];
    return intervals(statement, numbersFor(theorem, statement, texts), theorem.symbol[name]);
  },
  elasticities: (id, label, texts) => {
    const theorem = DATA.theorems.find((t) => t.id === id), statement = theorem.statement[label];
    return elasticities(theorem, statement, numbersFor(theorem, statement, texts));
  },
  best: (id, quantities, iterations) => rivalAt(DATA.theorems.find((t) => t.id === id), quantities, iterations),
};
