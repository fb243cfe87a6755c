// One key applies a trial or drops it: the button that names the key is pressed.
document.addEventListener("keydown", (event) => {
  const writing = event.target.closest("input, textarea, select, [contenteditable]");
  if (writing || event.repeat || event.ctrlKey || event.altKey || event.metaKey || event.shiftKey) return;
  if (event.key === "a" || event.key === "d") document.querySelector(`button[data-key="${event.key}"]`)?.click();
});
