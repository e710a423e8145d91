// Explore: a view of every condition, drawn from the numbers of the experiments.
(function () {
  if (!experiments.length) return;

  // ---- numbers ----
  const bytes = (s) => Uint8Array.from(atob(s), (c) => c.charCodeAt(0));
  const f32 = (s) => new Float32Array(bytes(s).buffer);
  const u16 = (s) => new Uint16Array(bytes(s).buffer);
  const u32 = (s) => new Uint32Array(bytes(s).buffer);
  // A value rounded to the place its deviation allows: two digits of it.
  const rounded = (v, sd) => {
    if (!(sd > 0) || !isFinite(v)) return num(v);
    const d = Math.max(0, Math.min(8, 1 - Math.floor(Math.log10(sd))));
    return minus(v.toFixed(d));
  };
  const put = (q, v) => (q.n === "blades" ? num(v, 6) + " blades" : withUnit(q.w + " " + num(v, 6), q.u));
  const withUnit = (s, u) => (u ? s + " " + u : s);

  for (const e of experiments) {
    e.X = u16(e.x); e.Row = u16(e.row); e.Run = u32(e.run); e.Y = f32(e.y);
    e.k = e.inputs.length; e.d = e.outcomes.length;
    const angle = e.inputs.findIndex((q) => q.n === "theta_deg" || q.n === "phi_deg");
    e.along = angle;
    if (angle < 0) {
      e.along = 0;
      e.values.forEach((v, i) => { if (v.length > e.values[e.along].length) e.along = i; });
    }
    e.polar = angle >= 0;
    if (e.spectra) {
      const s = e.spectra;
      s.At = u16(s.at); s.To = f32(s.to); s.Line = f32(s.line); s.Level = bytes(s.level);
    }
    for (const s of e.splits) {
      s.Test = u16(s.test);
      s.models = null;
    }
    e.Bound = e.bound ? bytes(e.bound) : null; // bits of y1 and y2
    e.rows = null;
  }
  // The answers of a split's models at all conditions: mean m, half widths h and h68 of intervals, and of the network the
  // variances v and c. The calibrated model was asked at held-out conditions only.
  const models = (e, s) => {
    if (s.models) return s.models;
    s.models = {};
    if (s.calibrated) {
      const spread = (packed) => {
        const list = f32(packed), all = new Float64Array(e.n * e.d).fill(NaN);
        let k = 0;
        for (let c = 0; c < e.n; c++) if (s.Test[c]) for (let j = 0; j < e.d; j++) all[c * e.d + j] = list[k++];
        return all;
      };
      s.models.calibrated = { m: spread(s.calibrated.m), h: spread(s.calibrated.h), h68: spread(s.calibrated.h68), level: s.calibrated.level };
    }
    if (s.network) {
      const m = f32(s.network.m), v = f32(s.network.v), c = f32(s.network.c), sd = Array.from(v, (x) => Math.sqrt(Math.max(0, x)));
      s.models.network = { m: m, v: v, c: c, h: sd.map((x) => 1.96 * x), h68: sd, level: 0.95 };
    }
    return s.models;
  };
  const modelNames = { calibrated: "calibrated model", network: "the paper’s network" };
  const rowsOf = (e) => {
    if (!e.rows) {
      e.rows = Array.from({ length: e.n }, () => []);
      e.Row.forEach((c, i) => e.rows[c].push(i));
    }
    return e.rows;
  };

  // ---- drawing: the same classes and attributes as the static figures ----
  const NS = "http://www.w3.org/2000/svg";
  const el = (parent, name, attrs, text) => {
    const x = document.createElementNS(NS, name);
    for (const k in attrs) x.setAttribute(k, attrs[k]);
    if (text !== undefined) x.textContent = text;
    if (parent) parent.appendChild(x);
    return x;
  };
  const px = (v) => String(Math.round(Math.max(-5e4, Math.min(5e4, v)) * 100) / 100);
  const short = (s, n) => { const c = Array.from(s); return c.length <= n ? s : c.slice(0, n - 1).join("") + "…"; };
  const nice = (lo, hi, n) => {
    if (!(hi > lo)) return [];
    const raw = (hi - lo) / n, p = Math.pow(10, Math.floor(Math.log10(raw)));
    const step = [1, 2, 2.5, 5, 10].find((m) => m * p >= raw * (1 - 1e-9)) * p, out = [];
    for (let k = Math.ceil(lo / step - 1e-9); k * step <= hi + 1e-9 * step && out.length < 50; k++) out.push(Math.abs(k * step) < 1e-9 * step ? 0 : k * step);
    return out;
  };
  const list = (v) => v.map((x) => (isFinite(x) && x !== null ? String(+x.toPrecision(7)) : "-")).join(" ");
  const finite = (...v) => v.every((x) => x !== null && isFinite(x));

  const legend = (svg, marks) => {
    let x = 4, y = 12;
    const seen = new Set(), g = el(svg, "g", { class: "legend" });
    for (const m of marks) {
      if (m.quiet || seen.has(m.name)) continue;
      seen.add(m.name);
      const w = 36 + m.name.length * 6.4;
      if (x > 4 && x + w > 460) { x = 4; y += 18; }
      if (m.kind === "band") el(g, "rect", { class: "band " + m.cls, x: x, y: y - 5, width: 22, height: 10 });
      else if (m.kind === "points") el(g, "path", { class: m.dot, d: circle(x + 11, y, m.size || 2.6) + (m.bound ? arrow(x + 11, y, m.size) : "") });
      else if (m.kind === "edge") el(g, "path", { class: m.dot, d: cross(x + 11, y, 3) });
      else el(g, "path", { class: "line " + m.cls, d: "M" + x + " " + y + "h22" });
      el(g, "text", { x: x + 28, y: y + 4 }, m.name);
      x += w + 10;
    }
    return y + 14;
  };
  const circle = (x, y, r) => `M${px(x - r)} ${px(y)}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0`;

  const arrow = (x, y, r) => `M${px(x)} ${px(y + r)}v4.5m-1.6 -1.8l1.6 1.8l1.6 -1.8`;

  const cross = (x, y, r) => `M${px(x - r)} ${px(y - r)}l${2 * r} ${2 * r}m0 ${-2 * r}l${-2 * r} ${2 * r}`;

  const draw = (g, marks, at, curve, edge) => {
    const line = (xs, ys) => {
      let s = "", pen = "M";
      xs.forEach((x, i) => {
        if (!finite(x, ys[i])) { pen = "M"; return; }
        if (curve && pen === "L") {
          const n = Math.min(144, Math.ceil(Math.abs(x - xs[i - 1]) / 2.5));
          for (let k = 1; k < n; k++) {
            const t = k / n, [a, b] = at(xs[i - 1] + t * (x - xs[i - 1]), ys[i - 1] + t * (ys[i] - ys[i - 1]));
            s += "L" + px(a) + " " + px(b);
          }
        }
        const [a, b] = at(x, ys[i]);
        s += pen + px(a) + " " + px(b); pen = "L";
      });
      return s;
    };
    for (const m of marks) {
      const a = { class: "mark", "data-series": m.name, "data-kind": m.kind };
      for (const q of ["x", "y", "lo", "hi"]) if (m[q]) a["data-" + q] = list(m[q]);
      if (m.names) a["data-name"] = m.names.join(" ");
      const h = el(g, "g", a);
      if (m.kind === "band") {
        let s = "";
        for (let i = 0; i < m.x.length; i++) {
          if (!finite(m.lo[i], m.hi[i])) continue;
          let j = i;
          while (j < m.x.length && finite(m.lo[j], m.hi[j])) j++;
          s += line(m.x.slice(i, j), m.hi.slice(i, j)) + "L" + line(m.x.slice(i, j).reverse(), m.lo.slice(i, j).reverse()).slice(1) + "Z";
          i = j;
        }
        el(h, "path", { class: "band " + m.cls, d: s });
      } else if (m.kind === "line") {
        el(h, "path", { class: "line " + m.cls, d: line(m.x, m.y) });
      } else if (m.kind === "edge") {
        el(h, "path", { class: m.dot, d: m.x.map((x) => { const [a, b] = edge(x); return cross(a, b, 3); }).join("") });
      } else {
        let s = "";
        m.x.forEach((x, i) => { if (finite(x, m.y[i])) { const [a, b] = at(x, m.y[i]); s += circle(a, b, m.size || 2.4) + (m.bound ? arrow(a, b, m.size) : ""); } });
        el(h, "path", { class: m.dot, d: s });
      }
    }
  };

  let clips = 0;
  const frame = (label, width) => el(null, "svg", { xmlns: NS, class: "dtf", role: "img", "aria-label": label, viewBox: "0 0 " + width + " 10" });
  const finish = (svg, width, height, note) => {
    if (note) { el(svg, "text", { x: 4, y: height + 10, class: "note" }, note); height += 14; }
    svg.setAttribute("viewBox", "0 0 " + width + " " + Math.ceil(height));
    return svg;
  };
  const extent = (marks, keys) => {
    let lo = Infinity, hi = -Infinity;
    for (const m of marks) for (const q of keys) for (const v of m[q] || []) if (finite(v)) { lo = Math.min(lo, v); hi = Math.max(hi, v); }
    if (!(lo <= hi)) return [0, 1];
    if (lo === hi) return [lo - 0.5, hi + 0.5];
    return [lo, hi];
  };

  const cartesian = (o) => {
    const W = 480, H = o.height || 290, svg = frame(o.label, W), top = legend(svg, o.marks) + 24;
    let [ylo, yhi] = extent(o.marks, ["y", "lo", "hi"]), [xlo, xhi] = extent(o.marks, ["x"]);
    const w = 0.04 * (yhi - ylo); ylo -= o.marks.some((m) => m.kind === "edge") ? 3 * w : w; yhi += w;
    if (!o.exact) { const v = 0.03 * (xhi - xlo); xlo -= v; xhi += v; }
    const yt = nice(ylo, yhi, 7), left = 30 + Math.max(...yt.map((t) => num(t, 6).length), 2) * 6, right = W - 8, bottom = top + H;
    const sx = (v) => left + ((v - xlo) / (xhi - xlo)) * (right - left), sy = (v) => bottom - ((v - ylo) / (yhi - ylo)) * H;
    const g = el(svg, "g", { class: "panel", "data-xscale": `lin ${xlo} ${xhi} ${left} ${right}`, "data-yscale": `lin ${ylo} ${yhi} ${bottom} ${top}`, "data-xlabel": o.x, "data-ylabel": o.y });
    el(g, "text", { x: left, y: top - 9, class: "title" }, short(o.title, 62));
    const id = "live-" + ++clips;
    el(el(g, "clipPath", { id: id }), "rect", { x: left, y: top, width: right - left, height: H });
    let grid = "";
    for (const t of nice(xlo, xhi, 8)) { grid += `M${px(sx(t))} ${top}V${bottom}`; el(g, "text", { x: px(sx(t)), y: bottom + 15, class: "tick", "text-anchor": "middle" }, num(t, 6)); }
    for (const t of yt) { grid += `M${left} ${px(sy(t))}H${right}`; el(g, "text", { x: left - 6, y: px(sy(t) + 3.6), class: "tick", "text-anchor": "end" }, num(t, 6)); }
    el(g, "path", { class: "grid", d: grid });
    draw(el(g, "g", { "clip-path": `url(#${id})` }), o.marks, (x, y) => [sx(x), sy(y)], false, (x) => [sx(x), bottom - 6]);
    el(g, "path", { class: "axis", d: `M${left} ${top}V${bottom}H${right}` });
    el(g, "text", { x: (left + right) / 2, y: bottom + 33, "text-anchor": "middle" }, short(o.x, 60));
    el(g, "text", { transform: `translate(11 ${(top + bottom) / 2}) rotate(-90)`, "text-anchor": "middle" }, short(o.y, 46));
    return finish(svg, W, bottom + 40, o.note);
  };

  const polar = (o) => {
    const W = 480, svg = frame(o.label, W), top = legend(svg, o.marks) + 10;
    let [lo, hi] = extent(o.marks, ["y", "lo", "hi"]);
    let step = hi - lo < 15 ? 5 : 10;
    while ((hi - lo) / step > 6) step *= 2;
    lo = Math.floor(lo / step) * step; hi = Math.ceil(hi / step) * step;
    if (hi === lo) hi += step;
    const [a0, a1] = o.angles, half = a0 >= -90 && a1 <= 90, rad = Math.PI / 180;
    const R = W / 2 - 34, up = half ? Math.max(0.3, Math.sin(a1 * rad)) : 1, down = half ? Math.max(0.3, -Math.sin(a0 * rad)) : 1;
    const cx = half ? (W - R) / 2 : W / 2, cy = top + 44 + R * up;
    const at = (t, r) => { const q = Math.max(0, ((r - lo) / (hi - lo)) * R); return [cx + q * Math.cos(t * rad), cy - q * Math.sin(t * rad)]; };
    const g = el(svg, "g", { class: "panel", "data-polar": `${cx} ${cy}`, "data-yscale": `lin ${lo} ${hi} 0 ${R}`, "data-xlabel": o.x, "data-ylabel": o.y });
    el(g, "text", { x: W / 2, y: top + 12, class: "title", "text-anchor": "middle" }, short(o.title, 66));
    const id = "live-" + ++clips;
    el(el(g, "clipPath", { id: id }), "circle", { cx: cx, cy: px(cy), r: R + 4 });
    let grid = "";
    const ticks = [];
    for (let r = lo; r <= hi + step / 2; r += step) ticks.push(r);
    const from = half ? a0 : -180, to = half ? a1 : 180, labels = [];
    for (const r of ticks) {
      for (let t = from; t < to; t += 3) { const [x, y] = at(t, r), [x2, y2] = at(Math.min(to, t + 3), r); if (r > lo) grid += (t === from ? `M${px(x)} ${px(y)}` : "") + `L${px(x2)} ${px(y2)}`; }
    }
    for (let t = -180; t <= 180; t += 30) {
      if (t < from - 1e-9 || t > to + 1e-9 || (!half && t === -180)) continue;
      const [x, y] = at(t, hi), c = Math.cos(t * rad);
      grid += `M${px(cx)} ${px(cy)}L${px(x)} ${px(y)}`;
      labels.push([cx + (R + 6) * c, cy - (R + 6) * Math.sin(t * rad) + 3.6, Math.abs(c) < 0.2 ? "middle" : c < 0 ? "end" : "start", num(t) + "°"]);
    }
    el(g, "path", { class: "grid", d: grid });
    draw(el(g, "g", { "clip-path": `url(#${id})` }), o.marks, at, true, (x) => at(x, hi));
    for (const l of labels) el(g, "text", { x: px(l[0]), y: px(l[1]), class: "tick", "text-anchor": l[2] }, l[3]);
    for (const r of ticks) { const q = ((r - lo) / (hi - lo)) * R; el(g, "text", half ? { x: px(cx + q * Math.cos(from * rad) - 4), y: px(cy - q * Math.sin(from * rad) + 8), class: "tick", "text-anchor": "end" } : { x: px(cx + q * 0.26 + 2), y: px(cy + q * 0.966), class: "tick" }, num(r)); }
    const bottom = cy + R * down + 34;
    el(g, "text", { x: W / 2, y: px(bottom - 6), class: "note", "text-anchor": "middle" }, o.y);
    return finish(svg, W, bottom, o.note);
  };

  // ---- state ----
  const state = { e: 0, split: 0, model: "calibrated", o: 0, at: [], polar: false };
  const E = () => experiments[state.e];
  const settle = () => {
    const e = E();
    state.split = Math.min(state.split, Math.max(0, e.splits.length - 1));
    state.o = Math.min(state.o, e.d - 1);
    const s = e.splits[state.split];
    if (s && !s[state.model]) state.model = s.calibrated ? "calibrated" : "network";
    e.values.forEach((v, k) => { if (!(state.at[k] >= 0 && state.at[k] < v.length)) state.at[k] = v.length >> 1; });
    state.at.length = e.k;
  };
  // Where something was held out is the best place to start.
  const start = () => {
    const e = E(), s = e.splits[state.split];
    state.at = e.values.map((v) => v.length >> 1);
    if (!s) return;
    let best = -1, far = Infinity;
    for (let c = 0; c < e.n; c++) {
      if (!s.Test[c]) continue;
      let d = 0;
      for (let k = 0; k < e.k; k++) d += Math.abs(e.X[c * e.k + k] - state.at[k]) / e.values[k].length;
      if (d < far) { far = d; best = c; }
    }
    if (best >= 0) state.at = Array.from(e.X.slice(best * e.k, (best + 1) * e.k));
  };

  const toHash = () => {
    const e = E(), s = e.splits[state.split], p = new URLSearchParams();
    p.set("experiment", e.name);
    if (s) { p.set("split", s.n); p.set("model", state.model); }
    p.set("outcome", e.outcomes[state.o].n);
    e.inputs.forEach((q, k) => p.set("at." + q.n, String(e.values[k][state.at[k]])));
    return "#explore?" + p.toString();
  };
  const fromHash = () => {
    const h = location.hash;
    if (!h.startsWith("#explore?")) return false;
    const p = new URLSearchParams(h.slice(9));
    const find = (l, f) => { const i = l.findIndex(f); return i < 0 ? 0 : i; };
    state.e = find(experiments, (e) => e.name === p.get("experiment"));
    const e = E();
    state.split = find(e.splits, (s) => s.n === p.get("split"));
    state.model = p.get("model") === "network" ? "network" : "calibrated";
    state.o = find(e.outcomes, (o) => o.n === p.get("outcome"));
    start();
    e.inputs.forEach((q, k) => {
      const v = parseFloat(p.get("at." + q.n));
      if (!isFinite(v)) return;
      let best = 0;
      e.values[k].forEach((x, i) => { if (Math.abs(x - v) < Math.abs(e.values[k][best] - v)) best = i; });
      state.at[k] = best;
    });
    settle();
    return true;
  };
  let wrote = "";
  const push = () => {
    wrote = toHash();
    try { history.replaceState(null, "", wrote); } catch (err) { location.hash = wrote; }
  };

  // ---- controls ----
  const controls = $("controls");
  controls.addEventListener("submit", (ev) => ev.preventDefault());
  const control = (id, text, node, out) => {
    const l = document.createElement("label");
    l.htmlFor = id;
    const t = document.createElement("span");
    t.textContent = text + (out ? " " : "");
    l.appendChild(t);
    if (out) l.appendChild(out);
    node.id = id;
    l.appendChild(node);
    controls.appendChild(l);
  };
  const select = (id, text, options, chosen, change) => {
    const s = document.createElement("select");
    options.forEach(([v, t]) => { const o = document.createElement("option"); o.value = v; o.textContent = short(t, 60); s.appendChild(o); });
    s.value = chosen;
    s.addEventListener("change", () => { change(s.value); update(true); });
    control(id, text, s);
  };
  const build = () => {
    const focus = document.activeElement && document.activeElement.id;
    controls.textContent = "";
    const e = E(), s = e.splits[state.split];
    select("c-experiment", "Experiment", experiments.map((x, i) => [String(i), x.name + (x.data === "simulated" ? " (simulated)" : "")]), String(state.e), (v) => { state.e = +v; state.split = 0; state.o = 0; settle(); start(); build(); });
    if (s) {
      select("c-split", "Split", e.splits.map((x, i) => [String(i), x.n]), String(state.split), (v) => { state.split = +v; settle(); start(); build(); });
      select("c-model", "Model", Object.keys(modelNames).filter((k) => s[k]).map((k) => [k, modelNames[k]]), state.model, (v) => { state.model = v; });
    }
    select("c-outcome", "Outcome", e.outcomes.map((q, i) => [String(i), q.l]), String(state.o), (v) => { state.o = +v; });
    e.inputs.forEach((q, k) => {
      if (k === e.along) return;
      select("c-in-" + k, q.l, e.values[k].map((v, i) => [String(i), num(v, 6)]), String(state.at[k]), (v) => { state.at[k] = +v; });
    });
    const q = e.inputs[e.along], r = document.createElement("input"), out = document.createElement("output");
    r.type = "range"; r.min = 0; r.max = Math.max(0, e.values[e.along].length - 1); r.step = 1; r.value = state.at[e.along];
    const tell = () => { const t = num(e.values[e.along][state.at[e.along]], 6); out.textContent = t; r.setAttribute("aria-valuetext", withUnit(t, q.u)); };
    tell();
    r.addEventListener("input", () => { state.at[e.along] = +r.value; tell(); update(true); });
    control("c-in-" + e.along, q.l, r, out);
    if (focus && $(focus)) $(focus).focus();
  };

  const round = document.createElement("button");
  round.type = "button"; round.id = "polar"; round.textContent = "Polar view";
  round.addEventListener("click", () => { state.polar = !state.polar; update(true); });
  $("save-svg").before(round, " ");

  // ---- the view ----
  let csv = [], current = null;
  const update = (remember) => {
    const e = E(), s = e.splits[state.split], q = e.outcomes[state.o], rows = rowsOf(e);
    const m = s && models(e, s)[state.model], network = state.model === "network";
    const here = [];
    for (let c = 0; c < e.n; c++) {
      let ok = true;
      for (let k = 0; k < e.k && ok; k++) ok = k === e.along || e.X[c * e.k + k] === state.at[k];
      if (ok) here.push(c);
    }
    here.sort((a, b) => e.X[a * e.k + e.along] - e.X[b * e.k + e.along]);
    const xs = here.map((c) => e.values[e.along][e.X[c * e.k + e.along]]);
    const get = (what) => here.map((c) => (m && m[what] ? m[what][c * e.d + state.o] : NaN));
    const mu = get("m"), half = get("h"), half68 = get("h68"), va = get("v"), co = get("c");
    const level = m ? num(100 * m.level) + " % interval" : "", who = m ? modelNames[state.model] : "";
    const marks = [];
    if (m) {
      const band = (name, cls, w) => marks.push({ kind: "band", name: name, cls: cls, x: xs, lo: mu.map((v, i) => v - w[i]), hi: mu.map((v, i) => v + w[i]) });
      band(level, "total", half);
      band("68 % interval", "sigma1", half68);
    }
    const points = (name, dot, test, bound, size) => {
      const p = { kind: "points", name: name, dot: dot, bound: bound, x: [], y: [], names: [], size: size };
      here.forEach((c, i) => {
        if (Boolean(s && s.Test[c]) !== test) return;
        for (const r of rows[c]) for (const h of [0, 1]) {
          const k = r * e.d + state.o;
          if (Boolean(e.Bound && (e.Bound[k] >> h) & 1) !== bound) continue;
          p.x.push(xs[i]); p.y.push(e.Y[k * 2 + h]); p.names.push(e.Run[r]);
        }
      });
      if (p.x.length) marks.push(p);
    };
    const size = here.length > 60 ? 1.3 : 1.8;
    points("upper bound, at the noise floor", "ring train", false, true, size);
    points(s ? "pairs, trained on" : "pairs", "dot train", false, false, size);
    points("upper bound, held out", "ring test", true, true, size);
    points("pairs, held out", "dot test", true, false, size);
    if (m) marks.push({ kind: "line", name: "mean μ", cls: "mean", x: xs, y: mu });
    const i = xs.indexOf(e.values[e.along][state.at[e.along]]), c = i >= 0 ? here[i] : -1;
    if (i >= 0 && m && isFinite(mu[i])) marks.push({ kind: "points", name: "chosen", dot: "ring aux", x: [xs[i]], y: [mu[i]], size: 6 });
    const fixed = e.inputs.map((p, k) => (k === e.along ? "" : put(p, e.values[k][state.at[k]]))).filter((t) => t).join(", ");
    const all = e.inputs.map((p, k) => put(p, e.values[k][state.at[k]])).join(", ");
    const held = here.some((x) => s && s.Test[x]);
    const note = e.data === "simulated" ? "Simulated data." : "";
    const title = (fixed || e.name) + (held && fixed ? ", held out" : "");
    const label = (note ? "Simulated data, " : "") + e.name + ": " + q.w + " along " + e.inputs[e.along].w + (fixed ? " at " + fixed : "") + ". The numbers are in the table below.";
    const views = $("views");
    views.textContent = "";
    const show = (svg, heading) => {
      const f = document.createElement("figure"), h = document.createElement("h3");
      h.textContent = heading;
      const box = document.createElement("div");
      box.className = "scroll"; box.tabIndex = 0; box.setAttribute("role", "group"); box.setAttribute("aria-label", "Figure: " + heading);
      box.appendChild(svg);
      f.append(h, box);
      views.appendChild(f);
      return svg;
    };
    const range = e.values[e.along];
    const opts = { label: label, title: title, x: e.inputs[e.along].l, y: q.l, marks: marks, note: note, angles: [range[0], range[range.length - 1]] };
    round.hidden = !e.polar;
    round.setAttribute("aria-pressed", String(state.polar));
    current = show(e.polar && state.polar ? polar(opts) : cartesian(opts), (who ? who[0].toUpperCase() + who.slice(1) + ": " : "") + (e.polar ? "directivity, " : "") + q.w + (note ? " (simulated data)" : ""));

    // Readout: everything chosen, and what is known there.
    let t = e.name + (s ? ", split " + s.n + ", " + who : "") + ", " + q.w + " at " + all + ": ";
    if (c < 0) t += "there are no data here.";
    else {
      if (m && isFinite(mu[i])) {
        t += "μ " + withUnit(rounded(mu[i], half[i]), q.u) + ", " + level + " ± " + withUnit(num(half[i], 2), q.d) + ". ";
        if (network) t += co[i] > 0 ? "Epistemic √C " + withUnit(num(Math.sqrt(co[i]), 2), q.d) + ". " : "No epistemic interval (C " + withUnit(num(co[i], 2), q.s) + " ≤ 0). ";
      } else if (m) t += "the calibrated model was asked at held-out conditions only. ";
      const r = rows[c];
      if (r.length) {
        const y1 = e.Y[(r[0] * e.d + state.o) * 2], y2 = e.Y[(r[0] * e.d + state.o) * 2 + 1];
        t += "Pair: y1 " + num(y1, 5) + ", y2 " + withUnit(num(y2, 5), q.u) + (r.length > 1 ? " and " + (r.length - 1) + " more pairs" : "");
        if (m && s.Test[c] && isFinite(mu[i])) {
          let sum = 0;
          for (const k of r) sum += (e.Y[(k * e.d + state.o) * 2] - mu[i]) * (e.Y[(k * e.d + state.o) * 2 + 1] - mu[i]);
          t += "; measured error e " + withUnit(num(sum / r.length, 2), q.s);
        }
        t += s ? (s.Test[c] ? "; held out." : "; trained on.") : ".";
      }
    }
    $("readout").textContent = t;

    if (e.spectra && c >= 0) {
      const k = e.spectra.At.indexOf(c), sp = e.spectra;
      if (k >= 0) {
        const n = sp.points, f = [], y = [];
        for (let j = 0; j < n; j++) { f.push(((j + 0.5) / n) * sp.To[k]); y.push(sp.Level[k * n + j] / 2 + sp.offset); }
        const lines = [];
        for (let j = 0; j < sp.lines; j++) { const v = sp.Line[k * sp.lines + j]; if (isFinite(v)) lines.push(v); }
        const level = lines.map((v) => y[Math.max(0, Math.min(n - 1, Math.floor((v / sp.To[k]) * n)))]);
        const sel = /^bpf(\d+)_/.exec(q.n), h = sel ? +sel[1] - 1 : -1, spectrum = [
          { kind: "line", name: "largest bin of each 1/" + n + " of the range", cls: "mean thin", x: f, y: y },
          { kind: "points", name: "BPF harmonics", dot: "dot test", x: lines, y: level, size: 2.6 },
        ];
        if (h >= 0 && h < lines.length) spectrum.push({ kind: "points", name: "chosen harmonic", dot: "ring aux", x: [lines[h]], y: [level[h]], size: 6 });
        show(cartesian({ label: (note ? "Simulated data, " : "") + "Spectrum of the recording at " + all + ", mean of both halves, shown to half a decibel.", title: all, x: "frequency (Hz)", y: "level per bin of " + num(sp.bin) + " Hz (" + sp.unit + ")", marks: spectrum, note: note, exact: true, height: 260 }), "Spectrum" + (note ? " (simulated data)" : ""));
      }
    }

    // The numbers, as CSV and as a table.
    csv = [[e.inputs[e.along].l, "y1", "y2", "mu", "half width", "half width 68 %", "C", "held out", "unit", "model"]];
    here.forEach((x, j) => {
      const r = rows[x].length ? rows[x] : [-1];
      for (const k of r.slice(0, 1)) csv.push([xs[j], k < 0 ? "" : e.Y[(k * e.d + state.o) * 2], k < 0 ? "" : e.Y[(k * e.d + state.o) * 2 + 1], mu[j], half[j], half68[j], co[j], s && s.Test[x] ? 1 : 0, q.u, who]);
    });
    const table = document.createElement("table"), cap = document.createElement("span");
    cap.textContent = q.l + (fixed ? ", " + fixed : "");
    table.createCaption().appendChild(cap);
    const row = (parent, cells, head) => {
      const tr = document.createElement("tr");
      cells.forEach((t, j) => {
        const td = document.createElement(head || j === 0 ? "th" : "td");
        if (head) td.scope = "col"; else if (j === 0) td.scope = "row";
        td.textContent = t;
        tr.appendChild(td);
      });
      parent.appendChild(tr);
    };
    row(table.createTHead(), [e.inputs[e.along].l, "y1", "y2", "μ", "± " + (m ? num(100 * m.level) + " %" : "")], true);
    const body = table.createTBody(), step = Math.max(1, Math.ceil(here.length / 120));
    here.forEach((x, j) => {
      if (j % step) return;
      const v = csv[j + 1];
      row(body, [num(xs[j], 6), num(v[1] === "" ? NaN : v[1], 5), num(v[2] === "" ? NaN : v[2], 5), num(mu[j], 5), num(half[j], 3)]);
    });
    $("numbers").replaceChildren(table);
    const said = [];
    if (e.n < e.all) said.push("Of " + e.all + " conditions an even selection of " + e.n + " is held in this page.");
    if (step > 1) said.push("The table shows every " + step + "th of " + here.length + " conditions; the CSV has them all.");
    if (e.spectra) said.push("Spectra are reduced to " + e.spectra.points + " points and half decibels here; spectra.arrow has them in full.");
    $("sampled").textContent = said.join(" ");
    if (remember) push();
  };

  const save = (name, type, text) => {
    const a = document.createElement("a");
    a.href = URL.createObjectURL(new Blob([text], { type: type }));
    a.download = name;
    a.click();
    setTimeout(() => URL.revokeObjectURL(a.href), 1000);
  };
  const base = () => (E().name + "-" + E().outcomes[state.o].n).replace(/[^A-Za-z0-9_.-]+/g, "-");
  $("save-svg").addEventListener("click", () => {
    const svg = current.cloneNode(true), st = el(null, "style", {}, $("light").textContent), [, , w, h] = svg.getAttribute("viewBox").split(" ");
    svg.setAttribute("width", w); svg.setAttribute("height", h);
    svg.insertBefore(el(null, "rect", { class: "back", width: w, height: h }), svg.firstChild);
    svg.insertBefore(st, svg.firstChild);
    save(base() + ".svg", "image/svg+xml", new XMLSerializer().serializeToString(svg));
  });
  $("save-csv").addEventListener("click", () => {
    const cell = (v) => { let t = String(v); if (typeof v === "string" && /^[=+\-@]/.test(t)) t = "'" + t; return /[",\n]/.test(t) ? '"' + t.replace(/"/g, '""') + '"' : t; };
    save(base() + ".csv", "text/csv", csv.map((r) => r.map(cell).join(",")).join("\n") + "\n");
  });

  const go = () => {
    if (location.hash === wrote && wrote) return;
    if (fromHash()) { build(); update(false); reveal(); }
  };
  addEventListener("hashchange", go);
  if (!fromHash()) { settle(); start(); }
  build();
  update(false);
})();
