// The chart of the race: false positives over queries, one line per filter, with their names.

const NS = 'http://www.w3.org/2000/svg';
const LEFT = 46, TOP = 12, BOTTOM = 30, LABEL = 68, GAP = 13;

function svg(tag, attributes, text) {
  const e = document.createElementNS(NS, tag);
  for (const [name, value] of Object.entries(attributes)) e.setAttribute(name, value);
  if (text !== undefined) e.textContent = text;
  return e;
}

// 1, 2 or 5 times a power of ten.
function niceStep(rough) {
  const power = 10 ** Math.floor(Math.log10(rough));
  return [1, 2, 5, 10].map((n) => n * power).find((n) => n >= rough);
}

const short = (n) => (n >= 1e6 ? `${n / 1e6}M` : n >= 1000 ? `${n / 1000}k` : String(n));

// Positions of labels, top to bottom, that keep a gap and stay near their lines.
function spread(labels, low, high) {
  labels.sort((a, b) => a.y - b.y);
  labels.forEach((label, i) => { label.at = Math.max(label.y, i ? labels[i - 1].at + GAP : low); });
  for (let i = labels.length - 1; i >= 0; i--) {
    labels[i].at = Math.min(labels[i].at, i === labels.length - 1 ? high : labels[i + 1].at - GAP);
  }
}

export class RaceChart {
  constructor(element, total) {
    this.element = element;
    this.total = total;
    new ResizeObserver(() => this.draw(this.lines ?? [])).observe(element);
  }

  // lines: [{kind, points: [[queries, false positives], ...]}]
  draw(lines) {
    this.lines = lines;
    const {clientWidth: width, clientHeight: height} = this.element;
    if (!width) return;
    const most = Math.max(10, ...lines.flatMap((l) => l.points.map((p) => p[1])));
    const step = niceStep(most / 4), top = 1.06 * most;
    const x = (q) => LEFT + (q / this.total) * (width - LEFT - LABEL);
    const y = (n) => height - BOTTOM - (n / top) * (height - TOP - BOTTOM);
    this.element.setAttribute('viewBox', `0 0 ${width} ${height}`);
    this.element.replaceChildren(...this.scale(y, step, top, width),
      ...this.ticks(x, width, height), ...this.curves(lines, x, y, height));
  }

  scale(y, step, top, width) {
    const parts = [];
    for (let n = 0; n <= top; n += step) {
      const line = {class: n ? 'grid' : 'axis', x1: LEFT, x2: width - LABEL, y1: y(n), y2: y(n)};
      const text = {class: 'tick', x: LEFT - 7, y: y(n) + 4, 'text-anchor': 'end'};
      parts.push(svg('line', line), svg('text', text, short(n)));
    }
    return parts;
  }

  ticks(x, width, height) {
    const shares = width < 560 ? [0, 0.5, 1] : [0, 0.2, 0.4, 0.6, 0.8, 1], y = height - BOTTOM + 18;
    const parts = shares.map((share) => {
      const at = {class: 'tick', x: x(share * this.total), y, 'text-anchor': 'middle'};
      return svg('text', at, short(share * this.total));
    });
    return [...parts, svg('text', {class: 'tick', x: width - LABEL + 16, y}, 'queries')];
  }

  curves(lines, x, y, height) {
    const labels = lines.map(({kind, points}) => {
      const [q, n] = points.at(-1);
      return {kind, x: x(q), y: y(n)};
    });
    spread(labels, TOP, height - BOTTOM);
    const parts = lines.map(({kind, points}) => svg('polyline', {class: `line ${kind}`,
      points: points.map(([q, n]) => `${x(q).toFixed(1)},${y(n).toFixed(1)}`).join(' ')}));
    if (!lines.some((l) => l.points.length > 1)) return parts;
    for (const l of labels) {
      parts.push(svg('circle', {class: `end ${l.kind}`, cx: l.x, cy: l.y, r: 3.5}),
        svg('text', {class: `name ${l.kind}`, x: l.x + 9, y: l.at + 4}, l.kind));
    }
    return parts;
  }
}
