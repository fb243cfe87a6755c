// One key presses the button or follows the link that names it.
document.addEventListener("keydown", (event) => {
  const writing = event.target.closest("input, textarea, select, [contenteditable]");
  if (writing || event.repeat || event.ctrlKey || event.altKey || event.metaKey || event.shiftKey) return;
  document.querySelector(`[data-key="${CSS.escape(event.key)}"]`)?.click();
});
