// The memory curve, under the same time axis: the last timeline as an area, the others as dashed lines, the limit and the peak.

function memoryTop(painter) {
  const lines = painter.layout.titles.map((title) => title.line);
  return Math.max(...lines.map((line) => Math.max(line.peak, line.limit)), 1) * 1.08;
}

function memoryY(painter, bytes) {
  const { top, height } = painter.layout.memory;
  return top + height - (bytes / memoryTop(painter)) * height;
}

function drawMemory(painter) {
  const { c, layout } = painter;
  const { top, height } = layout.memory;
  c.strokeStyle = colour("line");
  c.lineWidth = 1;
  c.strokeRect(GUTTER + 0.5, top + 0.5, painter.width - GUTTER - 1, height - 1);
  const lines = layout.titles.map((title) => title.line);
  lines.forEach((line, i) => drawCurve(painter, line, i + 1 === lines.length));
  const last = lines[lines.length - 1];
  if (last.limit > 0) drawLimit(painter, last.limit);
  drawPeak(painter, last);
}

// One value for each pixel: the most that is held there.
function drawCurve(painter, line, filled) {
  const { c } = painter;
  const { time, held } = line.memory;
  if (time.length === 0) return;
  const bottom = painter.layout.memory.top + painter.layout.memory.height;
  const right = Math.min(painter.width, painter.x(line.step_time));
  c.beginPath();
  let at = 0;
  while (at + 1 < time.length && time[at + 1] <= painter.view.from) ++at;
  let started = false, most = held[at];
  for (let x = Math.max(GUTTER, Math.floor(painter.x(0))); x <= right; ++x) {
    const until = painter.time(x + 1);
    most = held[at];
    while (at + 1 < time.length && time[at + 1] < until) most = Math.max(most, held[++at]);
    const y = memoryY(painter, most);
    if (!started) c.moveTo(x, y);
    else c.lineTo(x, y);
    started = true;
  }
  if (!started) return;
  c.strokeStyle = colour(filled ? "memory" : "soft");
  c.lineWidth = filled ? 1.5 : 1.25;
  c.setLineDash(filled ? [] : [5, 3]);
  c.stroke();
  c.setLineDash([]);
  if (!filled) return;
  c.lineTo(right, bottom);
  c.lineTo(Math.max(GUTTER, painter.x(0)), bottom);
  c.closePath();
  c.globalAlpha = 0.22;
  c.fillStyle = colour("memory");
  c.fill();
  c.globalAlpha = 1;
}

function drawLimit(painter, limit) {
  const { c } = painter;
  const y = Math.round(memoryY(painter, limit)) + 0.5;
  c.strokeStyle = colour("limit");
  c.lineWidth = 1.5;
  c.setLineDash([8, 4]);
  c.beginPath();
  c.moveTo(GUTTER, y);
  c.lineTo(painter.width, y);
  c.stroke();
  c.setLineDash([]);
  plate(painter, `limit ${bytesText(limit)}`, painter.width - 6, y + 10, "right", "limit");
}

function drawPeak(painter, line) {
  const { c } = painter;
  const { time, held } = line.memory;
  let best = 0;
  for (let i = 1; i < held.length; ++i) if (held[i] > held[best]) best = i;
  if (held.length === 0) return;
  const x = painter.x(time[best]), y = memoryY(painter, held[best]);
  if (x < GUTTER - 4 || x > painter.width + 4) return;
  c.fillStyle = colour("ink");
  c.beginPath();
  c.arc(x, y, 3.5, 0, 2 * Math.PI);
  c.fill();
  const onRight = x < painter.width * 0.6;
  plate(painter, `peak ${bytesText(held[best])}`, x + (onRight ? 8 : -8), y + 11, onRight ? "left" : "right", "ink");
}

// A text on the panel's colour, so that no line crosses it.
function plate(painter, text, x, y, align, name) {
  const { c } = painter;
  const width = c.measureText(text).width;
  c.fillStyle = colour("panel");
  c.globalAlpha = 0.85;
  c.fillRect(align === "left" ? x - 2 : x - width - 2, y - 8, width + 4, 16);
  c.globalAlpha = 1;
  c.fillStyle = colour(name);
  c.textAlign = align;
  c.fillText(text, x, y);
}

function drawMemoryScale(painter) {
  const { c, layout } = painter;
  const { top, height, titleTop } = layout.memory;
  c.textAlign = "left";
  c.font = "600 13px system-ui, sans-serif";
  c.fillStyle = colour("ink");
  c.fillText("memory", 0, titleTop + TITLE_HEIGHT / 2);
  c.font = "12px system-ui, sans-serif";
  c.fillStyle = colour("soft");
  const lines = layout.titles.map((title) => title.line.title);
  if (lines.length > 1)
    c.fillText(`area: ${lines[lines.length - 1]}; dashed: ${lines.slice(0, -1).join(", ")}`, GUTTER, titleTop + TITLE_HEIGHT / 2);
  const highest = memoryTop(painter);
  for (const share of [0, 0.5, 1]) {
    const y = top + height - share * height;
    c.fillText(bytesText(highest * share), 0, Math.min(Math.max(y, top + 6), top + height - 6));
  }
}

function memoryAt(line, time) {
  const { time: times, held } = line.memory;
  let low = 0, high = times.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (times[middle] > time) high = middle; else low = middle + 1;
  }
  return low === 0 ? 0 : held[low - 1];
}
