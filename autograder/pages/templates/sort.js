"use strict";
for (const table of document.querySelectorAll("table.sortable")) {
  const body = table.tBodies[0];
  for (const head of table.tHead.querySelectorAll("th")) {
    if (!head.textContent.trim()) continue;
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const up = head.getAttribute("aria-sort") !== "ascending";
      for (const other of head.parentNode.children) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      const value = (row) => {
        const cell = row.cells[head.cellIndex];
        const stated = cell.dataset.sort ?? cell.textContent.trim();
        const number = Number.parseFloat(stated.replace("−", "-"));
        return [Number.isNaN(number) ? Number.NEGATIVE_INFINITY : number, stated];
      };
      const rows = [...body.rows].map((row) => [value(row), row]);
      rows.sort(([[one, first]], [[other, second]]) =>
        (one === other ? first.localeCompare(second) : one < other ? -1 : 1) * (up ? 1 : -1));
      body.append(...rows.map(([, row]) => row));
    });
  }
}
