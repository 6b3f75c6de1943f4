// Which stretch of time is on the canvas. Changes glide there in a few frames, unless the user's system asks for less motion.

class View {
  constructor(length, changed) {
    this.length = length;    // of the longest timeline
    this.changed = changed;  // called for every frame
    this.from = 0;
    this.to = length;
    this.target = null;
    this.still = matchMedia("(prefers-reduced-motion: reduce)");
  }

  get span() { return this.to - this.from; }
  // A little room behind the end, so that the last label can be read.
  get limit() { return this.length * 1.02; }

  // Within bounds: not closer than a nanosecond, not farther than everything.
  clamped(from, to) {
    const span = Math.min(this.limit, Math.max(to - from, Math.min(1000, this.limit)));
    const begin = Math.min(Math.max(from, 0), this.limit - span);
    return { from: begin, to: begin + span };
  }

  jump(from, to) {
    Object.assign(this, this.clamped(from, to));
    this.target = null;
    this.changed();
  }

  glide(from, to) {
    if (this.still.matches) return this.jump(from, to);
    const running = this.target !== null;
    this.target = this.clamped(from, to);
    if (!running) requestAnimationFrame(() => this.frame());
  }

  frame() {
    if (this.target === null) return;
    const { from, to } = this.target;
    const close = (to - from) * 0.002;
    if (Math.abs(this.from - from) < close && Math.abs(this.to - to) < close) return this.jump(from, to);
    this.from += (from - this.from) * 0.3;
    this.to += (to - this.to) * 0.3;
    this.changed();
    requestAnimationFrame(() => this.frame());
  }

  // Where it will be when it has stopped.
  get settled() { return this.target || { from: this.from, to: this.to }; }

  zoom(factor, at) {
    const { from, to } = this.settled;
    const centre = at === undefined ? (from + to) / 2 : at;
    this.glide(centre - (centre - from) / factor, centre + (to - centre) / factor);
  }
  pan(share) {
    const { from, to } = this.settled;
    this.glide(from + (to - from) * share, to + (to - from) * share);
  }
  fit() { this.glide(0, this.limit); }

  // Brings a stretch into sight: stays as it is if that is well visible already.
  reveal(from, to) {
    const now = this.settled;
    const span = now.to - now.from;
    const wide = (to - from) / span;
    if (from >= now.from && to <= now.to && wide > 0.01) return;
    const room = Math.max((to - from) * 6, this.length / 400);
    const centre = (from + to) / 2;
    this.glide(centre - room / 2, centre + room / 2);
  }
}
