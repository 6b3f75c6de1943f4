// What is marked on the canvas: the span under the pointer, and the selected one with everything that belongs to it.

function drawMarks(painter, marks) {
  painter.flags = [];  // words that are drawn already
  if (marks.selected) drawSelection(painter, marks.selected);
  if (marks.hover) outline(painter, marks.hover.line, marks.hover.span, { exposed: marks.hover.exposed, colour: "ink" });
}

function rowOf(painter, line, lane) { return painter.layout.rows.find((row) => row.line === line && row.lane === lane); }

function outline(painter, line, span, { exposed = false, colour: name = "accent", width = 2, dash = [], label = "" } = {}) {
  const row = rowOf(painter, line, line.lane[span]);
  if (!row) return;
  const { c } = painter;
  const from = exposed ? line.begin[span] - line.stood[span] : line.begin[span];
  const to = exposed ? line.begin[span] : line.end[span];
  const x = painter.x(from), right = Math.max(painter.x(to), x + 2);
  c.strokeStyle = colour(name);
  c.lineWidth = width;
  c.setLineDash(dash);
  c.strokeRect(x, row.top + 1, right - x, row.height - 2);
  c.setLineDash([]);
  if (label) flag(painter, label, x, row.top, name);
}

// A small word above a row; where there is one already, above that.
function flag(painter, text, x, top, name) {
  const { c } = painter;
  c.font = "600 11px system-ui, sans-serif";
  const width = c.measureText(text).width + 8;
  const left = Math.min(Math.max(x, GUTTER), painter.width - width);
  let y = top - 13;
  while (painter.flags.some((other) => other.y === y && left < other.left + other.width + 2 && other.left < left + width + 2)) y -= 15;
  painter.flags.push({ y, left, width });
  c.fillStyle = colour(name);
  c.fillRect(left, y, width, 14);
  c.fillStyle = colour("panel");
  c.textAlign = "left";
  c.fillText(text, left + 4, y + 7);
  c.font = "12px system-ui, sans-serif";
}

// Draws a span again above the veil that lies over everything else.
function lift(painter, line, span) {
  const row = rowOf(painter, line, line.lane[span]);
  if (!row || line.end[span] === line.begin[span]) return;
  painter.block(painter.x(line.begin[span]), painter.x(line.end[span]), row.top, row.height, fillOf(line, span), true, nameOf(line, span));
}

function drawSelection(painter, { line, span }) {
  const collective = line.collectiveOf.get(span);
  if (!collective) {
    lift(painter, line, span);
    for (const [other, label] of [[line.needs[span], "needs"], [line.neededBy[span], "needed by"]]) {
      if (other < 0) continue;
      lift(painter, line, other);
      outline(painter, line, other, { colour: "soft", dash: [4, 3], label });
    }
    outline(painter, line, span, { label: "selected" });
    return;
  }
  drawCollective(painter, line, collective);
}

function drawCollective(painter, line, collective) {
  const compute = rowOf(painter, line, 0);
  lift(painter, line, collective.span);
  const limiting = line.needs[collective.span];
  for (const span of [limiting, ...collective.users]) if (span >= 0) lift(painter, line, span);
  if (collective.wait >= 0 && line.stood[collective.wait] > 0)
    painter.drawExposed(line.begin[collective.wait] - line.stood[collective.wait], line.begin[collective.wait], compute.top, compute.height);
  outline(painter, line, collective.span);
  drawEnd(painter, line, collective, collective.issued, line.begin[collective.span], "start");
  if (collective.wait >= 0) drawEnd(painter, line, collective, line.begin[collective.wait], line.end[collective.span], "wait");
  collective.users.forEach((user, i) => outline(painter, line, user, { colour: "ink", width: 1.5, label: i === 0 ? "first user" : "" }));
  if (limiting >= 0) outline(painter, line, limiting, { colour: "soft", dash: [4, 3], label: "limits the start" });
}

// Where lane 0 issues a collective or waits for it, tied to where it begins or ends on its own lane.
function drawEnd(painter, line, collective, time, at, label) {
  const { c } = painter;
  const compute = rowOf(painter, line, 0);
  arrow(painter, painter.x(time), compute, painter.x(at), rowOf(painter, line, line.lane[collective.span]));
  c.fillStyle = colour("accent");
  c.fillRect(painter.x(time) - 1, compute.top - 2, 2, compute.height + 4);
  flag(painter, label, painter.x(time), compute.top, "accent");
}

function arrow(painter, x, from, otherX, to) {
  const { c } = painter;
  c.strokeStyle = colour("accent");
  c.lineWidth = 1.5;
  c.beginPath();
  const y = from.top + from.height, end = to.top;
  if (to === from) return;
  c.moveTo(x, y);
  c.bezierCurveTo(x, (y + end) / 2, otherX, (y + end) / 2, otherX, end);
  c.stroke();
}
