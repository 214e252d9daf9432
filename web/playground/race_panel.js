// The numbers of the race and what they mean.
import {element} from './table_view.js';

export const number = (n) => Math.round(n).toLocaleString('en');

export const KINDS = {
  bloom: 'gets no reports',
  cf: 'cuckoo, no reports',
  qf: 'quotient, no reports',
  stacked: 'planned for past queries',
  cached: 'qf with a cache',
  taf: 'adapts: selectors',
  aqf: 'adapts: extensions',
};

// A row per filter: name, false positives with a bar, repeats, store reads, bits per key.
export class Lanes {
  constructor(body) {
    this.rows = new Map(Object.keys(KINDS).map((kind) => [kind, this.makeRow(body, kind)]));
  }

  makeRow(body, kind) {
    const row = element('tr', kind), name = element('th'), note = element('small', '', KINDS[kind]);
    const wrong = element('b', '', 0), first = element('i', 'first'), again = element('i', 'again');
    const bar = element('span', 'track'), cells = [0, 1, 2, 3].map(() => element('td', '', 0));
    name.scope = 'row';
    name.append(element('i', `swatch ${kind}`), element('span', '', kind), note);
    bar.append(first, again);
    cells[0].replaceChildren(wrong, bar);
    row.append(name, ...cells);
    body.append(row);
    const [, repeats, reads, bits] = cells;
    return {note, wrong, first, again, repeats, reads, bits};
  }

  draw(lanes) {
    const most = Math.max(1, ...lanes.map((lane) => lane.falsePositives));
    for (const lane of lanes) this.drawLane(this.rows.get(lane.kind), lane, most);
  }

  drawLane(row, lane, most) {
    const full = lane.reserveUsed >= 1 && lane.kind !== 'cached'; // a cache is always full
    const problem = lane.status ? 'impossible at this size' : full ? 'reserve is full' : '';
    const shown = (text) => (lane.status ? '–' : text);
    row.note.textContent = problem || KINDS[lane.kind];
    row.note.className = problem && 'problem';
    row.wrong.textContent = shown(number(lane.falsePositives));
    row.first.style.width = `${100 * (lane.falsePositives - lane.repeats) / most}%`;
    row.again.style.width = `${100 * lane.repeats / most}%`;
    row.repeats.textContent = shown(number(lane.repeats));
    row.repeats.className = lane.queries ? (lane.repeats ? 'bad' : 'good') : '';
    row.reads.textContent = shown(number(lane.reads));
    row.bits.textContent = shown(lane.bitsPerKey.toFixed(2));
  }
}

// ------------------------------------------------------------------ texts

// page: that of the claims.
export function explanation(preset, page) {
  const claims = (...names) => names
    .map((name) => `<a href="${page}#${name}">${name}</a>`).join(', ');
  return {
    uniform: 'All 200,000 absent keys are equally likely. The first false positive of a key ' +
      'cannot be foreseen. An adaptive filter does not repeat it: its line turns flat when it ' +
      `has seen most keys (${claims('real-rate')}).`,
    zipf: 'A few of 200,000 absent keys are queried again and again, as in most real workloads. ' +
      'A false positive among them is repeated with every query, unless the filter adapts ' +
      `(${claims('zipf', 'traces')}).`,
    adversary: 'An adversary notices which queries are slow, and sends these keys again. Each ' +
      'filter has its own adversary. Filters that do not adapt read the store every time ' +
      `(${claims('adversary', 'store-adversary')}).`,
  }[preset];
}

// recent: false positives of a kind among the last queries.
export function verdict(lanes, {queries, last, recent}) {
  const {aqf, qf} = Object.fromEntries(lanes.map((lane) => [lane.kind, lane]));
  if (aqf.status || qf.status) return 'At this size there is no qf or no aqf to compare.';
  const denied = lanes.reduce((sum, lane) => sum + lane.falseNegatives, 0);
  return `In the last ${number(last)} of ${number(queries)} queries <b>qf</b> had ` +
    `${number(recent('qf'))} false positives and <b>aqf</b> ${number(recent('aqf'))}. Of all ` +
    `false positives ${number(qf.repeats)} of qf and ${number(aqf.repeats)} of aqf were repeats. ` +
    `${number(aqf.neededReads)} store reads were for members, all others for nothing. Members ` +
    `that a filter answered no: ${number(denied)}.`;
}
