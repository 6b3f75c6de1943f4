// The data of the page: src/report/page_data.cpp is the other side.

const COMPUTE = 0, COLLECTIVE = 1, WAIT = 2, BLOCKING = 3;  // SpanKind

async function readData() {
  const packed = Uint8Array.from(atob(byId("data").textContent.trim()), (c) => c.charCodeAt(0));
  const unpacked = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  const raw = JSON.parse(await new Response(unpacked).text());
  const steps = raw.steps;
  return { ...raw, timelines: raw.timelines.map((line, index) => readTimeline(line, index, steps)) };
}

function sums(differences) {
  const values = new Float64Array(differences.length);
  let sum = 0;
  differences.forEach((difference, i) => { values[i] = sum += difference; });
  return values;
}

function readTimeline(raw, index, steps) {
  const { spans } = raw;
  const count = spans.step.length;
  const line = {
    ...raw, index, count, steps,
    step: sums(spans.step), lane: spans.lane, stood: spans.stood,
    begin: new Float64Array(count), end: new Float64Array(count),
    onLane: raw.lanes.map(() => []),  // spans of each lane, in order
    collectiveOf: new Map(),          // by span of a collective or of a wait
    exposedSpans: [],                 // spans before which the compute lane stands still
  };
  const free = raw.lanes.map(() => 0);
  for (let i = 0; i < count; ++i) {
    const lane = spans.lane[i];
    line.begin[i] = free[lane] + spans.gap[i];
    line.end[i] = free[lane] = line.begin[i] + steps.time[line.step[i]];
    line.onLane[lane].push(i);
    if (spans.stood[i] > 0 && lane === 0) line.exposedSpans.push(i);
  }
  line.computeEnd = line.onLane[0].reduce((end, i) => Math.max(end, line.end[i]), 0);
  line.needs = spans.needs.map((distance, i) => (distance === 0 ? -1 : i - distance));
  line.neededBy = spans.needed_by.map((distance, i) => (distance === 0 ? -1 : i + distance));
  line.collectives = readCollectives(raw.collectives, line);
  line.memory = { time: sums(raw.memory.time), held: sums(raw.memory.held) };
  return line;
}

function readCollectives(raw, line) {
  const span = sums(raw.span), issued = sums(raw.issued);
  return raw.kind.map((kind, i) => {
    const row = {
      line, index: i, span: span[i], issued: issued[i], hidden: raw.hidden[i], exposed: raw.exposed[i],
      kind: raw.texts[kind], startLimit: raw.texts[raw.start_limit[i]], waitLimit: raw.texts[raw.wait_limit[i]],
      wait: raw.wait[i] === 0 ? -1 : span[i] + raw.wait[i],
      users: raw.users[i].map((distance) => span[i] + distance),
      name: nameOf(line, span[i]), time: line.end[span[i]] - line.begin[span[i]],
      group: line.lanes[line.lane[span[i]]], bytes: line.steps.bytes[line.step[span[i]]],
    };
    line.collectiveOf.set(row.span, row);
    if (row.wait >= 0) line.collectiveOf.set(row.wait, row);
    return row;
  });
}

const nameOf = (line, span) => line.steps.name[line.step[span]];
const opOf = (line, span) => line.steps.ops[line.steps.op[line.step[span]]];
const shapesOf = (line, span) => line.steps.shape_texts[line.steps.shapes[line.step[span]]];
const bytesOf = (line, span) => line.steps.bytes[line.step[span]];
const kindOf = (line, span) => line.steps.kind[line.step[span]];

// The index of the first element of `spans` whose end is behind `time`: spans of a lane come one after the other.
function firstBehind(line, spans, time) {
  let low = 0, high = spans.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (line.end[spans[middle]] > time) high = middle; else low = middle + 1;
  }
  return low;
}
