"use strict";
// Without this the page says the same; with it, it can be turned about.
for (const part of document.querySelectorAll("[data-needs-script]")) part.hidden = false;

const by = (id) => document.getElementById(id);

by("colours").addEventListener("change", (event) => {
  document.documentElement.dataset.colours = event.target.value;
});
by("print").addEventListener("click", () => window.print());

// Numbers among texts in their own order: row 9 before row 10.
const texts = new Intl.Collator(undefined, { numeric: true });

function sortBy(table, column, kind, falling) {
  const value = (row) => {
    const cell = row.cells[column];
    const text = cell.dataset.value ?? cell.textContent.trim();
    return kind === "number" ? Number.parseFloat(text) : text;
  };
  const rows = [...table.tBodies[0].rows];
  rows.sort((a, b) => {
    const [x, y] = [value(a), value(b)];
    if (kind !== "number") return (falling ? -1 : 1) * texts.compare(x, y);
    if (Number.isNaN(x) || Number.isNaN(y)) return Number.isNaN(x) - Number.isNaN(y);
    return (falling ? -1 : 1) * (x - y);
  });
  table.tBodies[0].append(...rows);
}

for (const head of document.querySelectorAll("th[data-sort]")) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "sort";
  button.append(...head.childNodes);
  head.append(button);
  button.addEventListener("click", () => {
    const falling = head.getAttribute("aria-sort") === "ascending";
    for (const other of head.parentElement.cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", falling ? "descending" : "ascending");
    sortBy(head.closest("table"), head.cellIndex, head.dataset.sort, falling);
  });
}

by("unit")?.addEventListener("change", (event) => {
  for (const cell of by("confusion").querySelectorAll("td")) {
    cell.textContent = cell.dataset[event.target.value];
  }
});

function filter() {
  const [kind, wanted] = [by("kind").value, by("search").value.trim().toLowerCase()];
  const rows = [...by("hardest").tBodies[0].rows];
  for (const row of rows) {
    const fits = !kind || row.dataset.kind === kind;
    row.hidden = !(fits && row.textContent.toLowerCase().includes(wanted));
  }
  const left = rows.filter((row) => !row.hidden).length;
  by("shown").textContent = `${left} of ${rows.length} rows`;
}

if (by("hardest")) {
  by("kind").addEventListener("input", filter);
  by("search").addEventListener("input", filter);
  filter();
}

by("marked")?.addEventListener("change", (event) => {
  for (const row of document.querySelectorAll("tr[data-marked]")) {
    row.hidden = event.target.checked && row.dataset.marked === "no";
  }
});
