// Finds the sections that have all words typed, those with the words in the heading first.
const root = document.currentScript.dataset.root;
const field = document.getElementById("search"), list = document.getElementById("found");
const texts = sections.map(s => [s.page + " " + s.heading, s.text].map(t => t.toLowerCase()));

field.addEventListener("input", () => {
  const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
  const rank = i => words.filter(w => !texts[i][0].includes(w)).length;
  const hits = [...sections.keys()].filter(i => words.length && words.every(w => texts[i].some(t => t.includes(w))));
  hits.sort((a, b) => rank(a) - rank(b) || a - b);
  list.replaceChildren(...hits.slice(0, 20).map(i => {
    const s = sections[i], item = document.createElement("li"), a = document.createElement("a"), part = document.createElement("small");
    a.href = root + s.url;
    a.textContent = s.page === s.heading ? s.heading : s.page + ": " + s.heading;
    const at = Math.max(0, Math.max(...words.map(w => texts[i][1].indexOf(w))) - 60);
    part.textContent = (at ? "… " : "") + s.text.slice(at, at + 160) + (at + 160 < s.text.length ? " …" : "");
    item.append(a, part);
    return item;
  }));
});
