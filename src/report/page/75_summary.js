// What a manager wants to know: the figures, the change, what is left.

function card(title, value, more, extra) {
  return element("div", { class: "card" }, element("h3", {}, title), element("div", { class: "value" }, value), extra, element("div", { class: "more" }, more));
}

function meter(share, before) {
  const bar = element("div", { class: "meter", "aria-hidden": "true" });
  const fill = element("i");
  fill.style.width = `${share * 100}%`;
  bar.append(fill);
  if (before !== undefined) {
    const mark = element("b");
    mark.style.left = `calc(${before * 100}% - 1px)`;
    bar.append(mark);
  }
  return bar;
}

function fillSummary(data, select) {
  const { timelines } = data;
  const last = timelines[timelines.length - 1];
  const first = timelines.length > 1 ? timelines[0] : null;
  const comparable = first && first.source === last.source;
  byId("title").textContent = data.title;
  byId("version").textContent = data.version;
  byId("headline").textContent = data.headline;
  byId("cards").append(
    card("Communication hidden", percentText(last.hidden_share), first ? `${percentText(first.hidden_share)} ${first.title}` : "", meter(last.hidden_share, first?.hidden_share)),
    stepCard(timelines, comparable),
    card("Waiting for communication", timeText(last.exposed), first ? `${timeText(first.exposed)} ${first.title}; in all ${timeText(last.communication)} of communication` : `of ${timeText(last.communication)} of communication`),
    card("Peak memory", first ? changeText(last.peak, first.peak) : bytesText(last.peak),
      `${first ? `${bytesText(first.peak)} → ` : ""}${bytesText(last.peak)}${last.limit ? `, limit ${bytesText(last.limit)}` : ""}`));
  fillRemaining(last, select);
  for (const [what, value] of [...data.facts, ["steps shown", countText(last.count, "step")], ["made by", `hocket ${data.version}`]])
    byId("facts").append(element("dt", {}, what), element("dd", {}, value));
}

function stepCard(timelines, comparable) {
  const last = timelines[timelines.length - 1];
  if (timelines.length === 1) return card("Step time", timeText(last.step_time), `${timeText(last.compute)} of it computing`);
  if (!comparable) return card("Step time", timeText(last.step_time), timelines.slice(0, -1).map((line) => `${timeText(line.step_time)} ${line.title}, ${line.source}`).join("; "));
  const ratio = timelines[0].step_time / last.step_time;
  const value = ratio >= 1 ? `${ratio.toFixed(2)}× faster` : `${(1 / ratio).toFixed(2)}× slower`;
  return card("Step", value, `${timeText(timelines[0].step_time)} → ${timeText(last.step_time)}`);
}

function fillRemaining(line, select) {
  const left = line.collectives.filter((row) => row.exposed > 0).sort((a, b) => b.exposed - a.exposed);
  const note = byId("remaining");
  if (left.length === 0) {
    note.textContent = line.collectives.length === 0 ? "This step does not communicate." : "No communication is exposed.";
    return;
  }
  note.append(`Still waited for: ${countText(left.length, "collective")}, most for `);
  left.slice(0, 3).forEach((row, i) => {
    note.append(i > 0 ? ", " : "", linkTo(line, row.span, select), ` (${timeText(row.exposed)}${row.startLimit && row.startLimit !== "hidden" ? `; ${row.startLimit}` : ""})`);
  });
  note.append(".");
}

function fillLegend(timelines) {
  const kinds = new Set(timelines.flatMap((line) => line.collectives.map((row) => row.kind)));
  const blocking = timelines.some((line) => line.steps.kind.includes(BLOCKING));
  const entries = [["compute", "computes"], ["exposed", "stands still: exposed communication"], ...[...kinds].map((kind) => [kind, kind])];
  if (blocking) entries.push(["blocking", "communicates at once"]);
  byId("legend").replaceChildren(...entries.map(([name, text]) => {
    const swatch = element("canvas", { "aria-hidden": "true", width: 52, height: 26 });
    const c = swatch.getContext("2d");
    c.fillStyle = colour(name);
    c.fillRect(0, 0, 52, 26);
    if (name !== "compute" && name !== "all_gather") {
      c.fillStyle = pattern(c, name);
      c.fillRect(0, 0, 52, 26);
    }
    return element("span", {}, swatch, text);
  }));
}
