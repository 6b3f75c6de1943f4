// The strip above the timeline: the whole of the last one, with what is on the canvas framed. Dragging it pans.

function startOverview(canvas, line, view) {
  const c = canvas.getContext("2d");
  const draw = () => {
    const ratio = window.devicePixelRatio || 1;
    const width = canvas.clientWidth, height = canvas.clientHeight;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    const x = (time) => GUTTER + (time / view.limit) * (width - GUTTER);
    c.fillStyle = colour("row");
    c.fillRect(GUTTER, 0, width - GUTTER, height);
    c.globalAlpha = 0.75;
    c.fillStyle = colour("compute");
    c.fillRect(x(0), 4, x(line.computeEnd) - x(0), height - 8);
    c.globalAlpha = 1;
    c.fillStyle = colour("exposed");
    for (const span of line.exposedSpans)
      c.fillRect(x(line.begin[span] - line.stood[span]), 2, Math.max(1, x(line.begin[span]) - x(line.begin[span] - line.stood[span])), height - 4);
    if (line.step_time > line.computeEnd) c.fillRect(x(line.computeEnd), 2, Math.max(1, x(line.step_time) - x(line.computeEnd)), height - 4);
    c.strokeStyle = colour("ink");
    c.lineWidth = 2;
    c.strokeRect(Math.max(x(view.from), GUTTER) + 1, 1, Math.max(4, x(view.to) - x(view.from) - 2), height - 2);
    c.fillStyle = colour("soft");
    c.font = "12px system-ui, sans-serif";
    c.textBaseline = "middle";
    c.fillText("overview", 0, height / 2);
  };
  const centre = (event) => {
    const box = canvas.getBoundingClientRect();
    const time = ((event.clientX - box.left - GUTTER) / (box.width - GUTTER)) * view.limit;
    view.jump(time - view.span / 2, time + view.span / 2);
  };
  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    canvas.classList.add("dragging");
    centre(event);
  });
  canvas.addEventListener("pointermove", (event) => { if (canvas.hasPointerCapture(event.pointerId)) centre(event); });
  canvas.addEventListener("pointerup", () => canvas.classList.remove("dragging"));
  return draw;
}
