// Draws the timelines. Spans that are narrower than a pixel are drawn together, so a frame costs what is visible, however many steps
// the program has.

class Painter {
  constructor(canvas, layout, view) {
    this.canvas = canvas;
    this.layout = layout;
    this.view = view;
    this.c = canvas.getContext("2d");
  }

  resize() {
    const ratio = window.devicePixelRatio || 1;
    this.width = this.canvas.clientWidth;
    this.canvas.style.height = `${this.layout.height}px`;
    this.canvas.width = Math.round(this.width * ratio);
    this.canvas.height = Math.round(this.layout.height * ratio);
    this.ratio = ratio;
  }

  x(time) { return GUTTER + ((time - this.view.from) / this.view.span) * (this.width - GUTTER); }
  time(x) { return this.view.from + ((x - GUTTER) / (this.width - GUTTER)) * this.view.span; }
  get perPixel() { return this.view.span / (this.width - GUTTER); }

  draw(marks) {
    const { c } = this;
    c.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    c.clearRect(0, 0, this.width, this.layout.height);
    c.font = "12px system-ui, sans-serif";
    c.textBaseline = "middle";
    this.drawAxis();
    for (const title of this.layout.titles) this.drawTitle(title);
    c.save();
    c.beginPath();
    c.rect(GUTTER, 0, this.width - GUTTER, this.layout.height);
    c.clip();
    for (const row of this.layout.rows) this.drawRow(row, marks);
    drawMemory(this, marks);
    drawMarks(this, marks);
    c.restore();
    for (const row of this.layout.rows) this.drawGutter(row);
    drawMemoryScale(this);
  }

  drawAxis() {
    const { c } = this;
    const step = niceStep(this.view.span / Math.max(2, (this.width - GUTTER) / 110));
    c.fillStyle = colour("soft");
    c.textAlign = "center";
    const bottom = this.layout.memory.top + this.layout.memory.height;
    for (let at = Math.ceil(this.view.from / step) * step; at <= this.view.to; at += step) {
      const x = Math.round(this.x(at)) + 0.5;
      c.strokeStyle = colour("line");
      c.lineWidth = 1;
      c.beginPath();
      c.moveTo(x, AXIS_HEIGHT - 5);
      c.lineTo(x, bottom);
      c.stroke();
      if (x > GUTTER + 24 && x < this.width - 24) c.fillText(tickText(at, step), x, AXIS_HEIGHT / 2 - 2);
    }
    c.textAlign = "left";
    c.fillText("time", 0, AXIS_HEIGHT / 2 - 2);
  }

  drawTitle({ line, top }) {
    const { c } = this;
    c.textAlign = "left";
    c.fillStyle = colour("ink");
    c.font = "600 13px system-ui, sans-serif";
    const y = top + TITLE_HEIGHT / 2;
    c.fillText(line.title, 0, y);
    const width = Math.max(GUTTER, c.measureText(line.title).width + 12);
    c.font = "12px system-ui, sans-serif";
    c.fillStyle = colour("soft");
    const text = `step ${timeText(line.step_time)}, exposed ${timeText(line.exposed)}, hidden ${percentText(line.hidden_share)}`;
    c.fillText(`${text} · ${line.source}`, width, y);
  }

  drawGutter(row) {
    const { c } = this;
    c.textAlign = "left";
    c.fillStyle = colour("soft");
    const text = row.lane === 0 ? row.name : `⇄ ${row.name}`;
    if (row.height >= 12) c.fillText(clipped(c, text, GUTTER - 8), 0, row.top + row.height / 2);
  }

  drawRow(row, marks) {
    const { c } = this;
    const { line, lane, top, height } = row;
    c.fillStyle = colour("row");
    c.fillRect(this.x(0), top, this.x(line.step_time) - this.x(0), height);
    const spans = line.onLane[lane];
    let run = null;  // neighbours that are narrower than a pixel, of one colour
    const flush = () => {
      if (run) this.block(run.x, run.right, top, height, run.name, false);
      run = null;
    };
    for (let at = firstBehind(line, spans, this.view.from); at < spans.length; ++at) {
      const span = spans[at];
      const stood = lane === 0 ? line.stood[span] : 0;
      if (line.begin[span] - stood > this.view.to) break;
      if (stood > 0) {
        flush();
        this.drawExposed(line.begin[span] - stood, line.begin[span], top, height);
      }
      if (line.end[span] === line.begin[span]) continue;
      const x = this.x(line.begin[span]), right = this.x(line.end[span]);
      const name = fillOf(line, span);
      if (right - x < 1.5) {
        if (run && run.name === name && x - run.right < 1) run.right = Math.max(run.right, right);
        else { flush(); run = { x, right, name }; }
        continue;
      }
      flush();
      this.block(x, right, top, height, name, true, nameOf(line, span));
    }
    flush();
    if (lane === 0 && line.step_time > line.computeEnd) this.drawExposed(line.computeEnd, line.step_time, top, height);
    if (marks.selected) this.fade(row, marks);
  }

  // A span. Wide ones have an edge and a label.
  block(x, right, top, height, name, single, label) {
    const { c } = this;
    const left = Math.max(x, GUTTER - 2), end = Math.min(right, this.width + 2);
    const width = Math.max(end - left - (single && right - x > 3 ? 1 : 0), 0.75);
    c.fillStyle = colour(name);
    c.fillRect(left, top, width, height);
    if (width > 5 && name !== "compute" && name !== "all_gather") {
      c.fillStyle = pattern(c, name);
      c.fillRect(left, top, width, height);
    }
    if (label && width > 34 && height >= 12) this.label(label, left, top, width, height, name);
  }

  drawExposed(from, to, top, height) {
    const { c } = this;
    const x = this.x(from), right = this.x(to);
    if (right < GUTTER || x > this.width) return;
    const left = Math.max(x, GUTTER - 2), width = Math.max(Math.min(right, this.width + 2) - left, 1);
    c.fillStyle = colour("exposed");
    c.fillRect(left, top, width, height);
    if (width > 3) {
      c.fillStyle = pattern(c, "exposed");
      c.fillRect(left, top, width, height);
    }
    if (width > 96) this.label(`exposed ${timeText(to - from)}`, left, top, width, height, "exposed");
  }

  // Text on a plate of the span's own colour, so that a pattern does not cross it.
  label(text, left, top, width, height, name) {
    const { c } = this;
    const shown = clipped(c, text, width - 10);
    if (shown.length < 3) return;
    const plate = c.measureText(shown).width;
    c.fillStyle = colour(name);
    c.fillRect(left + 3, top + height / 2 - 8, plate + 4, 16);
    c.fillStyle = colour("label");
    c.textAlign = "left";
    c.fillText(shown, left + 5, top + height / 2);
  }

  // What has nothing to do with the selection steps back.
  fade(row, marks) {
    const { c } = this;
    c.globalAlpha = row.line === marks.selected.line ? 0.55 : 0.7;
    c.fillStyle = colour("panel");
    c.fillRect(GUTTER, row.top, this.width - GUTTER, row.height);
    c.globalAlpha = 1;
  }
}

function fillOf(line, span) {
  const kind = kindOf(line, span);
  if (kind === COMPUTE) return "compute";
  if (kind === BLOCKING) return "blocking";
  return line.collectiveOf.get(span)?.kind || "p2p";
}

function clipped(c, text, width) {
  if (c.measureText(text).width <= width) return text;
  let low = 0, high = text.length;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (c.measureText(`${text.slice(0, middle)}…`).width <= width) low = middle; else high = middle - 1;
  }
  return low === 0 ? "" : `${text.slice(0, low)}…`;
}

// 1, 2 or 5 times a power of ten.
function niceStep(rough) {
  const power = 10 ** Math.floor(Math.log10(rough));
  return [1, 2, 5, 10].map((factor) => factor * power).find((step) => step >= rough);
}

// All ticks of an axis in one unit, with as many digits as their distance needs.
function tickText(at, step) {
  const [scale, unit] = TIME_UNITS.find(([s]) => Math.max(at, step) >= s) || TIME_UNITS[4];
  const digits = Math.max(0, -Math.floor(Math.log10(step / scale) + 1e-9));
  return `${(at / scale).toFixed(Math.min(digits, 9))} ${unit}`;
}
