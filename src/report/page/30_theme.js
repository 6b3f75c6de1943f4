// Colours come from the style sheet, so that the canvas follows light and dark. Patterns carry the same meaning without colour.

const COLLECTIVE_KINDS = ["all_gather", "reduce_scatter", "all_reduce", "all_to_all", "broadcast", "p2p"];
const theme = { colours: {}, patterns: {} };

function colour(name) { return theme.colours[name] || theme.colours.p2p; }

function readColours() {
  const style = getComputedStyle(document.documentElement);
  const names = ["ground", "panel", "ink", "soft", "line", "row", "accent", "label", "compute", "exposed", "blocking", "memory", "limit",
    ...COLLECTIVE_KINDS];
  for (const name of names) theme.colours[name] = style.getPropertyValue(`--${name}`).trim();
  theme.patterns = {};
}

// A tile of strokes in the colour of labels, laid over a fill.
const STROKES = {
  exposed: (c, n) => { for (const x of [-n, 0, n]) { c.moveTo(x, n); c.lineTo(x + n, 0); } },
  all_gather: () => {},
  reduce_scatter: (c, n) => { c.moveTo(n / 2, 0); c.lineTo(n / 2, n); },
  all_reduce: (c, n) => { c.moveTo(0, n / 2); c.lineTo(n, n / 2); },
  all_to_all: (c, n) => { c.moveTo(0, 0); c.lineTo(n, n); c.moveTo(n, 0); c.lineTo(0, n); },
  broadcast: (c, n) => { c.moveTo(n / 2 - 1, n / 2); c.lineTo(n / 2 + 1, n / 2); },
  p2p: (c, n) => { for (const x of [-n, 0, n]) { c.moveTo(x, 0); c.lineTo(x + n, n); } },
  blocking: (c, n) => { c.moveTo(0, n / 4); c.lineTo(n, n / 4); c.moveTo(n / 2, 0); c.lineTo(n / 2, n); },
};

function pattern(context, name) {
  if (theme.patterns[name]) return theme.patterns[name];
  const size = name === "exposed" ? 8 : 6;
  const ratio = window.devicePixelRatio || 1;
  const tile = document.createElement("canvas");
  tile.width = tile.height = Math.round(size * ratio);
  const c = tile.getContext("2d");
  c.scale(tile.width / size, tile.width / size);
  c.strokeStyle = theme.colours.label;
  c.globalAlpha = name === "exposed" ? 0.75 : 0.4;
  c.lineWidth = name === "exposed" ? 2 : 1;
  c.beginPath();
  (STROKES[name] || STROKES.p2p)(c, size);
  c.stroke();
  const made = context.createPattern(tile, "repeat");
  made.setTransform(new DOMMatrix().scale(1 / ratio));
  return (theme.patterns[name] = made);
}

const THEMES = ["auto", "light", "dark"];

function startTheme(changed) {
  const button = byId("theme");
  let chosen = "auto";
  const apply = () => {
    if (chosen === "auto") document.documentElement.removeAttribute("data-theme");
    else document.documentElement.dataset.theme = chosen;
    button.textContent = `Colours: ${chosen}`;
    readColours();
    changed();
  };
  button.addEventListener("click", () => {
    chosen = THEMES[(THEMES.indexOf(chosen) + 1) % THEMES.length];
    apply();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", apply);
  apply();
}
