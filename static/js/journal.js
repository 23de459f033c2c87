// Choosing a span of the journal: dragging over the bars lists from the first bar to the last.
// A click on one bar stays a link, and the table below the bars has the same links.
(() => {
  let drag = null;

  const bars = (drawing) => [...drawing.querySelectorAll("a")];

  function barAt(drawing, clientX) {
    const box = drawing.getBoundingClientRect();
    const count = bars(drawing).length;
    const at = Math.floor(((clientX - box.left) / box.width) * count);
    return Math.min(Math.max(at, 0), count - 1);
  }

  function show() {
    const { drawing, start, end } = drag;
    const [first, last] = [Math.min(start, end), Math.max(start, end)];
    const all = bars(drawing);
    all.forEach((bar, at) => bar.classList.toggle("chosen", first <= at && at <= last));
    const output = document.getElementById("chosen-span");
    output.textContent = output.dataset.words
      .replace("{from}", () => all[first].dataset.from)
      .replace("{until}", () => all[last].dataset.until);
  }

  function forget() {
    for (const bar of bars(drag.drawing)) bar.classList.remove("chosen");
    document.getElementById("chosen-span").textContent = "";
    drag = null;
  }

  function address() {
    const all = bars(drag.drawing);
    const href = (at) => new URL(all[at].getAttribute("href"), location.href);
    const chosen = href(Math.min(drag.start, drag.end));
    const until = href(Math.max(drag.start, drag.end)).searchParams.get("until");
    chosen.searchParams.set("until", until);
    return chosen.href;
  }

  document.addEventListener("pointerdown", (event) => {
    const drawing = event.target.closest?.(".histogram");
    if (!drawing || event.button || !event.isPrimary) return;
    const start = barAt(drawing, event.clientX);
    drag = { drawing, start, end: start, moved: false };
  });

  document.addEventListener("pointermove", (event) => {
    if (!drag || !event.isPrimary) return;
    const end = barAt(drag.drawing, event.clientX);
    if (end === drag.end) return;
    // From here on the drawing has the pointer, so that no link is clicked.
    if (!drag.moved) drag.drawing.setPointerCapture(event.pointerId);
    Object.assign(drag, { end, moved: true });
    show();
  });

  document.addEventListener("pointerup", (event) => {
    if (!drag || !event.isPrimary) return;
    if (drag.moved) location.assign(address());
    else drag = null;
  });

  document.addEventListener("pointercancel", () => drag && forget());
  document.addEventListener("keydown", (event) => event.key === "Escape" && drag && forget());
  // The browser would drag the link itself.
  document.addEventListener("dragstart", (event) => event.target.closest?.(".histogram") && event.preventDefault());
  // Back from the list that was chosen, nothing is marked.
  addEventListener("pageshow", () => drag && forget());
})();
