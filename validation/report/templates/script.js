(() => {
  "use strict";
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const one = (id) => document.getElementById(id);
  const root = document.documentElement;

  // --- light and dark: the system's choice until the reader makes one ---
  const kept = () => { try { return localStorage.getItem("fedco-theme"); } catch { return null; } };
  const isDark = () => root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  if (kept()) root.dataset.theme = kept();
  const turn = () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    try { localStorage.setItem("fedco-theme", root.dataset.theme); } catch { /* a file may have no storage */ }
  };
  one("theme").addEventListener("click", turn);

  // --- contents on small screens ---
  const menu = one("menu"), contents = one("contents");
  const showMenu = (open) => { contents.classList.toggle("open", open); menu.setAttribute("aria-expanded", String(open)); };
  menu.addEventListener("click", () => showMenu(!contents.classList.contains("open")));
  contents.addEventListener("click", (event) => { if (event.target.closest("a")) showMenu(false); });

  // --- search and filters ---
  const search = one("search"), filters = ["paper", "status", "kind"].map((name) => [name, one("filter-" + name)]);
  const items = all(".item").filter((item) => !item.parentElement.closest(".item"));
  const fits = (item, words, wanted) =>
    wanted.every(([name, value]) => !value || (item.dataset[name] || "").split(" ").includes(value)) && words.every((word) => item.dataset.search.includes(word));
  const filter = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const wanted = filters.map(([name, select]) => [name, select.value]);
    const active = words.length > 0 || wanted.some(([, value]) => value);
    let cards = 0, others = 0;
    for (const item of items) {
      item.hidden = active && !fits(item, words, wanted);
      if (!item.hidden) item.classList.contains("card") ? cards++ : others++;
    }
    for (const section of all("main > section")) {
      const mine = items.filter((item) => section.contains(item));
      section.hidden = active && (mine.length === 0 || mine.every((item) => item.hidden));
    }
    for (const title of all(".minor-title")) title.hidden = active && !all(".minor", title.parentElement).some((item) => !item.hidden);
    one("count").value = active ? `${cards} statements, ${others} entries` : "";
    one("nothing").hidden = !active || cards + others > 0;
  };
  search.addEventListener("input", filter);
  filters.forEach(([, select]) => select.addEventListener("change", filter));
  one("controls").addEventListener("submit", (event) => event.preventDefault());
  const clear = () => { search.value = ""; filters.forEach(([, select]) => { select.value = ""; }); filter(); };
  one("clear").addEventListener("click", clear);

  // --- tabs: one statement at a time ---
  for (const group of all("[data-tabs]")) {
    const panels = all(".statement", group), list = document.createElement("div");
    list.className = "tabs"; list.setAttribute("role", "tablist"); list.setAttribute("aria-label", "Statements");
    const choose = (index, focus) => panels.forEach((panel, i) => {
      panel.hidden = i !== index;
      list.children[i].setAttribute("aria-selected", String(i === index));
      list.children[i].tabIndex = i === index ? 0 : -1;
      if (focus && i === index) list.children[i].focus();
    });
    panels.forEach((panel, i) => {
      const tab = document.createElement("button"), title = panel.querySelector(".statement-title");
      tab.type = "button"; tab.id = panel.id + "-tab"; tab.setAttribute("role", "tab"); tab.setAttribute("aria-controls", panel.id);
      tab.textContent = title.textContent.replace(/\s+/g, " ").trim();
      panel.setAttribute("role", "tabpanel"); panel.setAttribute("aria-labelledby", tab.id); panel.removeAttribute("aria-label"); title.hidden = true;
      tab.addEventListener("click", () => choose(i));
      list.append(tab);
    });
    list.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (step) { event.preventDefault(); choose((panels.findIndex((panel) => !panel.hidden) + step + panels.length) % panels.length, true); }
    });
    group.prepend(list);
    choose(Math.max(0, panels.findIndex((panel) => "default" in panel.dataset)));
    group.choose = (panel) => choose(panels.indexOf(panel));
  }

  // --- an address opens whatever holds it ---
  const reveal = () => {
    const target = location.hash.length > 1 && one(decodeURIComponent(location.hash.slice(1)));
    if (!target) return;
    if (target.closest("[hidden]") && !target.closest(".statement[hidden]")) clear();
    for (let part = target; part; part = part.parentElement) {
      if (part.tagName === "DETAILS") part.open = true;
      if (part.classList?.contains("statement") && part.hidden) part.parentElement.choose(part);
    }
    target.scrollIntoView();
  };
  addEventListener("hashchange", reveal);
  reveal();

  // --- sortable tables ---
  const value = (row, column) => {
    const cell = row.cells[column], text = cell.dataset.sort ?? cell.textContent.trim();
    const plain = text.replace("·10", "e").replace(/[⁰¹²³⁴⁵⁶⁷⁸⁹⁻]/g, (c) => "⁰¹²³⁴⁵⁶⁷⁸⁹⁻".includes(c) ? "0123456789-"["⁰¹²³⁴⁵⁶⁷⁸⁹⁻".indexOf(c)] : c);
    const number = parseFloat(plain);
    return Number.isNaN(number) || !/^[-+\d.]/.test(plain) ? text.toLowerCase() : number;
  };
  const compare = (a, b) => typeof a === typeof b ? (a < b ? -1 : a > b ? 1 : 0) : typeof a === "number" ? -1 : 1;
  for (const table of all("table.sortable")) {
    if (table.tBodies[0].rows.length < 2) continue;
    all("thead th", table).forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button"; button.append(...head.childNodes); head.append(button); head.setAttribute("aria-sort", "none");
      button.addEventListener("click", () => {
        const down = head.getAttribute("aria-sort") === "ascending";
        all("thead th", table).forEach((other) => other.setAttribute("aria-sort", "none"));
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        const rows = [...table.tBodies[0].rows].map((row) => [value(row, column), row]);
        rows.sort((a, b) => (down ? -1 : 1) * compare(a[0], b[0]));
        table.tBodies[0].append(...rows.map(([, row]) => row));
      });
    });
  }

  // --- what scrolls sideways can be reached with the keyboard ---
  const reach = () => {
    for (const box of all(".scroll, .math-box, .condition, .metric")) {
      if (box.scrollWidth > box.clientWidth + 1) { box.tabIndex = 0; box.setAttribute("role", "group"); box.setAttribute("aria-label", "scrolls sideways"); }
      else { box.removeAttribute("tabindex"); box.removeAttribute("role"); box.removeAttribute("aria-label"); }
    }
  };
  reach(); addEventListener("resize", reach); document.addEventListener("toggle", reach, true); document.addEventListener("click", () => setTimeout(reach));

  // --- copy and downloads ---
  document.addEventListener("click", (event) => {
    const copy = event.target.closest(".copy"), load = event.target.closest(".downloads button");
    if (copy) {
      const text = copy.previousElementSibling.textContent, word = copy.firstChild;
      const done = () => { word.data = "copied"; setTimeout(() => { word.data = "copy"; }, 1500); };
      const byHand = () => { const area = document.createElement("textarea"); area.value = text; document.body.append(area); area.select(); document.execCommand("copy"); area.remove(); done(); };
      navigator.clipboard ? navigator.clipboard.writeText(text).then(done, byHand) : byHand();
    }
    if (load) {
      const columns = JSON.parse(load.closest("figure").querySelector(".data").textContent), isCsv = load.dataset.kind === "csv";
      const link = document.createElement("a");
      link.href = URL.createObjectURL(new Blob([isCsv ? csv(columns) : JSON.stringify(columns)], { type: isCsv ? "text/csv" : "application/json" }));
      link.download = load.parentElement.dataset.file + "." + load.dataset.kind;
      link.click(); URL.revokeObjectURL(link.href);
    }
  });
  const csv = (columns) => {
    const names = Object.keys(columns), length = Math.max(...names.map((name) => columns[name].length));
    const rows = Array.from({ length }, (_, i) => names.map((name) => columns[name][i] ?? "").join(","));
    return [names.map((name) => `"${name.replaceAll('"', '""')}"`).join(","), ...rows].join("\n") + "\n";
  };

  // --- a row of instances lights its lines up ---
  for (const table of all(".instances-table")) {
    const chart = table.closest(".pair").querySelector(".chart");
    const light = (series) => {
      chart.classList.toggle("dimmed", Boolean(series));
      all(".series", chart).forEach((line) => line.classList.toggle("lit", line.dataset.series === series));
    };
    all("tbody tr", table).forEach((row) => {
      row.addEventListener("pointerenter", () => { row.classList.add("lit"); light(row.querySelector(".key").textContent); });
      row.addEventListener("pointerleave", () => { row.classList.remove("lit"); light(""); });
    });
  }

  // --- counterexamples: balls on the objective, round by round ---
  for (const scene of all("[data-scene]")) {
    const moves = JSON.parse(scene.querySelector(".moves").textContent), slider = scene.querySelector("input[type=range]");
    const button = scene.querySelector(".play"), shown = scene.querySelector(".player output"), balls = all(".ball", scene);
    const at = ([low, high, start, end], number) => start + (number - low) / (high - low) * (end - start);
    const height = (x) => { let i = moves.x.findIndex((place) => place >= x); i = i < 1 ? 1 : i; const s = (x - moves.x[i - 1]) / (moves.x[i] - moves.x[i - 1]); return moves.y[i - 1] + s * (moves.y[i] - moves.y[i - 1]); };
    const draw = () => {
      const round = Number(slider.value), placed = [];
      shown.value = round;
      balls.forEach((ball, i) => {
        const x = moves.paths[i][round], px = at(moves.across, x);
        let py = at(moves.up, height(x)) - 10;
        while (placed.some(([a, b]) => Math.hypot(a - px, b - py) < 17)) py -= 4;
        placed.push([px, py]);
        ball.setAttribute("transform", `translate(${px.toFixed(1)},${py.toFixed(1)})`);
      });
    };
    slider.addEventListener("input", draw);
    draw();
    let timer = 0;
    const stop = () => { clearInterval(timer); timer = 0; button.textContent = "▶ play"; button.setAttribute("aria-pressed", "false"); };
    button.addEventListener("click", () => {
      if (timer) { stop(); return; }
      if (slider.value === slider.max) slider.value = 0;
      button.textContent = "❚❚ stop"; button.setAttribute("aria-pressed", "true");
      const step = Math.max(1, Math.round(slider.max / 200));
      timer = setInterval(() => { slider.value = Number(slider.value) + step; draw(); if (slider.value === slider.max) stop(); }, 33);
    });
  }

  // --- keyboard ---
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape") { showMenu(false); if (event.target === search) clear(); return; }
    if (/^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) return;
    if (event.key === "/") { event.preventDefault(); search.focus(); }
    if (event.key === "t") turn();
    const step = { j: 1, k: -1 }[event.key];
    if (step) {
      const cards = items.filter((item) => item.classList.contains("card") && !item.hidden);
      const now = cards.findIndex((item) => item === document.activeElement || item.contains(document.activeElement));
      const next = cards[Math.min(cards.length - 1, Math.max(0, now < 0 ? (step > 0 ? 0 : cards.length - 1) : now + step))];
      if (next) { (next.tagName === "DETAILS" ? next.firstElementChild : next).focus({ preventScroll: true }); next.scrollIntoView(); }
    }
  });

  // --- where the reader is ---
  const links = new Map(all("#contents a").map((link) => [link.getAttribute("href").slice(1), link]));
  const places = all("main [id]").filter((place) => links.has(place.id));
  const watch = new IntersectionObserver((entries) => {
    for (const entry of entries) if (entry.isIntersecting) {
      links.forEach((link) => link.removeAttribute("aria-current"));
      links.get(entry.target.id).setAttribute("aria-current", "true");
    }
  }, { rootMargin: "-10% 0px -80% 0px" });
  places.forEach((place) => watch.observe(place));

  // --- print: everything open, then as it was ---
  let closed = [];
  addEventListener("beforeprint", () => { closed = all("details:not([open])"); closed.forEach((part) => { part.open = true; }); });
  addEventListener("afterprint", () => { closed.forEach((part) => { part.open = false; }); });
})();
