// What follows from the generated formulas: values, conditions, intervals, borders, elasticities, the best of a search.
// All of it in double precision; fedco itself is exact.
const EQUAL = 1e-9; // an equality holds to this relative distance
const LOWEST = 1e-12, HIGHEST = 1e12, PER_DECADE = 16;
const HALVINGS = 48;

const holds = (relation, left, right) => {
  switch (relation) {
    case "<": return left < right;
    case "<=": return left <= right;
    case ">": return left > right;
    case ">=": return left >= right;
    default: return Math.abs(left - right) <= EQUAL * Math.max(Math.abs(left), Math.abs(right));
  }
};

// A statement at a point that can be moved. `known` has a number for each symbol; a scheduled one without follows.
class Point {
  constructor(statement, known) {
    this.statement = statement;
    this.formulas = FORMULAS[statement.key];
    this.v = new Float64Array(statement.symbols.length);
    this.o = new Float64Array(statement.terms.length + 2 * statement.conditions.length + statement.derived.length);
    this.one = new Float64Array(1);
    this.follows = statement.order.filter((name) => known[name] === undefined);
    statement.symbols.forEach((name, i) => { this.v[i] = known[name] === undefined ? NaN : known[name]; });
    this.schedule();
  }
  schedule() {
    for (const name of this.follows) {
      const place = this.statement.at[name];
      this.formulas.schedule[place](this.v, this.one);
      this.v[place] = this.one[0];
    }
  }
  get(name) { return this.v[this.statement.at[name]]; }
  set(name, value) {
    const i = this.statement.at[name];
    if (i === undefined) return;
    this.v[i] = value;
    if (this.follows.includes(name)) this.follows = this.follows.filter((other) => other !== name);
    this.schedule();
  }
  total() { // of the terms alone, after `all`
    let sum = 0;
    for (let i = 0; i < this.statement.terms.length; i++) sum += this.o[i];
    return sum;
  }
  all() { this.formulas.all(this.v, this.o); return this.o; }
  sides() { this.formulas.sides(this.v, this.o); return this.o; }
  admissible() {
    const o = this.sides();
    return this.statement.conditions.every((c, i) => holds(c.relation, o[2 * i], o[2 * i + 1]));
  }
}

const evaluate = (statement, known) => {
  const point = new Point(statement, known), o = point.all(), n = statement.terms.length, m = statement.conditions.length;
  const conditions = statement.conditions.map((c, i) => {
    const left = o[n + 2 * i], right = o[n + 2 * i + 1];
    return { left, right, holds: holds(c.relation, left, right) };
  });
  const terms = Array.from(o.subarray(0, n)), derived = Array.from(o.subarray(n + 2 * m));
  // What has no finite value here, such as a quotient by 0: the bound says nothing then.
  const without = [...statement.derived.filter((_, i) => !Number.isFinite(derived[i])), ...statement.terms.filter((_, i) => !Number.isFinite(terms[i]))].map((part) => part.name);
  return {
    point, conditions, terms, total: n && !without.length ? point.total() : NaN, derived, without,
    admissible: !without.length && conditions.every((c) => c.holds),
  };
};

const logGrid = (low, high, count) => Array.from({ length: count }, (_, i) => low * (high / low) ** (i / (count - 1)));

// The bound and its terms along a symbol.
const along = (statement, known, name, xs) => {
  const point = new Point(statement, known);
  return xs.map((x) => {
    point.set(name, x);
    const o = point.all(), n = statement.terms.length;
    const inside = statement.conditions.every((c, i) => holds(c.relation, o[n + 2 * i], o[n + 2 * i + 1]));
    return { x, total: point.total(), terms: Array.from(o.subarray(0, n)), inside };
  });
};

// The intervals of one symbol on which every condition holds: [{low, high, lowClosed, highClosed, lowBinds, highBinds}].
const intervals = (statement, known, symbol) => {
  const point = new Point(statement, known), conditions = statement.conditions;
  const difference = (i, x) => { point.set(symbol.name, x); const o = point.sides(); return o[2 * i] - o[2 * i + 1]; };
  const meets = (i, x) => { point.set(symbol.name, x); const o = point.sides(); return holds(conditions[i].relation, o[2 * i], o[2 * i + 1]); };
  if (symbol.steps) return listed((x) => { point.set(symbol.name, x); return point.admissible(); }, conditions, meets);
  // An interval says nothing of divisibility: its ends are those of the other conditions.
  const inside = (x) => conditions.every((c, i) => c.divides || meets(i, x));
  const low = symbol.whole ? 1 : LOWEST;
  const xs = logGrid(low, HIGHEST, Math.round(PER_DECADE * Math.log10(HIGHEST / low)) + 1);
  const table = xs.map((x) => { point.set(symbol.name, x); return Float64Array.from(point.sides().subarray(0, 2 * conditions.length)); });
  const marks = [];
  conditions.forEach((condition, i) => {
    if (condition.divides) return;
    const equality = condition.relation === "==";
    const state = (row) => equality ? Math.sign(row[2 * i] - row[2 * i + 1]) : holds(condition.relation, row[2 * i], row[2 * i + 1]);
    for (let k = 0; k + 1 < xs.length; k++) {
      const here = state(table[k]);
      if (here === state(table[k + 1])) continue;
      const same = equality ? (x) => Math.sign(difference(i, x)) === here : (x) => meets(i, x) === here;
      let a = xs[k], b = xs[k + 1];
      for (let step = 0; step < HALVINGS; step++) { const mid = Math.sqrt(a * b); if (same(mid)) a = mid; else b = mid; }
      marks.push({ x: Math.sqrt(a * b), i, equality, strict: condition.relation === "<" || condition.relation === ">" });
    }
  });
  marks.sort((a, b) => a.x - b.x);
  const nearly = (m, x) => Math.abs(m.x - x) <= 1e-9 * x;
  const equalities = marks.filter((m) => m.equality && !table.some((row) => holds("==", row[2 * m.i], row[2 * m.i + 1])));
  if (equalities.length) {
    return equalities.filter((m, k) => equalities.findIndex((e) => nearly(e, m.x)) === k && inside(m.x))
      .map((m) => ({ low: m.x, high: m.x, lowClosed: true, highClosed: true, lowBinds: conditions[m.i].name, highBinds: conditions[m.i].name }));
  }
  const ends = [{ x: low, i: -1 }, ...marks, { x: HIGHEST, i: -1 }];
  const pieces = [];
  for (let k = 0; k + 1 < ends.length; k++) {
    const a = ends[k], b = ends[k + 1];
    if (!(b.x > a.x * (1 + 1e-12)) || !inside(Math.sqrt(a.x * b.x))) continue;
    const last = pieces[pieces.length - 1];
    if (last && last.end === k) { last.b = b; last.end = k + 1; } else pieces.push({ a, b, end: k + 1 });
  }
  const binds = (x) => [...new Set(marks.filter((m) => nearly(m, x)).map((m) => conditions[m.i].name))].join(", ");
  const closed = (end) => end.i >= 0 && !marks.some((m) => nearly(m, end.x) && m.strict);
  const zero = symbol.zero && inside(0);
  return pieces.map(({ a, b }) => finish(symbol, {
    low: a.i < 0 ? (symbol.whole ? 1 : 0) : a.x, high: b.i < 0 ? Infinity : b.x,
    lowClosed: a.i < 0 ? symbol.whole || zero : closed(a), highClosed: closed(b), lowBinds: a.i < 0 ? "" : binds(a.x), highBinds: b.i < 0 ? "" : binds(b.x),
  })).filter(Boolean);
};

// A whole number's interval ends at whole numbers.
const finish = (symbol, piece) => {
  if (!symbol.whole) return piece;
  const up = (x) => { const near = Math.round(x); return Math.abs(x - near) <= 1e-9 * x ? near : NaN; };
  const low = Number.isNaN(up(piece.low)) ? Math.ceil(piece.low) : up(piece.low) + (piece.lowClosed ? 0 : 1);
  const high = !Number.isFinite(piece.high) ? Infinity : Number.isNaN(up(piece.high)) ? Math.floor(piece.high) : up(piece.high) - (piece.highClosed ? 0 : 1);
  return high < low ? null : { ...piece, low, high, lowClosed: true, highClosed: Number.isFinite(high) };
};

const listed = (inside, conditions, meets) => {
  const pieces = [];
  const failing = (n) => conditions.filter((_, i) => !meets(i, n)).map((c) => c.name).join(", ");
  for (let n = 0; n <= MOST_STEPS; n++) {
    if (!inside(n)) continue;
    const last = pieces[pieces.length - 1];
    if (last && last.high === n - 1) last.high = n; else pieces.push({ low: n, high: n, lowClosed: true, highClosed: true });
  }
  return pieces.map((p) => ({ ...p, lowBinds: p.low ? failing(p.low - 1) : "", highBinds: p.high < MOST_STEPS ? failing(p.high + 1) : "" }));
};

// log(small side / large side) of each condition on a grid of two symbols: negative where it holds.
const field = (statement, known, names, xs, ys) => {
  const point = new Point(statement, known), conditions = statement.conditions;
  const values = conditions.map(() => new Float64Array(xs.length * ys.length));
  ys.forEach((y, r) => xs.forEach((x, c) => {
    point.set(names[0], x);
    point.set(names[1], y);
    const o = point.sides();
    conditions.forEach(({ relation }, i) => {
      const up = relation === ">" || relation === ">=";
      const small = up ? o[2 * i + 1] : o[2 * i], large = up ? o[2 * i] : o[2 * i + 1];
      values[i][r * xs.length + c] = large > 0 ? (small > 0 ? Math.log(small / large) : -1e3) : (small > large ? 1e3 : -1e3);
    });
  }));
  return values;
};

// Percent change of the bound per percent of each symbol that does not follow a schedule.
const WIDTH = 1e-4;
const elasticities = (theorem, statement, known) => {
  if (!statement.terms.length) return [];
  const at = (name, factor) => { const point = new Point(statement, { ...known, [name]: known[name] * factor }); point.all(); return point.total(); };
  return statement.symbols.filter((name) => known[name] > 0 && !theorem.symbol[name].steps)
    .map((name) => ({ name, value: Math.log(at(name, 1 + WIDTH) / at(name, 1 - WIDTH)) / Math.log((1 + WIDTH) / (1 - WIDTH)) }))
    .sort((a, b) => Math.abs(b.value) - Math.abs(a.value));
};

// What is known to hold of the metric without running: the least of the statement's formulas in its symbols, and of the preset's own
// numbers as long as its constants are as they were. Null where nothing is known.
const withoutRunning = (statement, point, preset, isAsPreset) => {
  const known = [...statement.limits, ...(preset && isAsPreset ? preset.limits : [])]
    .map((limit) => ({ ...limit, value: limit.powers.reduce((product, [name, power]) => product * point.get(name) ** power, limit.factor) }))
    .filter((limit) => Number.isFinite(limit.value));
  return known.length ? known.reduce((least, limit) => (limit.value < least.value ? limit : least)) : null;
};
