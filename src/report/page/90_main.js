// Puts the page together: one state (what is selected, what is under the pointer), one place that changes it.

class Page {
  constructor(data) {
    this.data = data;
    this.timelines = data.timelines;
    this.last = this.timelines[this.timelines.length - 1];
    this.marks = { selected: null, hover: null };
    this.select = this.select.bind(this);
    const longest = Math.max(...this.timelines.map((line) => line.step_time), 1);
    this.view = new View(longest, () => this.redraw());
    this.layout = makeLayout(this.timelines);
    this.canvas = byId("canvas");
    this.painter = new Painter(this.canvas, this.layout, this.view);
    fillSummary(data, this.select);
    this.drawOverview = startOverview(byId("overview"), this.last, this.view);
    startTheme(() => { fillLegend(this.timelines); this.redraw(); });
    this.table = new CollectiveTable(this.timelines, this.select);
    fillDetails(byId("details"), null, this.select);
    startPointer(this);
    startKeyboard(this);
    this.view.jump(0, this.view.limit);
    new ResizeObserver(() => { this.painter.resize(); this.redraw(true); }).observe(byId("stage"));
    this.describe();
  }

  // At most once in a frame.
  redraw(now = false) {
    if (now) return this.paint();
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => this.paint());
  }

  paint() {
    this.waiting = false;
    if (!this.painter.width) this.painter.resize();
    this.painter.draw(this.marks);
    this.drawOverview();
  }

  // {line, span}, or null for nothing.
  select(selected, reveal = false) {
    this.marks.selected = selected;
    fillDetails(byId("details"), selected, this.select);
    this.describe();
    const row = selected && selected.line.collectiveOf.get(selected.span);
    this.table.mark(row || null);
    if (selected && reveal) this.reveal(selected, row);
    this.redraw();
  }

  reveal({ line, span }, row) {
    const shown = row || null;
    const from = shown ? Math.min(shown.issued, line.begin[shown.span]) : line.begin[span];
    const to = shown ? Math.max(line.end[shown.span], shown.wait >= 0 ? line.begin[shown.wait] : 0) : line.end[span];
    this.view.reveal(from, to);
    const box = this.canvas.getBoundingClientRect();
    if (box.bottom < 80 || box.top > window.innerHeight - 80) byId("timeline-title").scrollIntoView({ block: "start" });
  }

  describe() {
    const { selected } = this.marks;
    this.canvas.setAttribute("aria-label", selected ? `Timeline, selected: ${spoken(selected)}` : `Timeline. ${this.data.headline}`);
  }

  // The next (1) or previous (-1) exposed collective, by the time at which it is waited for.
  stepExposed(direction) {
    const line = this.marks.selected ? this.marks.selected.line : this.last;
    const rows = line.collectives.filter((row) => row.exposed > 0).sort((a, b) => a.issued - b.issued);
    if (rows.length === 0) return;
    const now = this.marks.selected && line.collectiveOf.get(this.marks.selected.span);
    const at = now ? rows.indexOf(now) : -1;
    const next = rows[(at + direction + (at < 0 && direction < 0 ? 1 : 0) + rows.length) % rows.length];
    this.select({ line, span: next.span }, true);
  }

  // The next or previous span of the same lane.
  stepSpan(direction) {
    const { selected } = this.marks;
    const line = selected ? selected.line : this.last;
    const spans = line.onLane[selected ? line.lane[selected.span] : 0].filter((span) => line.end[span] > line.begin[span]);
    if (spans.length === 0) return;
    const at = selected ? spans.indexOf(selected.span) : -1;
    const next = spans[Math.min(Math.max(at + direction, 0), spans.length - 1)];
    this.select({ line, span: next }, true);
  }

  // The next step whose name or operator has the text in it.
  find(text) {
    const wanted = text.trim().toLowerCase();
    if (!wanted) return;
    const line = this.marks.selected ? this.marks.selected.line : this.last;
    const start = this.marks.selected ? this.marks.selected.span + 1 : 0;
    for (let i = 0; i < line.count; ++i) {
      const span = (start + i) % line.count;
      if (nameOf(line, span).toLowerCase().includes(wanted) || opOf(line, span).toLowerCase().includes(wanted))
        return this.select({ line, span }, true);
    }
    byId("details").replaceChildren(element("p", {}, `No step of “${line.title}” has “${text}” in its name or operator.`));
  }
}

function startPointer(page) {
  const { canvas, painter, view } = page;
  const tip = byId("tip");
  let drag = null;
  const place = (event) => {
    const box = canvas.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  };
  const hover = (found, at) => {
    const same = found && page.marks.hover && found.span === page.marks.hover.span && found.line === page.marks.hover.line &&
      found.exposed === page.marks.hover.exposed;
    if (!same) { page.marks.hover = found; page.redraw(); }
    tip.hidden = !found;
    if (!found) return;
    if (!same) fillTip(tip, found);
    const left = at.x + 16 + tip.offsetWidth > painter.width ? at.x - tip.offsetWidth - 12 : at.x + 16;
    tip.style.left = `${Math.max(0, left)}px`;
    tip.style.top = `${at.y + 18}px`;
  };
  canvas.addEventListener("pointerdown", (event) => {
    const at = place(event);
    drag = { x: at.x, y: at.y, from: view.from, to: view.to, moved: false };
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    const at = place(event);
    if (drag && Math.abs(at.x - drag.x) > 3) drag.moved = true;
    if (drag && drag.moved) {
      canvas.classList.add("dragging");
      const moved = (at.x - drag.x) * ((drag.to - drag.from) / (painter.width - GUTTER));
      view.jump(drag.from - moved, drag.to - moved);
      return hover(null);
    }
    hover(at.x > GUTTER ? findAt(page.layout, painter.time(at.x), at.y, painter.perPixel) : null, at);
  });
  const release = (event) => {
    canvas.classList.remove("dragging");
    const clicked = drag && !drag.moved;
    drag = null;
    if (!clicked) return;
    const at = place(event);
    page.select(at.x > GUTTER ? findAt(page.layout, painter.time(at.x), at.y, painter.perPixel * 2) : null);
  };
  canvas.addEventListener("pointerup", release);
  canvas.addEventListener("pointercancel", () => { drag = null; });
  canvas.addEventListener("pointerleave", () => hover(null));
  canvas.addEventListener("dblclick", (event) => view.zoom(event.shiftKey ? 1 / 3 : 3, painter.time(place(event).x)));
  canvas.addEventListener("wheel", (event) => {
    // The wheel scrolls the page, as everywhere; with Ctrl, or when the timeline has the focus, it zooms.
    const sideways = Math.abs(event.deltaX) > Math.abs(event.deltaY) || event.shiftKey;
    if (!sideways && !event.ctrlKey && !event.metaKey && document.activeElement !== canvas) return;
    event.preventDefault();
    if (sideways) return view.pan((event.deltaX || event.deltaY) / (painter.width - GUTTER));
    view.zoom(Math.exp(-event.deltaY * (event.ctrlKey && Math.abs(event.deltaY) < 20 ? 0.02 : 0.0025)), painter.time(place(event).x));
  }, { passive: false });
}

function startKeyboard(page) {
  const { view } = page;
  const keys = {
    ArrowLeft: () => view.pan(-0.2), ArrowRight: () => view.pan(0.2), "+": () => view.zoom(1.6), "=": () => view.zoom(1.6),
    "-": () => view.zoom(1 / 1.6), 0: () => view.fit(), Home: () => view.fit(), n: () => page.stepExposed(1), p: () => page.stepExposed(-1),
    "]": () => page.stepSpan(1), "[": () => page.stepSpan(-1), Escape: () => page.select(null),
  };
  page.canvas.addEventListener("keydown", (event) => {
    const action = keys[event.key];
    if (!action || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    action();
  });
  byId("zoom-in").addEventListener("click", () => view.zoom(2));
  byId("zoom-out").addEventListener("click", () => view.zoom(0.5));
  byId("fit").addEventListener("click", () => view.fit());
  byId("next").addEventListener("click", () => page.stepExposed(1));
  byId("previous").addEventListener("click", () => page.stepExposed(-1));
  byId("search").addEventListener("keydown", (event) => { if (event.key === "Enter") page.find(event.target.value); });
}

readData().then((data) => { window.hocketPage = new Page(data); }).catch((error) => {
  byId("headline").textContent = typeof DecompressionStream === "undefined"
    ? "This browser is too old to unpack the report: Chrome 80, Firefox 113, Safari 16.4 or newer is needed."
    : `The report can't be shown: ${error.message}`;
  throw error;
});
