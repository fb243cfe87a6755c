// Marking by keys. Everything here can be done without it: keys only fill the form and send it.
"use strict";
(() => {
  const form = document.querySelector("form.mark");
  if (!form) return;
  const items = [...form.querySelectorAll("fieldset.item")];
  const changed = form.querySelector("[data-changed]");
  const comment = form.querySelector("#comment");
  const search = form.querySelector("#search");
  let at = 0;
  // Whoever goes on from a mark that is to be looked at again has looked at it.
  changed.value = changed.dataset.changed || document.querySelector(".notice.error") ? "yes" : "no";
  form.addEventListener("input", (event) => { if (event.target !== search) changed.value = "yes"; });

  const frame = (place) => {
    at = Math.max(0, Math.min(items.length - 1, place));
    items.forEach((item, number) => item.classList.toggle("current", number === at));
  };
  const show = (place) => { frame(place); items[at].scrollIntoView({ block: "nearest" }); };
  const automatic = (item) => item.querySelector(".found .state");
  const open = () => items.findIndex((item) => !automatic(item) &&
    !item.querySelector("input[type=radio]:checked") && !item.querySelector(".typed input").value);
  const give = (points) => {
    const item = items[at], typed = item.querySelector(".typed input");
    const radio = [...item.querySelectorAll("input[type=radio]")].find((one) => Number(one.value) === points);
    const most = Number(item.dataset.points);
    if (points < Math.min(0, most) || points > Math.max(0, most)) return;
    item.querySelectorAll("input[type=radio]").forEach((one) => { one.checked = one === radio; });
    typed.value = radio ? "" : String(points);
    changed.value = "yes";
    // Items that a program has marked come last: their points stand unless somebody changes them.
    const next = items.findIndex((one, place) => place > at && !automatic(one));
    show(next < 0 ? at + 1 : next);
  };
  const send = (then) => { const one = form.querySelector(`button[name=then][value=${then}]`); if (one) form.requestSubmit(one); };
  const keys = {
    a: () => give(Number(items[at].dataset.points)),
    A: () => items.forEach((item, place) => {
      if (!automatic(item)) { frame(place); give(Number(item.dataset.points)); }
    }),
    h: () => give(Number(items[at].dataset.points) / 2),
    j: () => show(at + 1),
    k: () => show(at - 1),
    n: () => send("next"),
    p: () => send("previous"),
    c: () => comment.focus(),
    l: () => {
      const notes = form.querySelector(".notes");
      if (!notes) return;
      notes.open = true;
      const plain = document.querySelector(".written.numbered")?.closest("details");
      if (plain) plain.open = true;
      [...notes.querySelectorAll("[name=first]")].find((one) => !one.value)?.focus();
    },
    g: () => {
      const texts = [...document.querySelectorAll(".asked, details.guide")], open = !texts.some((one) => one.open);
      texts.forEach((one) => { one.open = open; });
    },
    s: () => { const box = form.elements.keep; if (box) box.checked = !box.checked; },
    f: () => { const box = form.elements.flagged; if (box) { box.checked = !box.checked; changed.value = "yes"; } },
    z: () => document.querySelector("form.undo")?.requestSubmit(),
    "/": () => { if (search) { form.querySelector(".library").open = true; search.focus(); } },
    "?": () => { const one = document.querySelector(".keys"); if (one) { one.open = !one.open; one.scrollIntoView({ block: "nearest" }); } },
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || event.repeat) return;
    const field = event.target.closest("textarea, select, input:not([type=radio]):not([type=checkbox])");
    if (event.key === "Escape" && field) { field.blur(); return; }
    if (field === search && search && event.key === "Enter") {
      event.preventDefault();
      const first = form.querySelector(".library li:not([hidden]) button");
      if (first) {
        insert(first.value);
        // Nothing is left to type: Enter or n goes on.
        form.querySelector("button[name=then][value=next]").focus();
      }
      return;
    }
    if (field) return;
    if (/^[0-9]$/.test(event.key)) { event.preventDefault(); give(Math.sign(Number(items[at].dataset.points)) * Number(event.key) || 0); return; }
    if (event.key === "A" && !event.shiftKey) return; // Caps Lock is no wish for full points of everything
    if (event.key in keys) { event.preventDefault(); keys[event.key](); }
  });
  const insert = (text) => {
    comment.value = `${comment.value.trimEnd()}\n${text}`.trim();
    changed.value = "yes";
    comment.focus();
  };
  form.querySelectorAll(".library button").forEach((button) => button.addEventListener("click", (event) => {
    event.preventDefault();
    insert(button.value);
  }));
  if (search) search.addEventListener("input", () => {
    const wanted = search.value.toLowerCase();
    form.querySelectorAll(".library li").forEach((one) => { one.hidden = !one.textContent.toLowerCase().includes(wanted); });
  });
  items.forEach((item, number) => item.addEventListener("focusin", () => { if (at !== number) show(number); }));
  // In one column the items are below the answer, which is read first: nothing scrolls before a key is pressed.
  (matchMedia("(max-width: 60rem)").matches ? frame : show)(Math.max(0, open()));
})();
