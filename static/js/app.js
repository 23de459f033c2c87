// What pages gain from scripts: theme, keys, copying, toasts, manners after a swap.
// Everything else is links, forms and popovers that work without it.
(() => {
  const root = document.documentElement;
  const themes = ["system", "light", "dark"];

  const recall = (key) => { try { return localStorage.getItem(key); } catch { return null; } };
  const keep = (key, value) => { try { localStorage.setItem(key, value); } catch { /* for this page only */ } };

  function showTheme() {
    const button = document.getElementById("theme");
    const words = { light: "wordsLight", dark: "wordsDark" }[root.dataset.theme] ?? "wordsSystem";
    if (button) button.textContent = button.dataset[words];
  }

  function nextTheme() {
    const now = themes.indexOf(root.dataset.theme ?? "system");
    const next = themes[(now + 1) % themes.length];
    if (next === "system") delete root.dataset.theme;
    else root.dataset.theme = next;
    keep("crewship-theme", next);
    showTheme();
  }

  const toasts = document.getElementById("toasts");

  function toast(text) {
    const note = document.createElement("div");
    note.className = "toast";
    note.textContent = text;
    toasts.replaceChildren(note);
    setTimeout(() => note.remove(), 6000);
  }

  async function copy(button) {
    const source = document.querySelector(button.dataset.copy);
    const text = (source.value ?? source.textContent).trim();
    try {
      await navigator.clipboard.writeText(text);
      toast(button.dataset.copied ?? toasts.dataset.wordsCopied);
    } catch {
      getSelection().selectAllChildren(source);
      toast(toasts.dataset.wordsNoCopy);
    }
  }

  document.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (button?.id === "theme") nextTheme();
    if (button?.dataset.copy) copy(button);
  });

  document.addEventListener("change", (event) => {
    if (event.target.id === "single-keys") keep("crewship-keys", event.target.checked ? "on" : "off");
    if (!event.target.hasAttribute("data-tick-all")) return;
    const boxes = event.target.closest("table").querySelectorAll("tbody input[type=checkbox]:not(:disabled)");
    for (const box of boxes) box.checked = event.target.checked;
  });

  // A second press sends nothing: the answer to the first, with its undo, would be lost.
  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (!form.hasAttribute("data-once") || event.defaultPrevented) return;
    if (form.dataset.once) event.preventDefault();
    form.dataset.once = "sent";
  });
  addEventListener("pageshow", (event) => {
    if (event.persisted) for (const form of document.querySelectorAll("[data-once]")) form.dataset.once = "";
  });

  // A live part rests while nobody looks.
  document.addEventListener("htmx:beforeRequest", (event) => {
    if (document.hidden && event.detail.elt.hasAttribute("data-live")) event.preventDefault();
  });

  // A session that ended answers a fragment with the sign-in page: go there whole.
  document.addEventListener("htmx:beforeSwap", (event) => {
    if (event.detail.xhr.responseURL.includes("/accounts/login/")) {
      event.detail.shouldSwap = false;
      location.reload();
    }
  });

  // Focus follows what the person asked for; what refreshes by itself leaves it alone.
  document.addEventListener("htmx:afterSettle", (event) => {
    if (event.detail.elt.hasAttribute("data-live")) return;
    const fault = event.detail.elt.querySelector("[aria-invalid=true], [data-focus]");
    fault?.focus();
  });

  // Esc puts away the meaning of a word that hover or focus shows, until both are over.
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    for (const word of document.querySelectorAll(".term:is(:hover, :focus)")) {
      word.dataset.closed = "";
      for (const end of ["pointerleave", "blur"]) word.addEventListener(end, () => delete word.dataset.closed, { once: true });
    }
  });

  document.addEventListener("toast", (event) => toast(event.detail.value));

  // In a low window the rail scrolls: where you are is in sight.
  const rail = document.getElementById("rail");
  const here = rail?.querySelector(".places [aria-current]");
  if (here && rail.scrollHeight > rail.clientHeight) rail.scrollTop = here.offsetTop - rail.clientHeight / 2;

  // On a narrow screen the row of tabs scrolls: the current one is in sight.
  const tab = document.querySelector(".place-tabs [aria-current]");
  if (tab) tab.parentElement.scrollLeft = tab.offsetLeft - tab.parentElement.clientWidth / 2;

  showTheme();
  const single = document.getElementById("single-keys");
  if (single) single.checked = recall("crewship-keys") !== "off";
})();
