// Single keys on every page: moving in lists, pressing what carries a key, going to a place,
// and the list of all of them. Each key only does what a link or a button in view does.
(() => {
  const TEXT = "select, textarea, [contenteditable], input:not([type=checkbox], [type=radio])";
  const root = document.documentElement;

  function off() {
    try { return localStorage.getItem("crewship-keys") === "off"; } catch { return false; }
  }

  const shown = (element) => element.checkVisibility();
  const rows = () => [...document.querySelectorAll("[data-list] [data-row]")].filter(shown);
  const current = () => document.activeElement?.closest("[data-row]");
  const first = (row) => row.querySelector("a[href]") ?? row.querySelector("button:not(:disabled), input:not([type=hidden], :disabled)") ?? row;

  function move(step) {
    const all = rows();
    const at = all.indexOf(current());
    const row = at < 0 ? all.at(step > 0 ? 0 : -1) : all[at + step];
    if (!row) return;
    const target = first(row);
    if (target === row) row.tabIndex = -1;
    target.focus();
    row.scrollIntoView({ block: "nearest" });
  }

  const listKeys = {
    j: () => move(1),
    k: () => move(-1),
    o: () => current()?.querySelector("a[href]")?.click(),
    x: () => current()?.querySelector("input[type=checkbox]:not(:disabled)")?.click(),
  };

  const pressable = (name, key) =>
    [...document.querySelectorAll(`[${name}="${CSS.escape(key)}"]:not(:disabled)`)];

  function go(key) {
    delete root.dataset.going;
    const [link] = pressable("data-go", key);
    link?.click();
    return Boolean(link);
  }

  function act(key) {
    if ("going" in root.dataset) return go(key);
    const button = pressable("data-key", key).find(shown);
    if (button) button.click();
    else if (key === "?") document.getElementById("keys")?.togglePopover();
    else if (key === "/") document.dispatchEvent(new CustomEvent("find"));
    else if (key === "g") {
      // The letter of a place follows soon, or g is forgotten.
      root.dataset.going = "";
      setTimeout(() => delete root.dataset.going, 1500);
    }
    else if (key in listKeys && rows().length) listKeys[key]();
    else return false;
    return true;
  }

  document.addEventListener("keydown", (event) => {
    if (["Shift", "Control", "Alt", "Meta"].includes(event.key)) return;
    if (event.target.closest(TEXT) || event.ctrlKey || event.metaKey || event.altKey) return;
    if (off() || document.querySelector("dialog:modal")) return;
    if (act(event.key)) event.preventDefault();
  });

  function line(list, keys, words) {
    const term = document.createElement("dt");
    keys.forEach((key, at) => {
      const cap = document.createElement("kbd");
      cap.textContent = key;
      term.append(at ? " " : "", cap);
    });
    const meaning = document.createElement("dd");
    meaning.textContent = words;
    list.append(term, meaning);
  }

  // The list names what the page in view has, at the moment it opens.
  document.getElementById("keys")?.addEventListener("beforetoggle", (event) => {
    if (event.newState !== "open") return;
    const here = document.getElementById("keys-here");
    const places = document.getElementById("keys-places");
    here.replaceChildren();
    places.replaceChildren();
    const all = rows();
    if (all.length) {
      line(here, ["j", "k"], here.dataset.wordsMove);
      line(here, ["o", "Enter"], here.dataset.wordsOpen);
    }
    if (all.some((row) => row.querySelector("input[type=checkbox]"))) line(here, ["x"], here.dataset.wordsTick);
    const labels = new Map();
    for (const button of document.querySelectorAll("[data-key][data-key-label]")) {
      if (shown(button)) labels.set(button.dataset.key, button.dataset.keyLabel);
    }
    for (const [key, label] of labels) line(here, [key], label);
    for (const link of document.querySelectorAll("[data-go]")) {
      line(places, ["g", link.dataset.go], link.dataset.goLabel);
    }
    for (const list of [here, places]) {
      list.hidden = list.previousElementSibling.hidden = !list.childElementCount;
    }
  });
})();
