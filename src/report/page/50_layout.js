// Where everything stands on the canvas: rows from top to bottom, in CSS pixels.

const GUTTER = 116;  // labels of the lanes
const AXIS_HEIGHT = 24;
const TITLE_HEIGHT = 24;
const MEMORY_HEIGHT = 120;
const MANY_LANES = 8;

function makeLayout(timelines) {
  const rows = [];  // {line, lane, top, height}
  const titles = [];
  let top = AXIS_HEIGHT;
  for (const line of timelines) {
    titles.push({ line, top });
    top += TITLE_HEIGHT;
    const laneHeight = line.lanes.length > MANY_LANES ? 14 : 24;
    for (const lane of lanesOf(line)) {
      const height = lane === 0 ? 32 : laneHeight;
      rows.push({ line, lane, name: line.lanes[lane], top, height });
      top += height + 3;
    }
    top += 10;
  }
  const memory = { top: top + TITLE_HEIGHT, height: MEMORY_HEIGHT, titleTop: top };
  return { rows, titles, memory, height: memory.top + memory.height + 10 };
}

// Lanes that have something on them, the groups by name: the same from timeline to timeline.
function lanesOf(line) {
  const groups = line.lanes.map((name, lane) => lane).filter((lane) => lane > 0 && line.onLane[lane].length > 0);
  groups.sort((a, b) => line.lanes[a].localeCompare(line.lanes[b], "en", { numeric: true }));
  return [0, ...groups];
}

// The span under a point, or what is exposed there: {line, span, exposed}.
function findAt(layout, time, y, tolerance) {
  const row = layout.rows.find((one) => y >= one.top && y < one.top + one.height);
  if (!row) return null;
  const { line } = row;
  const spans = line.onLane[row.lane];
  for (let at = firstBehind(line, spans, time - tolerance); at < spans.length; ++at) {
    const span = spans[at];
    const stood = row.lane === 0 ? line.stood[span] : 0;
    if (line.begin[span] - stood > time + tolerance) return null;
    if (stood > 0 && time < line.begin[span]) return { line, span, exposed: true };
    // A wait takes no time itself: what stands behind it is what is seen.
    if (line.end[span] > line.begin[span] && line.end[span] + tolerance >= time) return { line, span, exposed: false };
  }
  return null;
}
