// Several theorems on the same quantities: each with the best hyperparameters that a search finds.

// A rival's numbers from the quantities of another theorem; `assumed` says what was not given.
const translated = (rival, statement, quantities) => {
  const known = {}, assumed = [];
  for (const name of statement.symbols) {
    const symbol = rival.symbol[name];
    const source = [symbol.quantity, ...symbol.stand_ins].find((quantity) => quantities[quantity] !== undefined);
    known[name] = source === undefined ? read(symbol.fallback) : quantities[source];
    if (symbol.role === "constant" && source !== symbol.quantity) assumed.push(`${symbol.quantity} = ${source || symbol.fallback}`);
  }
  return { known, assumed };
};

// The least bound over the real hyperparameters without a value of their own. In their logarithms a sum of products is convex:
// a pattern search finds an admissible point, Newton's method with a logarithmic barrier goes on from there. What an equality
// condition ties to a schedule follows it. NaN where no admissible point is found.
const STRIDES = [16, 4, 2, 1.3, 1.08, 1.02];
const BARRIERS = [1, 0.3, 0.1, 0.03, 0.01, 3e-3, 1e-3, 1e-4];
const NEWTON_STEPS = 8, DIFFERENCE = 1e-4;

const best = (rival, statement, known, start) => {
  const free = statement.symbols.filter((name) => rival.symbol[name].tuned && !statement.fixed.includes(name));
  const point = new Point(statement, { ...known, ...Object.fromEntries(statement.fixed.map((name) => [name, undefined])) });
  const places = free.map((name) => statement.at[name]), n = statement.terms.length;
  const measure = (x, eachRoom) => { // the logarithm of the bound at exp(x); the room of each condition goes to eachRoom
    x.forEach((value, i) => { point.v[places[i]] = Math.exp(value); });
    point.schedule();
    const o = point.all();
    statement.conditions.forEach(({ relation }, i) => {
      const left = o[n + 2 * i], right = o[n + 2 * i + 1], up = relation === ">" || relation === ">=";
      if (relation === "==") eachRoom(holds(relation, left, right) ? Infinity : -1);
      else eachRoom(up ? Math.log(left / right) : right > 0 && left <= 0 ? Infinity : Math.log(right / left));
    });
    return Math.log(point.total());
  };
  const lacking = (x) => { // how far the conditions are from holding, then the bound
    let lack = 0;
    const value = measure(x, (room) => { lack += room >= 0 ? 0 : Number.isNaN(room) ? Infinity : 1e-9 - room; });
    return [lack, Number.isNaN(value) ? Infinity : value];
  };
  const better = (a, b) => a[0] < b[0] || (a[0] === b[0] && a[1] < b[1]);
  let x = start && start.length === free.length ? start.map(Math.log) : free.map((name) => Math.log(known[name])), value = lacking(x);
  const pattern = (strides) => {
    for (const stride of strides) {
      for (let moved = true, rounds = 0; moved && rounds < 100; rounds++) {
        moved = false;
        for (const way of directions(free.length)) {
          const next = x.slice();
          for (const [i, sign] of way) next[i] += sign * Math.log(stride);
          const found = lacking(next);
          if (better(found, value)) { x = next; value = found; moved = true; }
        }
      }
    }
  };
  pattern(STRIDES);
  if (value[0] > 0 || !Number.isFinite(value[1])) return { at: x.map(Math.exp), bound: free.length || value[0] > 0 ? NaN : Math.exp(value[1]) };
  for (const weight of free.length ? BARRIERS : []) {
    const barrier = (y) => { let sum = 0; const size = measure(y, (room) => { sum += room === Infinity ? 0 : room > 0 ? Math.log(room) : -Infinity; }); return Number.isNaN(size) ? Infinity : size - weight * sum; };
    x = newton(barrier, x);
    const found = lacking(x);
    if (better(found, value)) value = found;
  }
  return { at: x.map(Math.exp), bound: Math.exp(value[1]) };
};
const directions = (dimension) => { // one or two at a time, up or down
  const found = [];
  for (let i = 0; i < dimension; i++) for (const a of [1, -1]) { found.push([[i, a]]); for (let j = 0; j < i; j++) for (const b of [1, -1]) found.push([[i, a], [j, b]]); }
  return found;
};

// A few damped Newton steps with differences for derivatives; steps shrink until the value falls.
const newton = (f, start) => {
  const d = start.length;
  let x = start, value = f(x);
  const moved = (...pairs) => { const y = x.slice(); for (const [i, by] of pairs) y[i] += by; return f(y); };
  if (!Number.isFinite(value)) { // at a border: step back inside along the diagonal that helps most
    const inner = directions(d).map((way) => { const y = x.slice(); for (const [i, sign] of way) y[i] += sign * 0.02; return [f(y), y]; }).sort((a, b) => a[0] - b[0])[0];
    if (!inner || !Number.isFinite(inner[0])) return x;
    [value, x] = inner;
  }
  for (let step = 0; step < NEWTON_STEPS; step++) {
    const h = DIFFERENCE, up = x.map((_, i) => moved([i, h])), down = x.map((_, i) => moved([i, -h]));
    if (![...up, ...down].every(Number.isFinite)) return x;
    const gradient = up.map((u, i) => (u - down[i]) / (2 * h));
    const hessian = x.map((_, i) => x.map((__, j) => {
      if (i === j) return (up[i] - 2 * value + down[i]) / h ** 2 + 1e-6;
      return (moved([i, h], [j, h]) - moved([i, h], [j, -h]) - moved([i, -h], [j, h]) + moved([i, -h], [j, -h])) / (4 * h ** 2);
    }));
    let way = solved(hessian, gradient);
    if (!way.every(Number.isFinite) || way.reduce((sum, w, i) => sum + w * gradient[i], 0) <= 0) way = gradient;
    let scale = Math.min(1, 2 / Math.max(...way.map(Math.abs), 1e-300)), next = value, at = x;
    for (; scale > 1e-6; scale /= 2) {
      at = x.map((v, i) => v - scale * way[i]);
      next = f(at);
      if (next < value) break;
    }
    if (!(next < value)) return x;
    const gain = value - next;
    x = at;
    value = next;
    if (gain < 1e-7) return x;
  }
  return x;
};
const solved = (matrix, right) => { // Gaussian elimination with pivots
  const rows = matrix.map((row, i) => [...row, right[i]]), d = rows.length;
  for (let c = 0; c < d; c++) {
    const p = rows.reduce((k, row, r) => (r >= c && Math.abs(row[c]) > Math.abs(rows[k][c]) ? r : k), c);
    [rows[c], rows[p]] = [rows[p], rows[c]];
    for (let r = c + 1; r < d; r++) { const q = rows[r][c] / rows[c][c]; for (let k = c; k <= d; k++) rows[r][k] -= q * rows[c][k]; }
  }
  const x = new Array(d).fill(0);
  for (let r = d - 1; r >= 0; r--) x[r] = (rows[r][d] - rows[r].slice(r + 1, d).reduce((sum, v, k) => sum + v * x[r + 1 + k], 0)) / rows[r][r];
  return x;
};
