"use strict";
// Numbers for people. Times are picoseconds, as in the data.

const TIME_UNITS = [[1e12, "s"], [1e9, "ms"], [1e6, "µs"], [1e3, "ns"], [1, "ps"]];

// Three digits that count; `unit` forces the unit of another number, so that two can be compared.
function timeText(picoseconds, digits = 3) {
  const size = Math.abs(picoseconds);
  if (size === 0) return "0";
  const [scale, unit] = TIME_UNITS.find(([s]) => size >= s * 0.9995) || TIME_UNITS[4];
  return `${shortNumber(picoseconds / scale, digits)} ${unit}`;
}

function bytesText(bytes) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let value = bytes, at = 0;
  while (Math.abs(value) >= 1024 && at + 1 < units.length) { value /= 1024; ++at; }
  return `${at === 0 ? value : shortNumber(value, 3)} ${units[at]}`;
}

function shortNumber(value, digits) {
  const whole = Math.max(1, Math.floor(Math.log10(Math.abs(value) || 1)) + 1);
  return value.toFixed(Math.max(0, digits - whole));
}

function countText(count, what, plural) {
  return `${count.toLocaleString("en")} ${count === 1 ? what : plural || what + "s"}`;
}

function percentText(share) { return `${(share * 100).toFixed(share > 0.995 && share < 1 ? 1 : 0)} %`; }

function changeText(after, before) {
  if (!before) return "–";
  const change = (after / before - 1) * 100;
  return `${change < 0 ? "−" : "+"}${Math.abs(change).toFixed(1)} %`;
}

// An element with attributes and children; texts are texts, never HTML: names come from users' programs.
function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value !== undefined && value !== false) made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.filter((child) => child !== undefined && child !== null && child !== ""));
  return made;
}

const byId = (id) => document.getElementById(id);
