// The command palette. The server finds; this opens the dialog and moves in what came back.
(() => {
  const dialog = document.getElementById("palette");
  if (!dialog) return;
  const field = document.getElementById("palette-find");
  const list = document.getElementById("palette-hits");
  const box = document.getElementById("find");
  const options = () => [...list.querySelectorAll("[role=option]")];

  function select(option) {
    list.querySelector("[aria-selected=true]")?.setAttribute("aria-selected", "false");
    field.removeAttribute("aria-activedescendant");
    if (!option) return;
    option.setAttribute("aria-selected", "true");
    option.scrollIntoView({ block: "nearest" });
    field.setAttribute("aria-activedescendant", option.id);
  }

  function open(text = "") {
    if (!dialog.open) dialog.showModal();
    field.value = text;
    field.focus();
    htmx.trigger(field.form, "palette");
  }

  document.addEventListener("keydown", (event) => {
    if (event.key.toLowerCase() !== "k" || !(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey) return;
    event.preventDefault();
    if (dialog.open) dialog.close();
    else open();
  });
  document.addEventListener("find", () => open());
  box?.addEventListener("click", () => open(box.value));
  box?.addEventListener("input", () => { const text = box.value; box.value = ""; open(text); });

  field.addEventListener("keydown", (event) => {
    // A search field would only empty itself.
    if (event.key === "Escape") { event.preventDefault(); dialog.close(); return; }
    const all = options();
    const at = all.findIndex((option) => option.getAttribute("aria-selected") === "true");
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      const step = event.key === "ArrowDown" ? 1 : -1;
      select(all[(at + step + all.length) % all.length]);
    } else if (event.key === "Enter" && at >= 0 && list.dataset.text === field.value) {
      event.preventDefault();
      all[at].click();
    }
  });

  // The first line is chosen; Enter before an answer is there sends the form instead.
  list.addEventListener("htmx:afterSwap", (event) => {
    list.dataset.text = event.detail.requestConfig.parameters.find ?? "";
    select(options()[0]);
  });
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog || event.target.closest("[data-close]")) dialog.close();
  });
})();
