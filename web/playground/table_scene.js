// The scene "Watch a table": operations, their steps, undo, and the script that Play follows.
import {Chips, NO_COUNTS, counted, drawCounters, drawDots, drawHash} from './table_panel.js';
import {stepsOf} from './table_steps.js';
import {TableView, textRows} from './table_view.js';
import {ABSENT, MEMBERS} from './words.js';

const SLOTS = 56, WIDTH = 4, STEP_MS = 1400;
const VERBS = {insert: 'insert', remove: 'delete', query: 'query'};
const still = matchMedia('(prefers-reduced-motion: reduce)');
const $ = (id) => document.getElementById(id);

// snapshot: the table as it is. before: as it was before the last operation. shown: one of the two.
// history: all operations, from which the worker can make the table again. undoable: what else Undo
// restores, per operation. steps, at: of the last operation, and the one that is shown.
export class TableScene {
  constructor() {
    this.view = new TableView($('cells'), $('tokens'));
    this.chips = new Chips($('absent'), ABSENT, (key) => this.askChip(key));
    this.seed = 1;
    this.busy = Promise.resolve();
    this.playing = null;
    this.clear();
    drawHash($('hash'));
    drawCounters($('counters'), NO_COUNTS,
      {used: 0, slots: SLOTS, extensionBits: 0, reserveUsed: 0});
    this.tell('The library is being compiled.');
  }

  clear() {
    this.history = MEMBERS.map((key) => ['insert', key]);
    this.undoable = [];
    this.counts = NO_COUNTS;
    this.reported = new Set();
    this.turn = 0;
    this.steps = [];
    this.at = -1;
  }

  async start(library) {
    this.library = library;
    await this.fill(this.seed);
    this.listen();
  }

  // Calls run one after the other: a click does not overtake the one before.
  enqueue(work) {
    this.busy = this.busy.then(work).catch((error) => {
      this.tell(`The library failed: ${error.message}`);
    });
    return this.busy;
  }

  // Makes a table with all members under a seed.
  fill(seed) {
    return this.enqueue(async () => {
      this.seed = seed;
      this.clear();
      await this.rebuild();
      const wrong = this.snapshot.yeses.length;
      this.tell(`The table has ${MEMBERS.length} fruits, one remainder of ${WIDTH} bits each. ` +
        `${wrong} of ${ABSENT.length} animals are <b class="bad">false positives</b>. ` +
        'Query one, or press Play.');
    });
  }

  async rebuild() {
    this.snapshot = this.shown = await this.library.call('table', {
      slots: SLOTS, width: WIDTH, seed: this.seed, operations: this.history, absent: ABSENT,
    });
    this.steps = [];
    await this.preview();
  }

  // ---------------------------------------------------------------- operations

  // run: its steps follow each other; else the first one is shown.
  operate(operation, run = false) {
    return this.enqueue(async () => {
      const before = this.snapshot;
      const result = await this.library.call('operate', {operation, absent: ABSENT});
      this.count(operation, result.answer);
      if (result.slots) this.snapshot = result;
      const fixed = before.yeses.filter((key) => !this.snapshot.yeses.includes(key));
      this.history.push(operation);
      this.operation = operation;
      this.answer = result.answer;
      this.before = before;
      this.steps = stepsOf(operation, before, result, fixed);
      this.goTo(0);
      if (run) this.runToEnd();
    });
  }

  count([operation, key], answer) {
    this.undoable.push({counts: this.counts, reported: new Set(this.reported), turn: this.turn});
    if (operation !== 'query' || answer.status) return;
    this.counts = counted(this.counts, key, answer, this.reported);
    if (answer.yes && !answer.member) this.reported.add(key);
  }

  undo() {
    this.pause();
    return this.enqueue(async () => {
      if (!this.undoable.length) return;
      Object.assign(this, this.undoable.pop());
      const [operation, key] = this.history.pop();
      await this.rebuild();
      this.tell(`Undone: ${VERBS[operation]} of <q></q>. The table is what it was.`);
      $('told').querySelector('q').textContent = key;
    });
  }

  // Shows the hash of the key that is being typed.
  async preview() {
    const key = $('key').value.trim();
    const answer = key ? await this.library.call('look', key) : null;
    this.operation = ['look', key];
    this.answer = answer;
    this.steps = [];
    this.at = -1;
    this.shown = this.snapshot;
    this.render({marks: {home: answer?.quotient}});
  }

  // ---------------------------------------------------------------- steps

  get finished() { return this.at >= this.steps.length - 1; }

  goTo(i) {
    this.at = i;
    this.shown = this.steps[i].after ? this.snapshot : this.before;
    this.render(this.steps[i]);
  }

  // Shows the next step. Returns false if there is none.
  advance() {
    if (this.finished) return false;
    this.goTo(this.at + 1);
    return true;
  }

  finish() {
    if (this.steps.length) this.goTo(this.steps.length - 1);
  }

  // After a click the steps follow each other. If motion is unwelcome only the last one is shown.
  runToEnd() {
    clearTimeout(this.timer);
    if (still.matches) {
      this.finish();
      return;
    }
    this.timer = setTimeout(() => {
      if (this.advance()) this.runToEnd();
    }, STEP_MS);
  }

  async step() {
    this.pause();
    if (!this.advance()) await this.next();
  }

  // ---------------------------------------------------------------- playing

  play() {
    if (this.playing) {
      this.pause();
      return;
    }
    this.playing = setInterval(() => {
      if (!this.advance()) this.next();
    }, STEP_MS);
    $('play').textContent = 'Pause';
    if (this.finished) this.next();
  }

  pause() {
    clearInterval(this.playing);
    clearTimeout(this.timer);
    this.playing = null;
    $('play').textContent = 'Play';
  }

  // The script: an absent key, a false positive, the same key again, a member.
  next() {
    const wrong = this.snapshot.yeses, turn = this.turn++;
    if (!wrong.length && turn % 4 !== 2) {
      this.pause();
      this.tell(`All ${ABSENT.length} animals are answered <b class="good">no</b>: the filter ` +
        'has learned. Insert a key, or rekey the table.');
      return this.busy;
    }
    const absent = ABSENT.filter((key) => !wrong.includes(key) && !this.reported.has(key));
    const key = [
      absent[(turn * 11) % absent.length],
      wrong[turn % wrong.length],
      this.operation[0] === 'query' ? this.operation[1] : wrong[0],
      MEMBERS[(turn * 7) % MEMBERS.length],
    ][turn % 4] ?? MEMBERS[0];
    $('key').value = key;
    return this.operate(['query', key]);
  }

  // ---------------------------------------------------------------- what is shown

  tell(html) { $('told').innerHTML = html; }

  render(step) {
    const {totals, fingerprints, yeses} = this.shown, [, key] = this.operation;
    this.view.draw(this.shown, step.marks);
    if (step.text) this.tell(step.text);
    drawHash($('hash'), key, this.answer, WIDTH, step.verdict);
    drawDots($('dots'), this.steps, this.at, (i) => {
      this.pause();
      this.goTo(i);
    });
    drawCounters($('counters'), this.counts, totals);
    const members = new Set(fingerprints.map((f) => f.key));
    const asked = this.steps.length ? key : null;
    const wrong = this.chips.draw({members, yeses, reported: this.reported, asked});
    $('absent').classList.toggle('untouched', !this.counts.queries);
    $('absent-count').innerHTML =
      `<b class="${wrong ? 'bad' : 'good'}">${wrong}</b> of ${ABSENT.length} are false positives`;
    $('seed').textContent = `Seed ${this.seed}.`;
    $('rows').replaceChildren(...textRows(this.shown));
    $('table').setAttribute('aria-label', `The table: ${totals.used} of ${totals.slots} slots ` +
      `used, ${totals.records} members, ${totals.extensionBits} bits of extensions. Below, "The ` +
      'table as text" has all fingerprints.');
    $('undo').disabled = !this.undoable.length;
  }

  // ---------------------------------------------------------------- input

  ask(operation, key = $('key').value.trim()) {
    if (!key || !this.snapshot) return;
    this.pause();
    $('key').value = key;
    this.operate([operation, key], true);
  }

  askChip(key) {
    this.ask('query', key);
    $('story').scrollIntoView({block: 'nearest', behavior: still.matches ? 'auto' : 'smooth'});
  }

  typed() {
    this.pause();
    this.enqueue(async () => {
      await this.preview();
      this.tell('The triangle shows the quotient of the key. Query it, insert it or delete it.');
    });
  }

  listen() {
    $('ask').addEventListener('submit', (event) => {
      event.preventDefault();
      this.ask('query');
    });
    $('key').addEventListener('input', () => this.typed());
    $('insert').addEventListener('click', () => this.ask('insert'));
    $('delete').addEventListener('click', () => this.ask('remove'));
    $('undo').addEventListener('click', () => this.undo());
    $('step').addEventListener('click', () => this.step());
    $('play').addEventListener('click', () => this.play());
    $('rekey').addEventListener('click', () => {
      this.pause();
      this.fill(this.seed + 1);
    });
    addEventListener('keydown', (event) => {
      const undo = (event.ctrlKey || event.metaKey) && event.key === 'z';
      if (!undo || event.target.matches?.('input')) return;
      event.preventDefault();
      this.undo();
    });
  }
}
