// The scene "Watch a table": operations, their steps, undo, and the script that Play follows.
import {stepsOf} from './table_steps.js';
import {TableView, bits, firstBits, textRows} from './table_view.js';
import {ABSENT, MEMBERS} from './words.js';

const SLOTS = 56, WIDTH = 4, SUFFIX = 12, STEP_MS = 1400;
const still = matchMedia('(prefers-reduced-motion: reduce)');
const $ = (id) => document.getElementById(id);
const NO_COUNTS = {queries: 0, falsePositives: 0, repeats: 0, reads: 0, plain: 0};

export class TableScene {
  constructor() {
    this.view = new TableView($('cells'), $('tokens'));
    this.seed = 1;
    this.turn = 0;
    this.playing = null;
    this.busy = Promise.resolve();
    this.steps = [];
    this.counts = NO_COUNTS;
    this.makeChips();
    this.renderHash({});
    this.renderCounters({used: 0, slots: SLOTS, extensionBits: 0, reserveUsed: 0});
    this.tell('The library is being compiled.');
  }

  async start(library) {
    this.library = library;
    await this.fill(this.seed);
    this.listen();
  }

  // Calls run one after the other: a click does not overtake the one before.
  enqueue(work) {
    this.busy = this.busy.then(work).catch((error) => this.tell(`The library failed: ${error.message}`));
    return this.busy;
  }

  // Makes a table with all members under a seed.
  fill(seed) {
    return this.enqueue(async () => {
      this.seed = seed;
      this.history = MEMBERS.map((key) => ['insert', key]);
      this.undoable = [];
      this.counts = NO_COUNTS;
      this.reported = new Set();
      this.turn = 0;
      await this.rebuild();
      await this.preview();
      this.welcome();
    });
  }

  // The hash of the key that is being typed.
  async preview() {
    const key = $('key').value.trim();
    this.finish();
    this.steps = [];
    this.at = -1;
    this.operation = ['look', key];
    this.answer = key ? await this.library.call('look', key) : null;
    this.render({marks: this.answer && !this.answer.status ? {home: this.answer.quotient} : {}});
  }

  async rebuild() {
    const result = await this.library.call('table', {slots: SLOTS, width: WIDTH, seed: this.seed, operations: this.history,
      absent: ABSENT});
    this.snapshot = this.shown = result;
    this.steps = [];
    this.at = -1;
    this.render();
  }

  welcome() {
    const wrong = this.snapshot.yeses;
    this.tell(`The table has ${this.snapshot.totals.records} fruits, one remainder of ${WIDTH} bits each. ` +
      `${wrong.length} of ${ABSENT.length} animals are <b class="bad">false positives</b>. Query one, or press Play.`);
  }

  // ---------------------------------------------------------------- operations

  operate(operation) {
    return this.enqueue(async () => {
      this.finish();
      const before = this.snapshot;
      const result = await this.library.call('operate', {operation, absent: ABSENT});
      this.count(operation, result);
      if (result.slots) this.snapshot = result;
      const fixed = before.yeses.filter((key) => !this.snapshot.yeses.includes(key));
      this.operation = operation;
      this.answer = result.answer;
      this.steps = stepsOf(operation, before, result, fixed);
      this.before = this.shown = before;
      this.history.push(operation);
      this.at = -1;
      this.advance();
      if (!this.playing) this.runToEnd();
    });
  }

  count([operation, key], {answer}) {
    this.undoable.push({counts: this.counts, reported: new Set(this.reported), turn: this.turn});
    if (operation !== 'query' || !answer || answer.status) return;
    const wrong = answer.yes && !answer.member;
    this.counts = {queries: this.counts.queries + 1, falsePositives: this.counts.falsePositives + (wrong ? 1 : 0),
      repeats: this.counts.repeats + (wrong && this.reported.has(key) ? 1 : 0), reads: this.counts.reads + (answer.yes ? 1 : 0),
      plain: this.counts.plain + (answer.plainYes && !answer.member ? 1 : 0)};
    if (wrong) this.reported.add(key);
  }

  undo() {
    this.pause();
    return this.enqueue(async () => {
      const state = this.undoable.pop();
      if (!state) return this.welcome();
      Object.assign(this, state);
      const [operation, key] = this.history.pop();
      await this.rebuild();
      await this.preview();
      this.tell(`Undone: ${{insert: 'insert', remove: 'delete', query: 'query'}[operation]} of <q></q>. The table is what it was.`);
      $('told').querySelector('q').textContent = key;
    });
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

  // The end of an operation shows the table as it is then.
  finish() {
    if (this.steps.length) this.goTo(this.steps.length - 1);
    this.shown = this.snapshot;
  }

  // After a click the steps follow each other. If motion is unwelcome only the last one is shown.
  runToEnd() {
    clearTimeout(this.timer);
    if (still.matches) return this.finish();
    this.timer = setTimeout(() => { if (this.advance() && !this.playing) this.runToEnd(); }, STEP_MS);
  }

  step() {
    this.pause();
    clearTimeout(this.timer);
    if (!this.advance()) return this.next().then(() => clearTimeout(this.timer));
    return this.busy;
  }

  play() {
    if (this.playing) return this.pause();
    this.playing = setInterval(() => { if (!this.advance()) this.next(); }, STEP_MS);
    this.showPlaying();
    if (this.finished) this.next();
    return this.busy;
  }

  pause() {
    clearInterval(this.playing);
    clearTimeout(this.timer);
    this.playing = null;
    this.showPlaying();
  }

  showPlaying() {
    $('play').textContent = this.playing ? 'Pause' : 'Play';
  }

  // The script of Play: an absent key, a false positive, the same key again, a member.
  next() {
    const wrong = this.snapshot.yeses, turn = this.turn++;
    const absent = ABSENT.filter((key) => !wrong.includes(key) && !this.reported.has(key));
    const kind = turn % 4;
    if (!wrong.length && kind !== 2) {
      this.pause();
      this.tell(`Every one of the ${ABSENT.length} animals is answered <b class="good">no</b>: the filter has learned. ` +
        'Insert a key, or rekey the table.');
      return this.busy;
    }
    let key = MEMBERS[(turn * 7) % MEMBERS.length];
    if (kind === 0) key = absent[(turn * 11) % absent.length] ?? key;
    if (kind === 1) key = wrong[turn % wrong.length];
    if (kind === 2 && this.operation[0] === 'query') key = this.operation[1];
    $('key').value = key;
    return this.operate(['query', key]);
  }

  // ---------------------------------------------------------------- what is shown

  tell(html) { $('told').innerHTML = html; }

  render(step = {marks: {}}) {
    this.view.draw(this.shown, step.marks);
    if (step.text) this.tell(step.text);
    this.renderHash(step);
    this.renderDots();
    this.renderCounters(this.shown.totals);
    this.renderChips();
    $('rows').replaceChildren(...textRows(this.shown));
    const t = this.shown.totals;
    $('table').setAttribute('aria-label', `The table: ${t.used} of ${t.slots} slots used, ${t.records} members, ` +
      `${t.extensionBits} bits of extensions. The list below, The table as text, has all fingerprints.`);
    $('undo').disabled = !this.undoable.length;
  }

  renderHash(step) {
    const box = $('hash');
    box.className = `hash ${step.verdict ?? ''}`;
    if (!this.answer || this.answer.status) {
      box.innerHTML = '<span class="part"><i>key</i><b>–</b></span><span class="part"><i>quotient</i><b>–</b></span>' +
        '<span class="part"><i>remainder</i><b>–</b></span><span class="part"><i>further bits of the hash</i><b>–</b></span>';
      return;
    }
    const a = this.answer;
    box.innerHTML = '<span class="part key"><i>key</i><b></b></span>' +
      `<span class="part quotient"><i>quotient</i><b>${a.quotient}</b></span>` +
      `<span class="part remainder"><i>remainder</i><b>${bits(a.remainder, WIDTH)}</b></span>` +
      `<span class="part"><i>further bits of the hash</i><b>${firstBits(a.suffix, SUFFIX)}…</b></span>`;
    box.querySelector('b').textContent = this.operation[1];
  }

  renderDots() {
    $('dots').replaceChildren(...this.steps.map((step, i) => {
      const item = document.createElement('li'), dot = document.createElement('button');
      dot.type = 'button';
      dot.textContent = step.title;
      dot.className = [i <= this.at ? 'done' : '', i === this.at ? 'now' : '', step.verdict ?? ''].join(' ');
      if (i === this.at) dot.setAttribute('aria-current', 'step');
      dot.addEventListener('click', () => {
        this.pause();
        this.goTo(i);
        $('dots').children[i].firstChild.focus();
      });
      item.append(dot);
      return item;
    }));
  }

  renderCounters(t) {
    const {queries, falsePositives, repeats, reads, plain} = this.counts;
    const items = [['Queries', queries], ['False positives', falsePositives, falsePositives ? 'bad' : ''], ['Repeats', repeats,
      queries ? 'good' : ''], ['Store reads', reads], ['Load factor', `${Math.round(100 * t.used / t.slots)} %`], ['Extensions',
      `${t.extensionBits} bit${t.extensionBits === 1 ? '' : 's'}`, t.extensionBits ? 'good' : ''], ['Reserve used', `${t.reserveUsed} %`],
    ['False positives of a qf', plain, plain > falsePositives ? 'bad' : '']];
    $('counters').replaceChildren(...items.map(([name, value, tone]) => {
      const item = document.createElement('div'), term = document.createElement('dt'), text = document.createElement('dd');
      term.textContent = name;
      text.textContent = value;
      if (tone) text.className = tone;
      item.append(term, text);
      return item;
    }));
  }

  // One stop of the tab key; arrows move between the keys.
  makeChips() {
    this.chips = ABSENT.map((key, i) => {
      const chip = document.createElement('button');
      chip.type = 'button';
      chip.textContent = key;
      chip.tabIndex = i ? -1 : 0;
      chip.addEventListener('click', () => {
        if (!this.snapshot) return;
        this.focusChip(i);
        this.ask('query', key);
        $('story').scrollIntoView({block: 'nearest', behavior: still.matches ? 'auto' : 'smooth'});
      });
      return chip;
    });
    $('absent').append(...this.chips);
    $('absent').addEventListener('keydown', (event) => {
      const by = {ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1}[event.key];
      if (!by) return;
      event.preventDefault();
      const n = this.chips.length;
      this.focusChip((this.chips.indexOf(document.activeElement) + by + n) % n);
    });
  }

  focusChip(i) {
    this.chips.forEach((chip, k) => { chip.tabIndex = k === i ? 0 : -1; });
    this.chips[i].focus({preventScroll: true});
  }

  renderChips() {
    const members = new Set(this.shown.fingerprints.map((f) => f.key));
    let wrong = 0;
    this.chips.forEach((chip, i) => {
      const key = ABSENT[i], yes = this.shown.yeses.includes(key), member = members.has(key);
      const state = member ? 'member' : yes ? 'wrong' : this.reported.has(key) ? 'fixed' : '';
      wrong += state === 'wrong';
      chip.className = `${state} ${this.steps.length && this.operation?.[1] === key ? 'asked' : ''}`;
      const spoken = {member: 'a member', wrong: 'false positive', fixed: 'learned, answered no'}[state];
      if (spoken) chip.setAttribute('aria-label', `${key}: ${spoken}`);
      else chip.removeAttribute('aria-label');
    });
    $('absent').classList.toggle('untouched', !this.counts.queries);
    $('absent-count').innerHTML = `<b class="${wrong ? 'bad' : 'good'}">${wrong}</b> of ${ABSENT.length} are false positives`;
    $('seed').textContent = `Seed ${this.seed}.`;
  }

  // ---------------------------------------------------------------- input

  ask(operation, key = $('key').value.trim()) {
    if (!key) return;
    this.pause();
    $('key').value = key;
    this.operate([operation, key]);
  }

  listen() {
    $('ask').addEventListener('submit', (event) => {
      event.preventDefault();
      this.ask('query');
    });
    $('key').addEventListener('input', () => {
      this.pause();
      this.enqueue(async () => {
        await this.preview();
        this.tell('The triangle shows the quotient of the key. Query it, insert it or delete it.');
      });
    });
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
      if (!(event.ctrlKey || event.metaKey) || event.key !== 'z' || event.target.matches?.('input')) return;
      event.preventDefault();
      this.undo();
    });
  }
}
