// The table of collectives: sortable by every column, with filters, a hundred rows at a time.

const ROWS_AT_ONCE = 100;
const TABLE_COLUMNS = [
  { title: "Collective", value: (row) => row.name, text: (row) => row.name },
  { title: "Kind", value: (row) => row.kind, text: (row) => row.kind },
  { title: "Group", value: (row) => row.group, text: (row) => row.group },
  { title: "Moves", number: true, value: (row) => row.bytes, text: (row) => bytesText(row.bytes) },
  { title: "Start", number: true, value: (row) => row.issued, text: (row) => timeText(row.issued) },
  { title: "Time", number: true, value: (row) => row.time, text: (row) => timeText(row.time) },
  { title: "Hidden", number: true, value: (row) => row.hidden, text: (row) => timeText(row.hidden) },
  { title: "Exposed", number: true, value: (row) => row.exposed, text: (row) => timeText(row.exposed) },
  { title: "Was exposed", number: true, compares: true, value: (row) => row.was ?? -1, text: (row) => (row.was === undefined ? "new" : timeText(row.was)) },
  { title: "Limited by", value: (row) => limitOf(row), text: (row) => limitOf(row) },
];

function limitOf(row) {
  if (row.startLimit === row.waitLimit || !row.waitLimit) return row.startLimit;
  return row.startLimit ? `${row.startLimit}; wait: ${row.waitLimit}` : row.waitLimit;
}

class CollectiveTable {
  constructor(timelines, select) {
    this.timelines = timelines;
    this.select = select;
    this.line = timelines[timelines.length - 1];
    this.sort = { column: 7, descending: true };
    this.most = ROWS_AT_ONCE;
    this.compare();
    this.makeControls();
    this.fill();
  }

  // What each collective was in the first timeline, by its name.
  compare() {
    const before = new Map(this.timelines[0].collectives.map((row) => [row.name, row.exposed]));
    for (const line of this.timelines.slice(1)) for (const row of line.collectives) row.was = before.get(row.name);
  }

  get compares() { return this.line !== this.timelines[0]; }

  makeControls() {
    const which = byId("which"), group = byId("group");
    this.timelines.forEach((line, i) => which.append(element("option", { value: i, selected: line === this.line }, line.title)));
    byId("which-label").hidden = this.timelines.length === 1;
    which.addEventListener("change", () => { this.line = this.timelines[which.value]; this.fillGroups(); this.refill(); });
    group.addEventListener("change", () => this.refill());
    byId("only-exposed").addEventListener("change", () => this.refill());
    byId("filter").addEventListener("input", () => this.refill());
    byId("more").addEventListener("click", () => { this.most = Infinity; this.fill(); byId("collectives").focus(); });
    this.fillGroups();
  }

  fillGroups() {
    const groups = [...new Set(this.line.collectives.map((row) => row.group))].sort();
    byId("group").replaceChildren(element("option", { value: "" }, "all"), ...groups.map((name) => element("option", { value: name }, name)));
  }

  refill() {
    this.most = ROWS_AT_ONCE;
    this.fill();
  }

  rows() {
    const group = byId("group").value, text = byId("filter").value.trim().toLowerCase(), exposed = byId("only-exposed").checked;
    const rows = this.line.collectives.filter((row) =>
      (!group || row.group === group) && (!exposed || row.exposed > 0) && (!text || row.name.toLowerCase().includes(text)));
    const { value } = TABLE_COLUMNS[this.sort.column];
    const sign = this.sort.descending ? -1 : 1;
    return rows.sort((a, b) => sign * compareValues(value(a), value(b)) || a.index - b.index);
  }

  fill() {
    this.fillHead();
    const rows = this.rows();
    const shown = rows.slice(0, this.most);
    byId("rows").replaceChildren(...shown.map((row) => this.rowElement(row)));
    byId("count").textContent = `${countText(rows.length, "collective")}${shown.length < rows.length ? `, ${shown.length} of them shown` : ""}`;
    byId("more").hidden = shown.length === rows.length;
    byId("more").textContent = `Show all ${rows.length.toLocaleString("en")}`;
  }

  fillHead() {
    byId("columns").replaceChildren(...TABLE_COLUMNS.map((column, i) => {
      if (column.compares && !this.compares) return "";
      const sorted = this.sort.column === i;
      const mark = sorted ? (this.sort.descending ? " ▼" : " ▲") : "";
      const direction = sorted ? (this.sort.descending ? "descending" : "ascending") : "none";
      return element("th", { scope: "col", "aria-sort": direction, class: column.number ? "number" : "" },
        element("button", { type: "button", onclick: () => this.sortBy(i) }, column.title, element("span", { "aria-hidden": "true" }, mark)));
    }).filter((cell) => cell));
  }

  sortBy(column) {
    const again = this.sort.column === column;
    this.sort = { column, descending: again ? !this.sort.descending : Boolean(TABLE_COLUMNS[column].number) };
    this.fill();
    byId("columns").querySelectorAll("button")[this.visibleColumns().indexOf(column)]?.focus();
  }

  visibleColumns() { return TABLE_COLUMNS.map((column, i) => (column.compares && !this.compares ? -1 : i)).filter((i) => i >= 0); }

  rowElement(row) {
    const cells = this.visibleColumns().map((i) => {
      const column = TABLE_COLUMNS[i];
      const exposed = column.title === "Exposed" && row.exposed > 0;
      const content = i === 0 ? linkTo(row.line, row.span, this.select) : column.text(row);
      return element("td", { class: [column.number ? "number" : "", exposed ? "exposed" : "", column.title === "Limited by" ? "limit" : ""].join(" ").trim() }, content);
    });
    const made = element("tr", { "aria-current": String(this.selected === row) }, ...cells);
    made.row = row;
    return made;
  }

  mark(row) {
    this.selected = row;
    for (const made of byId("rows").children) made.setAttribute("aria-current", String(made.row === row));
  }
}

function compareValues(a, b) { return typeof a === "number" ? a - b : a.localeCompare(b, "en", { numeric: true }); }
