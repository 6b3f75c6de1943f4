// Steps in words: for the box under the pointer and for the details of what is selected.

function stretch(line, span) { return `${timeText(line.begin[span])} – ${timeText(line.end[span])}`; }

// Why a step stands where it stands.
function whyHere(line, span) {
  const collective = line.collectiveOf.get(span);
  if (collective) {
    const wait = kindOf(line, span) === WAIT;
    const limit = wait ? collective.waitLimit : collective.startLimit;
    if (!limit) return "";
    return limit === "hidden" ? "nothing to gain: it is hidden" : `${wait ? "the wait comes no later" : "it starts no earlier"}: ${limit}`;
  }
  const needs = line.needs[span], neededBy = line.neededBy[span];
  const parts = [];
  if (needs >= 0) parts.push(`needs ${nameOf(line, needs)}${earlierBy(line, needs, span)}`);
  else parts.push("needs nothing but inputs");
  if (neededBy >= 0) parts.push(`first needed by ${nameOf(line, neededBy)}`);
  return parts.join("; ");
}

function earlierBy(line, needs, span) {
  const gap = line.begin[span] - line.end[needs];
  return gap > 0 ? `, done ${timeText(gap)} before` : ", done right before";
}

function fillTip(tip, { line, span, exposed }) {
  tip.replaceChildren();
  const collective = line.collectiveOf.get(span);
  if (exposed) {
    const name = collective ? collective.name : nameOf(line, span);
    tip.append(element("b", { class: "exposed" }, `exposed ${timeText(line.stood[span])}`), element("br"),
      `the compute lane waits for ${name}`, element("br"));
  } else {
    tip.append(element("b", {}, nameOf(line, span)), element("br"), opOf(line, span), element("br"));
    if (shapesOf(line, span)) tip.append(shapesOf(line, span), element("br"));
    tip.append(`${timeText(line.end[span] - line.begin[span])}, ${bytesText(bytesOf(line, span))}, at ${stretch(line, span)}`, element("br"));
  }
  if (collective && !exposed)
    tip.append(`hidden ${timeText(collective.hidden)}, exposed ${timeText(collective.exposed)}`, element("br"));
  const why = whyHere(line, span);
  if (why) tip.append(element("span", { class: "why" }, why));
}

const NOTHING_SELECTED = "Select a step or a collective to see what it needs, who uses it and what limits it.";

function fillDetails(panel, selected, select) {
  panel.replaceChildren();
  if (!selected) {
    panel.append(element("p", {}, NOTHING_SELECTED));
    return;
  }
  const { line, span } = selected;
  const collective = line.collectiveOf.get(span);
  panel.append(element("h3", {}, `${collective ? collective.name : nameOf(line, span)} (${line.title})`));
  panel.append(collective ? collectiveDetails(line, collective, select) : stepDetails(line, span, select));
}

function rowsOf(pairs) {
  const list = element("dl");
  for (const [what, ...value] of pairs) if (value.some((one) => one)) list.append(element("dt", {}, what), element("dd", {}, ...value));
  return list;
}

function linkTo(line, span, select) {
  return element("button", { type: "button", class: "link", onclick: () => select({ line, span }, true) }, nameOf(line, span));
}

function stepDetails(line, span, select) {
  const other = (which) => (which >= 0 ? linkTo(line, which, select) : "nothing but inputs or results");
  return element("div", { class: "columns" },
    rowsOf([["operator", opOf(line, span)], ["shapes", shapesOf(line, span)],
      ["time", `${timeText(line.end[span] - line.begin[span])}, ${stretch(line, span)}`], ["reads and writes", bytesText(bytesOf(line, span))]]),
    rowsOf([["needs, last", other(line.needs[span])], ["needed first by", other(line.neededBy[span])], ["why here", whyHere(line, span)]]));
}

function collectiveDetails(line, collective, select) {
  const { span } = collective;
  const users = collective.users.flatMap((user, i) => [i > 0 ? ", " : "", linkTo(line, user, select)]);
  const queued = line.begin[span] - collective.issued;
  const exposed = element("span", { class: collective.exposed > 0 ? "exposed" : "" }, timeText(collective.exposed));
  return element("div", { class: "columns" },
    rowsOf([["operator", opOf(line, span)], ["shapes", shapesOf(line, span)], ["group", collective.group],
      ["moves", bytesText(collective.bytes)], ["time", `${timeText(collective.time)}, ${stretch(line, span)}`],
      ["hidden", timeText(collective.hidden)], ["exposed", exposed]]),
    rowsOf([["start", `${timeText(collective.issued)}${queued > 0 ? `, then ${timeText(queued)} behind others of its group` : ""}`],
      ["wait", collective.wait >= 0 ? timeText(line.begin[collective.wait]) : "nobody waits"],
      ["needs, last", line.needs[span] >= 0 ? linkTo(line, line.needs[span], select) : "nothing but inputs"],
      ["used by", ...users],
      ["limits the start", collective.startLimit], ["limits the wait", collective.waitLimit]]));
}

// The same, for people who hear the page.
function spoken({ line, span }) {
  const collective = line.collectiveOf.get(span);
  const name = collective ? collective.name : nameOf(line, span);
  return `${name}, ${opOf(line, span)}, ${timeText(line.end[span] - line.begin[span])}${collective ? `, exposed ${timeText(collective.exposed)}` : ""}`;
}
