// Single keys of the two inboxes, quarantine and proposals. Each presses a button or a link that is on the page; they
// act outside input fields only, and the switch in the rail turns them off. A key never
// decides: it marks a decision, and Enter carries out the one that is marked.
(() => {
  const find = (selector) => document.querySelector(selector);
  let chosen = null;

  function off() {
    try { return localStorage.getItem("crewship-keys") === "off"; } catch { return false; }
  }

  function choose(button) {
    chosen?.removeAttribute("aria-pressed");
    chosen = button;
    const told = find("#chosen");
    if (told) {
      told.hidden = !button;
      told.textContent = button ? told.dataset.wordsChosen.replace("{decision}", () => button.dataset.words) : "";
    }
    if (!button) return;
    button.setAttribute("aria-pressed", "true");
    find("#reason").focus();
  }

  function hasReason() {
    return chosen.hasAttribute("data-no-reason") || Boolean(find("#reason")?.value.trim() || find("#preset")?.value);
  }

  const moves = {
    j: () => find("#next")?.click(),
    k: () => find("#previous")?.click(),
    o: () => find("#reading .matter")?.focus(),
    "?": () => find("#review-keys")?.togglePopover(),
    "/": () => {
      const sift = find(".sift");
      if (!sift) return;
      sift.open = true;
      sift.querySelector("input[name=q]").focus();
    },
  };

  function act(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || off()) return;
    if ("going" in document.documentElement.dataset || document.querySelector("dialog:modal")) return;
    if (event.target.closest("input:not([type=checkbox], [type=radio]), select, textarea, [contenteditable]")) return;
    if (/^[1-9]$/.test(event.key)) {
      find(`#m${event.key}`)?.scrollIntoView({ block: "center" });
      return;
    }
    const button = find(`[data-key="${CSS.escape(event.key)}"]`);
    if (event.key in moves) moves[event.key]();
    else if (button?.name === "decision") choose(button);
    else if (button) button.click();
    else return;
    event.preventDefault();
    event.stopImmediatePropagation();
  }

  document.addEventListener("keydown", act, true);

  document.addEventListener("keydown", (event) => {
    if (!event.target.closest("#decision")) return;
    if (event.key === "Escape" && chosen) { choose(null); return; }
    if (event.key !== "Enter" || event.target.id !== "reason") return;
    event.preventDefault();
    if (chosen?.isConnected && hasReason()) chosen.click();
  });

  // Opening another text fetches the list as well: what is ticked in it stays ticked.
  const boxes = () => [...document.querySelectorAll(".queue input[name=items]")];
  let ticked = [];
  document.addEventListener("htmx:beforeSwap", (event) => {
    if (event.detail.target.id === "review") ticked = boxes().filter((box) => box.checked).map((box) => box.value);
  });

  document.addEventListener("htmx:afterSettle", (event) => {
    if (event.detail.elt.id !== "review") return;
    choose(null);
    for (const box of boxes()) box.checked ||= ticked.includes(box.value);
    find(".held-file.current")?.scrollIntoView({ block: "nearest" });
    // The next text is open: keys must reach it, not the field the last reason stood in.
    if (!find("#review [data-focus], #review [aria-invalid=true]")) find("#h-item")?.focus({ preventScroll: true });
    // On a narrow screen the list is below what is read.
    if (matchMedia("(max-width: 64rem)").matches) find("#reading")?.scrollIntoView();
  });
})();
