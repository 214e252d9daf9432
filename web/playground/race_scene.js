// The scene "Race": setup, pace, numbers and what they mean.
import {RaceChart} from './race_chart.js';

export const RACE = {members: 50000, universe: 200000, past: 100000, queries: 1000000};
const CHUNK = 5000, STEP = 50000, LAST = 20, FRAME_MS = 50; // LAST: chunks
const $ = (id) => document.getElementById(id);
const number = (n) => Math.round(n).toLocaleString('en');

const PRESETS = {uniform: {skew: 0, attack: 0}, zipf: {skew: 1, attack: 0}, adversary: {skew: 1, attack: 5}};
const WHAT = {bloom: 'does not adapt', cf: 'cuckoo, does not adapt', qf: 'quotient, does not adapt', stacked: 'planned for past queries',
  cached: 'qf with a cache', taf: 'adapts: selectors', aqf: 'adapts: extensions'};

export class RaceScene {
  constructor(docs) {
    this.docs = docs;
    this.seed = 3;
    this.chart = new RaceChart($('chart'), RACE.queries);
    this.rows = new Map();
    this.running = false;
    this.busy = Promise.resolve();
    for (const kind of Object.keys(WHAT)) this.makeRow(kind);
    this.chart.draw([]);
    this.showSetup();
  }

  async start(library) {
    this.library = library;
    await this.reset();
    this.listen();
  }

  enqueue(work) {
    this.busy = this.busy.then(work).catch((error) => { $('verdict').textContent = `The library failed: ${error.message}`; });
    return this.busy;
  }

  get setup() {
    return {...RACE, seed: this.seed, skew: +$('skew').value, attack: +$('attack').value / 100, bitsPerKey: +$('bits').value};
  }

  // Makes all filters again. Nothing is queried yet.
  reset() {
    const wanted = this.wanted = Symbol('race');
    this.showSetup();
    return this.enqueue(async () => {
      if (wanted !== this.wanted) return; // a later change of a slider is waiting
      const {lanes, status, text} = await this.library.call('race', this.setup);
      if (status) throw new Error(text);
      this.history = lanes.map(({kind}) => ({kind, points: [[0, 0]]}));
      $('verdict').textContent = '';
      this.show(lanes);
    });
  }

  run(queries) {
    return this.enqueue(async () => {
      const left = RACE.queries - this.done;
      for (let n = Math.min(queries, left); n > 0; n -= CHUNK) {
        const lanes = await this.library.call('run', {queries: Math.min(CHUNK, n)});
        this.record(lanes);
      }
      this.show(this.lanes);
      if (this.done >= RACE.queries) this.end();
    });
  }

  record(lanes) {
    this.lanes = lanes;
    this.history.forEach((line, i) => { if (!lanes[i].status) line.points.push([lanes[i].queries, lanes[i].falsePositives]); });
  }

  get done() { return Math.max(0, ...this.lanes.map((lane) => lane.queries)); }

  // ---------------------------------------------------------------- pace

  async play() {
    if (this.running) return this.pause();
    if (this.done >= RACE.queries) await this.reset();
    this.running = true;
    this.showRunning();
    while (this.running && this.done < RACE.queries) {
      await this.run(CHUNK);
      await new Promise((resolve) => setTimeout(resolve, FRAME_MS));
      await this.busy;
    }
    this.pause();
  }

  pause() {
    this.running = false;
    this.showRunning();
  }

  showRunning() {
    $('run').textContent = this.running ? 'Pause' : this.lanes && this.done >= RACE.queries ? 'Restart' : this.lanes && this.done
      ? 'Continue' : 'Start';
  }

  end() {
    this.pause();
    $('verdict').innerHTML = this.verdict();
  }

  // ---------------------------------------------------------------- what is shown

  show(lanes) {
    this.lanes = lanes;
    const most = Math.max(1, ...lanes.map((lane) => lane.falsePositives));
    lanes.forEach((lane) => this.showLane(lane, most));
    this.chart.draw(this.history);
    this.showRunning();
  }

  makeRow(kind) {
    const row = document.createElement('tr');
    row.className = kind;
    row.innerHTML = `<th scope="row"><i class="swatch ${kind}"></i><span>${kind}</span><small>${WHAT[kind]}</small></th>` +
      '<td><b>0</b><span class="track"><i class="first"></i><i class="again"></i></span></td><td>0</td><td>0</td><td>0</td>';
    $('lanes').append(row);
    this.rows.set(kind, row);
    return row;
  }

  showLane(lane, most) {
    const row = this.rows.get(lane.kind) ?? this.makeRow(lane.kind);
    const [wrong, repeats, reads, bits] = row.querySelectorAll('td');
    const [first, again] = row.querySelectorAll('.track i');
    const note = row.querySelector('small');
    const problem = lane.status ? 'impossible at this size' : lane.reserveUsed >= 1 && lane.kind !== 'cached' ? 'reserve is full' : '';
    note.textContent = problem || WHAT[lane.kind];
    note.className = problem ? 'problem' : '';
    wrong.firstChild.textContent = lane.status ? '–' : number(lane.falsePositives);
    repeats.textContent = lane.status ? '–' : number(lane.repeats);
    repeats.className = lane.queries ? (lane.repeats ? 'bad' : 'good') : '';
    reads.textContent = lane.status ? '–' : number(lane.reads);
    bits.textContent = lane.status ? '–' : lane.bitsPerKey.toFixed(2);
    first.style.width = `${100 * (lane.falsePositives - lane.repeats) / most}%`;
    again.style.width = `${100 * lane.repeats / most}%`;
  }

  // False positives of a filter in the last chunks of the race.
  recent(kind) {
    const {points} = this.history.find((line) => line.kind === kind);
    return points.at(-1)[1] - points.at(-1 - LAST)[1];
  }

  verdict() {
    const {aqf, qf} = Object.fromEntries(this.lanes.map((lane) => [lane.kind, lane]));
    if (aqf.status || qf.status) return '';
    const denied = this.lanes.reduce((sum, lane) => sum + lane.falseNegatives, 0);
    return `In the last ${number(LAST * CHUNK)} of ${number(this.done)} queries <b>qf</b> had ${number(this.recent('qf'))} false positives ` +
      `and <b>aqf</b> ${number(this.recent('aqf'))}. Of all false positives ${number(qf.repeats)} of qf and ${number(aqf.repeats)} of aqf ` +
      `were repeats. ${number(aqf.neededReads)} store reads were for members, all others for nothing. Members that a filter answered no: ` +
      `${number(denied)}.`;
  }

  showSetup() {
    const {skew, attack, bitsPerKey} = this.setup;
    $('skew-out').textContent = skew ? skew.toFixed(1) : '0, uniform';
    $('attack-out').textContent = `${Math.round(attack * 100)} %`;
    $('bits-out').textContent = bitsPerKey.toFixed(1);
    const preset = attack ? 'adversary' : skew ? 'zipf' : 'uniform';
    document.querySelector(`input[name=preset][value=${preset}]`).checked = true;
    const link = (claim, text) => `<a href="${this.docs}/results.md#${claim}">${text}</a>`;
    $('why').innerHTML = {
      uniform: 'All 200,000 absent keys are equally likely. The first false positive of a key cannot be foreseen. An adaptive filter does ' +
        `not repeat it: its line turns flat when it has seen most keys (${link('real-rate', 'real-rate')}).`,
      zipf: 'A few of 200,000 absent keys are queried again and again, as in most real workloads. A false positive among them is repeated ' +
        `with every query, unless the filter adapts (${link('zipf', 'zipf')}, ${link('traces', 'traces')}).`,
      adversary: 'An adversary notices which queries are slow, and sends these keys again. Each filter has its own adversary. Filters that ' +
        `do not adapt read the store every time (${link('adversary', 'adversary')}, ${link('store-adversary', 'store-adversary')}).`,
    }[preset];
  }

  // ---------------------------------------------------------------- input

  async change() {
    const again = this.running;
    this.pause();
    await this.reset();
    if (again) this.play();
  }

  listen() {
    $('setup').addEventListener('submit', (event) => {
      event.preventDefault();
      this.play();
    });
    for (const id of ['skew', 'attack', 'bits']) $(id).addEventListener('input', () => this.change());
    for (const radio of document.querySelectorAll('input[name=preset]')) {
      radio.addEventListener('change', () => {
        $('skew').value = PRESETS[radio.value].skew;
        $('attack').value = PRESETS[radio.value].attack;
        this.change();
      });
    }
    $('race-step').addEventListener('click', () => {
      this.pause();
      this.run(STEP);
    });
    $('race-end').addEventListener('click', () => {
      this.pause();
      this.run(RACE.queries);
    });
    $('race-seed').addEventListener('click', () => {
      this.seed++;
      this.change();
    });
  }
}
