"use strict";
// What explore.js, which follows in the same element, needs too.
const $ = (id) => document.getElementById(id);
const { experiments, names } = JSON.parse($("data").textContent);
const minus = (s) => s.replace("-", "−");
const num = (v, n) => {
  if (v === null || v === undefined || !isFinite(v)) return "–";
  const a = Math.abs(v);
  if (v !== 0 && (a >= 1e6 || a < 1e-4)) return minus(v.toExponential((n || 4) - 1));
  return minus(String(parseFloat(v.toPrecision(n || 4))));
};
// reveal opens the parts around the target of the address and scrolls to it.
const reveal = () => {
  const target = location.hash.startsWith("#explore") ? $("explore") : $(location.hash.slice(1));
  for (let d = target && target.closest("details"); d; d = d.parentElement.closest("details")) d.open = true;
  if (target) target.scrollIntoView();
};

// Folded parts.
(function () {
  document.documentElement.classList.add("scripted");
  const unfold = $("unfold"), folds = document.querySelectorAll("details");
  if (unfold) unfold.addEventListener("click", () => {
    const open = unfold.getAttribute("aria-pressed") !== "true";
    for (const d of folds) d.open = open;
    unfold.setAttribute("aria-pressed", String(open));
  });
  addEventListener("hashchange", () => { if (!location.hash.startsWith("#explore?")) reveal(); });
  if (location.hash) addEventListener("DOMContentLoaded", reveal);
})();

// Figures: a tip shows the values of a point, which pointer, touch or keys choose. The values stand in the data
// attributes of marks, those of the explorer too.
(function () {
  const tip = $("tip"), spoken = $("spoken"), cache = new WeakMap();
  const numbers = (mark, key) => {
    let kept = cache.get(mark);
    if (!kept) cache.set(mark, (kept = {}));
    if (!(key in kept)) {
      const text = mark.getAttribute("data-" + key);
      kept[key] = text === null ? null : text.split(" ").map((v) => (v === "-" ? NaN : +v));
    }
    return kept[key];
  };
  const scaleOf = (text) => {
    const [kind, a, b, p, q] = text.split(" "), lo = +a, hi = +b;
    return (v) => +p + (kind === "log" ? Math.log(v / lo) / Math.log(hi / lo) : (v - lo) / (hi - lo)) * (q - p);
  };
  // placer returns the function from values to a place in the panel.
  const placer = (panel) => {
    const polar = panel.getAttribute("data-polar"), sy = scaleOf(panel.getAttribute("data-yscale"));
    if (!polar) {
      const sx = scaleOf(panel.getAttribute("data-xscale"));
      return (x, y) => [sx(x), sy(y)];
    }
    const [cx, cy] = polar.split(" ");
    return (x, y) => {
      const r = Math.max(0, sy(y)), angle = (x * Math.PI) / 180;
      return [+cx + r * Math.cos(angle), cy - r * Math.sin(angle)];
    };
  };
  // pointsOf returns the points of a mark that have a place, from left to right.
  const pointsOf = (panel, mark) => {
    const xs = numbers(mark, "x"), ys = numbers(mark, "y"), kept = cache.get(mark);
    if (kept.points) return kept.points;
    const place = placer(panel), points = (kept.points = []);
    if (!xs || !ys) return points;
    xs.forEach((x, i) => {
      const [left, top] = place(x, ys[i]);
      if (isFinite(left) && isFinite(top)) points.push({ panel, mark, i, left, top });
    });
    return points.sort((a, b) => a.left - b.left || b.top - a.top);
  };

  const ring = document.createElementNS("http://www.w3.org/2000/svg", "circle");
  ring.setAttribute("class", "cursor");
  ring.setAttribute("r", "5");

  // words describes a point: its run, its series, its values, and the intervals of the panel at the same x.
  const words = ({ panel, mark, i }) => {
    const x = numbers(mark, "x")[i], y = numbers(mark, "y")[i], lo = numbers(mark, "lo"), hi = numbers(mark, "hi");
    const name = numbers(mark, "name"), lines = [mark.getAttribute("data-series")];
    if (name && names[name[i]]) lines.push(names[name[i]]);
    lines.push((panel.getAttribute("data-xlabel") || "x") + ": " + num(x, 6));
    lines.push((panel.getAttribute("data-ylabel") || "y") + ": " + num(y, 6));
    if (lo && hi) lines.push("from " + num(lo[i], 4) + " to " + num(hi[i], 4));
    for (const band of panel.querySelectorAll('.mark[data-kind="band"]')) {
      const k = (numbers(band, "x") || []).indexOf(x);
      if (k >= 0) lines.push(band.getAttribute("data-series") + ": " + num(numbers(band, "lo")[k], 4) + " to " + num(numbers(band, "hi")[k], 4));
    }
    return lines.filter((line) => line).join("\n");
  };
  const onScreen = (point) => new DOMPoint(point.left, point.top).matrixTransform(point.panel.getScreenCTM());
  const hide = () => { tip.hidden = true; ring.remove(); };
  const show = (point, more) => {
    ring.setAttribute("cx", point.left);
    ring.setAttribute("cy", point.top);
    point.panel.append(ring);
    tip.hidden = false;
    tip.textContent = words(point) + (more || "");
    const at = onScreen(point), beside = at.x + 14 + tip.offsetWidth > innerWidth ? at.x - 14 - tip.offsetWidth : at.x + 14;
    tip.style.left = Math.max(4, Math.min(beside, innerWidth - tip.offsetWidth - 4)) + "px";
    tip.style.top = Math.max(4, Math.min(at.y + 14, innerHeight - tip.offsetHeight - 4)) + "px";
  };

  // Pointer and touch: the nearest point within 20 units of the figure.
  const inside = (panel, x, y) => { const b = panel.getBoundingClientRect(); return x >= b.left && x <= b.right && y >= b.top && y <= b.bottom; };
  const nearest = (svg, x, y) => {
    const panel = [...svg.querySelectorAll(".panel")].find((p) => inside(p, x, y)), ctm = panel && panel.getScreenCTM();
    if (!ctm) return null;
    const p = new DOMPoint(x, y).matrixTransform(ctm.inverse());
    let best = 400, found = null;
    for (const mark of panel.querySelectorAll(".mark")) {
      for (const point of pointsOf(panel, mark)) {
        const d = (point.left - p.x) ** 2 + (point.top - p.y) ** 2;
        if (d < best) { best = d; found = point; }
      }
    }
    return found;
  };
  let byKeys = null; // the group of a figure that keys walk through, with its place in the figure
  const point = (ev) => {
    const svg = ev.target.closest && ev.target.closest("svg.dtf"), found = svg && nearest(svg, ev.clientX, ev.clientY);
    if (found) show(found);
    else if (!byKeys || ev.type === "pointerdown") hide();
  };
  document.addEventListener("pointermove", point);
  document.addEventListener("pointerdown", point);
  document.addEventListener("pointerleave", hide);
  document.addEventListener("scroll", () => { if (!byKeys) hide(); }, true);

  // Keys: left and right walk along a series, up and down change the series.
  const seriesOf = (svg) => [...svg.querySelectorAll(".panel")].flatMap((panel) =>
    [...panel.querySelectorAll(".mark")].map((mark) => pointsOf(panel, mark)).filter((points) => points.length));
  const speak = () => {
    const { series, s, i, hint } = byKeys, chosen = series[s][i];
    const title = chosen.panel.getAttribute("data-panel");
    chosen.mark.ownerSVGElement.parentElement.scrollLeft += onScreen(chosen).x - innerWidth / 2;
    show(chosen, (title ? "\n" + title : "") + (hint ? "\n← → points, ↑ ↓ series" : ""));
    spoken.textContent = (title ? title + ", " : "") + words(chosen).replaceAll("\n", ", ");
  };
  document.addEventListener("focusin", (ev) => {
    byKeys = null;
    hide();
    const svg = ev.target.matches(".scroll:focus-visible") && ev.target.querySelector("svg.dtf");
    const series = svg ? seriesOf(svg) : [];
    if (!series.length) return;
    const s = Math.max(0, series.findIndex(([p]) => p.mark.getAttribute("data-kind") === "points"));
    byKeys = { series, s, i: 0, hint: true };
    speak();
  });
  document.addEventListener("focusout", () => { byKeys = null; hide(); });
  document.addEventListener("keydown", (ev) => {
    if (ev.key === "Escape") { byKeys = null; hide(); return; }
    const step = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0], Home: [0, -Infinity], End: [0, Infinity] }[ev.key];
    if (!byKeys || !step || ev.altKey || ev.ctrlKey || ev.metaKey) return;
    ev.preventDefault();
    const bound = (v, n) => Math.max(0, Math.min(n - 1, v));
    byKeys.s = bound(byKeys.s + step[0], byKeys.series.length);
    byKeys.i = bound(byKeys.i + step[1], byKeys.series[byKeys.s].length);
    byKeys.hint = false;
    speak();
  });
})();

