// The scene "Race": its setup and its pace.
import {RaceChart} from './race_chart.js';
import {Lanes, explanation, verdict} from './race_panel.js';

const RACE = {members: 50000, universe: 200000, past: 100000, queries: 1000000};
const CHUNK = 5000, STEP = 50000, LAST = 100000, FRAME_MS = 50; // queries; LAST: of the verdict
const PRESETS = {
  uniform: {skew: 0, attack: 0},
  zipf: {skew: 1, attack: 0},
  adversary: {skew: 1, attack: 5},
};
const $ = (id) => document.getElementById(id);

// lanes: the numbers of all filters. history: of each filter [queries, false positives] per chunk.
export class RaceScene {
  constructor(claims) { // the page of the claims
    this.claims = claims;
    this.seed = 3;
    this.lanes = [];
    this.table = new Lanes($('lanes'));
    this.chart = new RaceChart($('chart'), RACE.queries);
    this.running = false;
    this.busy = Promise.resolve();
    this.chart.draw([]);
    this.showSetup();
  }

  async start(library) {
    this.library = library;
    await this.reset();
    this.listen();
  }

  enqueue(work) {
    this.busy = this.busy.then(work).catch((error) => {
      $('verdict').textContent = `The library failed: ${error.message}`;
    });
    return this.busy;
  }

  get setup() {
    const [skew, attack, bitsPerKey] = ['skew', 'attack', 'bits'].map((id) => Number($(id).value));
    return {...RACE, seed: this.seed, skew, attack: attack / 100, bitsPerKey};
  }

  get done() { return Math.max(0, ...this.lanes.map((lane) => lane.queries)); }
  get ended() { return this.done >= RACE.queries; }

  // Makes all filters again. Nothing is queried yet.
  reset() {
    const latest = this.latest = Symbol('setup');
    $('verdict').textContent = '';
    this.showSetup();
    return this.enqueue(async () => {
      if (latest !== this.latest) return; // the reader is still moving a slider
      const {lanes, status, text} = await this.library.call('race', this.setup);
      if (status) throw new Error(text);
      this.history = lanes.map(({kind}) => ({kind, points: [[0, 0]]}));
      this.show(lanes);
    });
  }

  run(queries) {
    return this.enqueue(async () => {
      const left = Math.min(queries, RACE.queries - this.done);
      for (let n = left; n > 0; n -= CHUNK) {
        const lanes = await this.library.call('run', {queries: Math.min(CHUNK, n)});
        this.record(lanes);
        if (n <= CHUNK || n % STEP === 0) this.show(lanes);
      }
      if (this.ended) this.end();
    });
  }

  record(lanes) {
    lanes.forEach((lane, i) => {
      if (!lane.status) this.history[i].points.push([lane.queries, lane.falsePositives]);
    });
  }

  // ---------------------------------------------------------------- pace

  async play() {
    if (this.running) {
      this.pause();
      return;
    }
    if (this.ended) await this.reset();
    this.running = true;
    this.showButton();
    while (this.running && !this.ended) {
      await this.run(CHUNK);
      await new Promise((resolve) => { setTimeout(resolve, FRAME_MS); });
    }
    this.pause();
  }

  pause() {
    this.running = false;
    this.showButton();
  }

  end() {
    this.pause();
    const recent = (kind) => {
      const {points} = this.history.find((line) => line.kind === kind);
      return points.at(-1)[1] - points.at(-1 - LAST / CHUNK)[1];
    };
    $('verdict').innerHTML = verdict(this.lanes, {queries: this.done, last: LAST, recent});
  }

  // ---------------------------------------------------------------- what is shown

  show(lanes) {
    this.lanes = lanes;
    this.table.draw(lanes);
    this.chart.draw(this.history);
    this.showButton();
  }

  showButton() {
    $('run').textContent = this.running ? 'Pause' : this.ended ? 'Restart'
      : this.done ? 'Continue' : 'Start';
  }

  showSetup() {
    const {skew, attack, bitsPerKey} = this.setup;
    const preset = attack ? 'adversary' : skew ? 'zipf' : 'uniform';
    $('skew-out').textContent = skew ? skew.toFixed(1) : '0, uniform';
    $('attack-out').textContent = `${Math.round(attack * 100)} %`;
    $('bits-out').textContent = bitsPerKey.toFixed(1);
    document.querySelector(`input[name=preset][value=${preset}]`).checked = true;
    $('why').innerHTML = explanation(preset, this.claims);
  }

  // ---------------------------------------------------------------- input

  async change() {
    const again = this.running;
    this.pause();
    await this.reset();
    if (again) this.play();
  }

  choose(preset) {
    $('skew').value = PRESETS[preset].skew;
    $('attack').value = PRESETS[preset].attack;
    this.change();
  }

  listen() {
    $('setup').addEventListener('submit', (event) => {
      event.preventDefault();
      this.play();
    });
    for (const id of ['skew', 'attack', 'bits']) {
      $(id).addEventListener('input', () => this.change());
    }
    for (const radio of document.querySelectorAll('input[name=preset]')) {
      radio.addEventListener('change', () => this.choose(radio.value));
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
