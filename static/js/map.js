// The picture of the page Map: points on a canvas, moved and zoomed by hand. What is selected is
// in the address and on the page (#map-state); a click or an area asks the server for both.
(() => {
  const frame = document.getElementById("map");
  const canvas = document.getElementById("map-canvas");
  if (!frame || !canvas) return;
  const pen = canvas.getContext("2d");
  const GRID = 4095;
  const [REACH, CORNERS] = [14, 60];
  const view = { scale: 1, x: 0, y: 0 };
  const fingers = new Map();
  let [points, chosen, asked] = [null, null, null];
  let state = {};
  let ink = {};
  let [lasso, start] = [null, null];
  let waits = false;

  // ── The page around it ─────────────────────────────────────────────────────
  function read() {
    state = JSON.parse(document.getElementById("map-state").textContent);
    const style = getComputedStyle(canvas);
    const colours = {};
    for (const swatch of document.querySelectorAll("#map-legend [data-code]")) {
      colours[swatch.dataset.code] = getComputedStyle(swatch).backgroundColor;
    }
    ink = { colours, text: style.color, ground: style.backgroundColor };
    // The page is of another map than the points: they are loaded again, once.
    if (points && ![points.version, asked].includes(state.version)) load();
    select();
    redraw();
  }

  function inside(x, y, area) {
    let odd = false;
    for (let i = 0, j = area.length - 1; i < area.length; j = i++) {
      const [x1, y1] = area[i];
      const [x2, y2] = area[j];
      if ((y1 > y) !== (y2 > y) && x < (x2 - x1) * (y - y1) / (y2 - y1) + x1) odd = !odd;
    }
    return odd;
  }

  // Which points are selected; null for all of them.
  function select() {
    chosen = null;
    if (!points) return;
    const tests = Object.entries(state.filters).map(([name, code]) => {
      const codes = points.codes[name];
      return (i) => codes[i] === String(code);
    });
    if (state.group !== null) {
      const letter = String.fromCharCode(65 + state.group);
      tests.push((i) => points.group[i] === letter);
    }
    if (state.area.length) tests.push((i) => inside(points.x[i], points.y[i], state.area));
    if (tests.length) chosen = points.x.map((_, i) => tests.every((test) => test(i)));
  }

  function go(changes) {
    const url = new URL(location);
    url.searchParams.delete("cursor");
    for (const [name, value] of Object.entries(changes)) {
      if (value === null) url.searchParams.delete(name);
      else url.searchParams.set(name, value);
    }
    htmx.ajax("GET", url.pathname + url.search, { target: "#map-side", swap: "outerHTML" });
    history.replaceState(history.state, "", url);
  }

  // ── Places ─────────────────────────────────────────────────────────────────
  const toX = (x) => (x - GRID / 2) * view.scale + view.x + canvas.clientWidth / 2;
  const toY = (y) => (y - GRID / 2) * view.scale + view.y + canvas.clientHeight / 2;
  const fromX = (x) => (x - view.x - canvas.clientWidth / 2) / view.scale + GRID / 2;
  const fromY = (y) => (y - view.y - canvas.clientHeight / 2) / view.scale + GRID / 2;

  // The scale at which all points are in view, and how far they are moved for it.
  function whole() {
    let [left, right, top, bottom] = [GRID, 0, GRID, 0];
    for (let i = 0; i < points.x.length; i++) {
      left = Math.min(left, points.x[i]);
      right = Math.max(right, points.x[i]);
      top = Math.min(top, points.y[i]);
      bottom = Math.max(bottom, points.y[i]);
    }
    const scale = Math.min(
      (canvas.clientWidth - 48) / Math.max(1, right - left),
      (canvas.clientHeight - 48) / Math.max(1, bottom - top),
    );
    return { scale, x: (GRID / 2 - (left + right) / 2) * scale, y: (GRID / 2 - (top + bottom) / 2) * scale };
  }

  function fit() {
    if (points?.x.length) Object.assign(view, whole());
    redraw();
  }

  function zoom(factor, x = canvas.clientWidth / 2, y = canvas.clientHeight / 2) {
    if (!points?.x.length) return;
    const least = whole().scale;
    const scale = Math.min(least * 64, Math.max(least / 2, view.scale * factor));
    const [gridX, gridY] = [fromX(x), fromY(y)];
    view.scale = scale;
    view.x += x - toX(gridX);
    view.y += y - toY(gridY);
    redraw();
  }

  function move(x, y) {
    view.x += x;
    view.y += y;
    redraw();
  }

  function nearest(x, y, reach) {
    let [best, least] = [-1, reach * reach];
    for (let i = 0; i < points.x.length; i++) {
      if (chosen && !chosen[i]) continue;
      const distance = (toX(points.x[i]) - x) ** 2 + (toY(points.y[i]) - y) ** 2;
      if (distance < least) [best, least] = [i, distance];
    }
    return best;
  }

  function open(x, y, reach) {
    const point = points ? nearest(x, y, reach) : -1;
    if (point >= 0) go({ at: `${points.x[point]},${points.y[point]}` });
  }

  // ── Drawing ────────────────────────────────────────────────────────────────
  function redraw() {
    if (waits) return;
    waits = true;
    requestAnimationFrame(() => { waits = false; draw(); });
  }

  function size() {
    const ratio = devicePixelRatio || 1;
    const [width, height] = [canvas.clientWidth * ratio, canvas.clientHeight * ratio].map(Math.round);
    if (canvas.width !== width || canvas.height !== height) [canvas.width, canvas.height] = [width, height];
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  }

  function draw() {
    size();
    pen.clearRect(0, 0, canvas.clientWidth, canvas.clientHeight);
    if (!points) return;
    // What is selected lies above the rest; with a question, its hits lie above all.
    drawPoints(false);
    drawPoints(true);
    drawNames();
    if (state.area.length) drawLine(state.area.map(([x, y]) => [toX(x), toY(y)]), true);
    if (lasso) drawLine(lasso, false);
    drawTrail();
    if (state.at.length) ring(toX(state.at[0]), toY(state.at[1]), 9);
    // With the keyboard: the middle that Enter looks from.
    if (canvas.matches(":focus-visible")) ring(canvas.clientWidth / 2, canvas.clientHeight / 2, 4);
  }

  function drawPoints(isChosen) {
    const pale = !isChosen;
    if (pale && !chosen) return;
    const [codes, side] = [points.codes[state.colour], points.x.length > 5000 ? 3 : 5];
    const [width, height] = [canvas.clientWidth, canvas.clientHeight];
    pen.globalAlpha = pale ? 0.12 : state.trail.length ? 0.35 : 0.85;
    for (const [code, colour] of Object.entries(ink.colours)) {
      pen.fillStyle = colour;
      pen.beginPath();
      for (let i = 0; i < points.x.length; i++) {
        if (codes[i] !== code || (chosen && chosen[i] !== isChosen)) continue;
        const [x, y] = [toX(points.x[i]), toY(points.y[i])];
        if (x < -side || y < -side || x > width + side || y > height + side) continue;
        if (side === 3) pen.rect(x - 1.5, y - 1.5, 3, 3);
        else { pen.moveTo(x + 3, y); pen.arc(x, y, 3, 0, 7); }
      }
      pen.fill();
    }
    pen.globalAlpha = 1;
  }

  // Names that would cover an earlier, larger group's are left out until there is room.
  function drawNames() {
    const taken = [];
    pen.font = "600 12px system-ui, sans-serif";
    pen.textAlign = "center";
    pen.lineWidth = 4;
    pen.lineJoin = "round";
    for (const [gridX, gridY, name] of points.names) {
      const half = pen.measureText(name).width / 2 + 4;
      const x = Math.min(canvas.clientWidth - half, Math.max(half, toX(gridX)));
      const y = toY(gridY);
      if (toX(gridX) < 0 || toX(gridX) > canvas.clientWidth) continue;
      if (taken.some(([x2, y2, half2]) => Math.abs(x - x2) < half + half2 && Math.abs(y - y2) < 18)) continue;
      taken.push([x, y, half]);
      label(name, x, y + 4);
    }
  }

  function label(text, x, y) {
    pen.strokeStyle = ink.ground;
    pen.fillStyle = ink.text;
    pen.strokeText(text, x, y);
    pen.fillText(text, x, y);
  }

  function drawLine(corners, isClosed) {
    pen.strokeStyle = ink.text;
    pen.lineWidth = 1.5;
    pen.setLineDash([5, 4]);
    pen.beginPath();
    for (const [x, y] of corners) pen.lineTo(x, y);
    if (isClosed) pen.closePath();
    pen.stroke();
    pen.setLineDash([]);
  }

  function drawTrail() {
    const steps = state.trail.map(([x, y, rank]) => [toX(x), toY(y), rank]);
    if (steps.length > 1) drawLine(steps, false);
    pen.lineWidth = 2;
    pen.textAlign = "center";
    for (const [x, y, rank] of [...steps].reverse()) {
      pen.beginPath();
      pen.arc(x, y, 10, 0, 7);
      pen.fillStyle = ink.text;
      pen.fill();
      pen.strokeStyle = ink.ground;
      pen.stroke();
      pen.fillStyle = ink.ground;
      pen.fillText(String(rank), x, y + 4);
    }
  }

  function ring(x, y, radius) {
    pen.strokeStyle = ink.text;
    pen.lineWidth = 2;
    pen.beginPath();
    pen.arc(x, y, radius, 0, 7);
    pen.stroke();
  }

  // ── By hand ────────────────────────────────────────────────────────────────
  const isLasso = () => frame.classList.contains("lasso");

  function setLasso(on) {
    frame.classList.toggle("lasso", on);
    frame.querySelector("[data-map=lasso]").setAttribute("aria-pressed", String(on));
  }

  function finishLasso() {
    const every = Math.ceil(lasso.length / CORNERS);
    const onGrid = (value) => Math.min(GRID, Math.max(0, Math.round(value)));
    const corners = lasso.filter((_, i) => i % every === 0).map(([x, y]) => [onGrid(fromX(x)), onGrid(fromY(y))]);
    lasso = null;
    setLasso(false);
    if (corners.length > 2) go({ area: corners.flat().join(","), at: null, query: null });
    redraw();
  }

  const place = (event) => [event.offsetX, event.offsetY];

  canvas.addEventListener("pointerdown", (event) => {
    if (event.button) return;
    canvas.setPointerCapture(event.pointerId);
    fingers.set(event.pointerId, place(event));
    start = fingers.size === 1 ? place(event) : null;
    if (isLasso()) lasso = [place(event)];
  });

  canvas.addEventListener("pointermove", (event) => {
    const before = fingers.get(event.pointerId);
    if (!before) return;
    const now = place(event);
    fingers.set(event.pointerId, now);
    if (lasso) { lasso.push(now); redraw(); return; }
    if (fingers.size === 1) {
      if (start && Math.hypot(now[0] - start[0], now[1] - start[1]) < 4) return;
      start = null;
      move(now[0] - before[0], now[1] - before[1]);
      return;
    }
    const other = [...fingers].find(([id]) => id !== event.pointerId)[1];
    const length = (a) => Math.max(1, Math.hypot(a[0] - other[0], a[1] - other[1]));
    zoom(length(now) / length(before), (now[0] + other[0]) / 2, (now[1] + other[1]) / 2);
  });

  function release(event) {
    if (!fingers.delete(event.pointerId)) return;
    if (lasso) finishLasso();
    else if (start && event.type === "pointerup") open(...start, REACH);
    start = null;
  }

  canvas.addEventListener("pointerup", release);
  canvas.addEventListener("pointercancel", release);
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    zoom(Math.exp(-Math.max(-60, Math.min(60, event.deltaY)) / 200), ...place(event));
  }, { passive: false });

  const keys = {
    ArrowLeft: () => move(48, 0),
    ArrowRight: () => move(-48, 0),
    ArrowUp: () => move(0, 48),
    ArrowDown: () => move(0, -48),
    "+": () => zoom(1.5),
    "=": () => zoom(1.5),
    "-": () => zoom(1 / 1.5),
    0: fit,
    Enter: () => open(canvas.clientWidth / 2, canvas.clientHeight / 2, Infinity),
    Escape: () => { lasso = null; setLasso(false); redraw(); },
  };
  canvas.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !(event.key in keys)) return;
    event.preventDefault();
    event.stopPropagation();
    keys[event.key]();
  });
  canvas.addEventListener("focus", redraw);
  canvas.addEventListener("blur", redraw);

  const buttons = { in: () => zoom(1.5), out: () => zoom(1 / 1.5), fit, lasso: () => setLasso(!isLasso()) };
  frame.addEventListener("click", (event) => buttons[event.target.closest("[data-map]")?.dataset.map]?.());

  // ── Beginning ──────────────────────────────────────────────────────────────
  document.addEventListener("htmx:afterSwap", (event) => {
    if (event.detail.target?.id === "map-side" || event.detail.elt?.id === "map-side") read();
  });
  new ResizeObserver(redraw).observe(canvas);
  new MutationObserver(read).observe(document.documentElement, { attributeFilter: ["data-theme"] });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", read);

  async function load() {
    const said = document.getElementById("map-said");
    asked = state.version;
    said.textContent = frame.dataset.wordsLoading;
    try {
      const answer = await fetch(frame.dataset.points, { headers: { Accept: "application/json" } });
      if (!answer.ok) throw new Error(String(answer.status));
      points = await answer.json();
      said.textContent = "";
    } catch {
      said.textContent = frame.dataset.wordsFailed;
      return;
    }
    read();
  }

  read();
  load().then(fit);
})();
