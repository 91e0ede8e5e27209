// Charts as SVG, drawn from numbers; every text is set as text.
const svgNode = (tag, attributes = {}, children = []) => {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  for (const child of [].concat(children)) made.append(child);
  return made;
};
const label = (x, y, text, attributes = {}) => svgNode("text", { x, y, ...attributes }, [text]);
const DASHES = ["", "7 4", "2 3", "9 3 2 3", "12 4 4 4", "4 2 1 2", "14 5", "1 4"];
const hue = (i) => `var(--s${(i % 8) + 1})`;

const superscript = (n) => String(n).replace(/-/g, "⁻").replace(/\d/g, (d) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[d]);
const power = (value) => {
  const exponent = Math.round(Math.log10(value));
  return exponent >= -2 && exponent <= 3 ? String(Number((10 ** exponent).toPrecision(3))) : `10${superscript(exponent)}`;
};
const decades = (low, high, most) => {
  const first = Math.ceil(Math.log10(low) - 1e-9), last = Math.floor(Math.log10(high) + 1e-9);
  const step = Math.max(1, Math.ceil((last - first + 1) / most));
  const found = [];
  for (let e = Math.ceil(first / step) * step; e <= last; e += step) found.push(10 ** e);
  return found;
};

// Widths are read once, before anything is written, so that the browser lays the page out once.
const hostWidths = new Map();
const measureHosts = () => { for (const id of ["curve", "shares", "region", "compare"]) { const host = document.getElementById(id); hostWidths.set(host, host.clientWidth); } };

class Axes {
  constructor(host, { xs, ys, height, left = 62, right = 16, top = 14, bottom = 44, title }) {
    this.width = Math.max(280, hostWidths.get(host) || host.clientWidth || 600);
    this.height = height;
    Object.assign(this, { left, right, top, bottom, xs, ys });
    this.root = svgNode("svg", { viewBox: `0 0 ${this.width} ${height}`, role: "img", "aria-label": title });
    this.x = this.scale(xs, left, this.width - right);
    this.y = this.scale(ys, height - bottom, top);
    host.replaceChildren(this.root);
  }
  scale([low, high, linear], from, to) {
    if (linear) return (value) => from + ((value - low) / (high - low)) * (to - from);
    return (value) => from + (Math.log(value / low) / Math.log(high / low)) * (to - from);
  }
  frame(xLabel, yLabel, yTicks) {
    const { left, right, top, bottom, width, height } = this;
    const ticks = this.xs[2] ? this.linearTicks(this.xs) : decades(this.xs[0], this.xs[1], Math.floor((width - left - right) / 58));
    for (const value of ticks) {
      const x = this.x(value);
      this.add("path", { class: "grid", d: `M${x} ${top}V${height - bottom}` });
      this.root.append(label(x, height - bottom + 16, this.xs[2] ? String(value) : power(value), { "text-anchor": "middle", class: "soft" }));
    }
    const marks = yTicks || (this.ys[2] ? [0, 0.25, 0.5, 0.75, 1].map((v) => [v, `${v * 100}%`]) : decades(this.ys[0], this.ys[1], Math.floor((height - top - bottom) / 26)).map((v) => [v, power(v)]));
    for (const [value, text] of marks) {
      const y = this.y(value);
      this.add("path", { class: "grid", d: `M${left} ${y}H${width - right}` });
      this.root.append(label(left - 6, y + 4, text, { "text-anchor": "end", class: "soft" }));
    }
    this.add("path", { class: "axis", d: `M${left} ${top}V${height - bottom}H${width - right}` });
    this.root.append(label((left + width - right) / 2, height - 8, xLabel, { "text-anchor": "middle" }));
    if (yLabel) this.root.append(label(0, 0, yLabel, { transform: `translate(13 ${(top + height - bottom) / 2}) rotate(-90)`, "text-anchor": "middle" }));
  }
  linearTicks([low, high]) {
    const step = Math.max(1, Math.ceil((high - low) / 10));
    return Array.from({ length: Math.floor((high - low) / step) + 1 }, (_, i) => low + i * step);
  }
  add(tag, attributes, children) { const made = svgNode(tag, attributes, children); this.root.append(made); return made; }
  clip(value, [low, high]) { return Math.min(Math.max(value, low), high); }
  path(points) {
    let text = "", pen = false;
    for (const [x, y] of points) {
      if (!Number.isFinite(y) || !(y > 0)) { pen = false; continue; }
      text += `${pen ? "L" : "M"}${this.x(x).toFixed(1)} ${this.y(this.clip(y, [this.ys[0] / 10, this.ys[1] * 10])).toFixed(1)}`;
      pen = true;
    }
    return text;
  }
  marker(x, text) {
    if (x < this.xs[0] || x > this.xs[1]) return;
    const at = this.x(x);
    this.add("path", { d: `M${at} ${this.top}V${this.height - this.bottom}`, stroke: "var(--ink)", "stroke-width": 1.2, "stroke-dasharray": "3 3", fill: "none" });
    if (text) this.root.append(label(at + 5, this.top + 11, text, { class: "halo" }));
  }
}

// The ends of lines get their names, moved apart where they would touch.
const endLabels = (axes, lines) => {
  const placed = lines.filter((l) => Number.isFinite(l.y)).map((l) => ({ ...l, at: axes.clip(axes.y(l.y), [axes.top + 8, axes.height - axes.bottom - 4]) })).sort((a, b) => a.at - b.at);
  for (let i = 1; i < placed.length; i++) placed[i].at = Math.max(placed[i].at, placed[i - 1].at + 14);
  const overflow = placed.length ? placed[placed.length - 1].at - (axes.height - axes.bottom) : 0;
  for (const line of placed) {
    axes.root.append(label(axes.width - axes.right + 6, line.at + 4 - Math.max(0, overflow), line.text, { style: `fill:${line.color};font-weight:600` }));
  }
};

const span = (values) => {
  let low = Infinity, high = 0;
  for (const value of values) if (value > 0 && Number.isFinite(value)) { if (value < low) low = value; if (value > high) high = value; }
  return high > 0 ? [low, high] : [0.1, 10];
};
const padded = ([low, high], share = 0.06) => {
  const room = Math.max(Math.log(high / low) * share, 0.35);
  return [low * Math.exp(-room), high * Math.exp(room)];
};

// A stripe pattern for the part of an axis where a condition fails.
let stripes = 0;
const hatched = (axes) => {
  const id = `stripes${stripes++}`;
  axes.add("defs", {}, [svgNode("pattern", { id, width: 7, height: 7, patternTransform: "rotate(45)", patternUnits: "userSpaceOnUse" }, [svgNode("path", { d: "M0 0V7", stroke: "var(--hatch)", "stroke-width": 1.4 })])]);
  return `url(#${id})`;
};
const outside = (axes, rows) => {
  const fill = hatched(axes);
  let from = null;
  rows.forEach((row, k) => {
    if (!row.inside && from === null) from = k;
    if (from !== null && (row.inside || k === rows.length - 1)) {
      const left = axes.x(rows[from].x), right = axes.x(rows[row.inside ? Math.max(from, k - 1) : k].x);
      axes.add("rect", { x: left, y: axes.top, width: Math.max(1.5, right - left), height: axes.height - axes.top - axes.bottom, fill, opacity: 0.45 });
      from = null;
    }
  });
};

// Marching squares on a grid of values: the border where they change sign, and the part where all are at most 0.
const border = (values, columns, rows, px, py) => {
  const segments = [], cross = (a, b) => a / (a - b), at = ([c, r]) => `${px(c)} ${py(r)}`;
  for (let r = 0; r + 1 < rows; r++) {
    for (let c = 0; c + 1 < columns; c++) {
      const k = r * columns + c, v = [values[k], values[k + 1], values[k + columns + 1], values[k + columns]];
      const hit = [];
      if (v[0] <= 0 !== v[1] <= 0) hit.push([c + cross(v[0], v[1]), r]);
      if (v[1] <= 0 !== v[2] <= 0) hit.push([c + 1, r + cross(v[1], v[2])]);
      if (v[2] <= 0 !== v[3] <= 0) hit.push([c + 1 - cross(v[2], v[3]), r + 1]);
      if (v[3] <= 0 !== v[0] <= 0) hit.push([c, r + 1 - cross(v[3], v[0])]);
      for (let i = 0; i + 1 < hit.length; i += 2) segments.push([at(hit[i]), at(hit[i + 1])]);
    }
  }
  return joined(segments);
};
// Segments that share an end become one line, so that dashes run through.
const joined = (segments) => {
  const ends = new Map(), left = new Set(segments);
  for (const segment of segments) for (const end of segment) ends.set(end, [...(ends.get(end) || []), segment]);
  const onwards = (line) => {
    for (let next; (next = (ends.get(line[line.length - 1]) || []).find((s) => left.has(s))); ) {
      left.delete(next);
      line.push(next[0] === line[line.length - 1] ? next[1] : next[0]);
    }
    return line;
  };
  const lines = [];
  for (const segment of segments) if (left.delete(segment)) lines.push(onwards(onwards([...segment]).reverse()));
  return lines.sort((a, b) => b.length - a.length);
};
const filled = (worst, columns, rows, px, py) => {
  let text = "";
  for (let r = 0; r + 1 < rows; r++) {
    let run = -1;
    for (let c = 0; c < columns; c++) {
      const k = r * columns + c;
      const v = c + 1 < columns ? [worst[k], worst[k + 1], worst[k + columns + 1], worst[k + columns]] : [1, 1, 1, 1];
      const count = v.filter((value) => value <= 0).length;
      if (count === 4) { if (run < 0) run = c; continue; }
      if (run >= 0) { text += `M${px(run)} ${py(r)}H${px(c)}V${py(r + 1)}H${px(run)}Z`; run = -1; }
      if (!count) continue;
      const corners = [[c, r], [c + 1, r], [c + 1, r + 1], [c, r + 1]], points = [];
      corners.forEach(([x, y], i) => {
        const j = (i + 1) % 4;
        if (v[i] <= 0) points.push([x, y]);
        if (v[i] <= 0 !== v[j] <= 0) { const s = v[i] / (v[i] - v[j]); points.push([x + s * (corners[j][0] - x), y + s * (corners[j][1] - y)]); }
      });
      text += "M" + points.map(([x, y]) => `${px(x)} ${py(y)}`).join("L") + "Z";
    }
  }
  return text;
};
