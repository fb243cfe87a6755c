"use strict";
for (const table of document.querySelectorAll("table.sortable")) {
  const rows = table.tBodies[0];
  table.querySelectorAll("thead th").forEach((head, at) => {
    const told = (row) => row.children[at].dataset.sort ?? row.children[at].textContent.trim();
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      for (const one of head.parentNode.children) one.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const sign = down ? -1 : 1;
      const order = (a, b) => sign * (a - b || String(a).localeCompare(String(b), undefined, { numeric: true }));
      rows.append(...[...rows.rows].sort((a, b) => order(told(a), told(b))));
    });
  });
}
