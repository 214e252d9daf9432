// What is around the table: the hash of a key, the steps, the counters, the absent keys.
import {bits, element, firstBits} from './table_view.js';

const SUFFIX = 12; // bits of the hash after the remainder

// ------------------------------------------------------------------ hash

export function drawHash(box, key, answer, width, verdict) {
  const known = answer && !answer.status;
  const parts = [
    ['key', known ? key : '–', 'key'],
    ['quotient', known ? answer.quotient : '–'],
    ['remainder', known ? bits(answer.remainder, width) : '–'],
    ['further bits of the hash', known ? `${firstBits(answer.suffix, SUFFIX)}…` : '–'],
  ];
  box.className = `hash ${verdict ?? ''}`;
  box.replaceChildren(...parts.map(([name, value, className = '']) => {
    const part = element('span', `part ${className}`);
    part.append(element('i', '', name), element('b', '', value));
    return part;
  }));
}

// ------------------------------------------------------------------ steps

// One button per step; show(i) is called when it is pressed.
export function drawDots(list, steps, at, show) {
  list.replaceChildren(...steps.map((step, i) => {
    const item = element('li'), dot = element('button', '', step.title);
    dot.type = 'button';
    if (i <= at) dot.classList.add('done');
    if (i === at) {
      dot.classList.add('now', step.verdict ?? 'yes');
      dot.setAttribute('aria-current', 'step');
    }
    dot.addEventListener('click', () => {
      show(i);
      list.children[i].firstChild.focus();
    });
    item.append(dot);
    return item;
  }));
}

// ------------------------------------------------------------------ counters

export const NO_COUNTS = {queries: 0, falsePositives: 0, repeats: 0, reads: 0, plain: 0};

// The counters after a query with this answer. reported: keys that were reported before.
export function counted(counts, key, answer, reported) {
  const wrong = answer.yes && !answer.member;
  return {
    queries: counts.queries + 1,
    falsePositives: counts.falsePositives + (wrong ? 1 : 0),
    repeats: counts.repeats + (wrong && reported.has(key) ? 1 : 0),
    reads: counts.reads + (answer.yes ? 1 : 0),
    plain: counts.plain + (answer.plainYes && !answer.member ? 1 : 0),
  };
}

export function drawCounters(list, counts, {used, slots, extensionBits, reserveUsed}) {
  const {queries, falsePositives, repeats, reads, plain} = counts;
  const learned = extensionBits === 1 ? '1 bit' : `${extensionBits} bits`;
  const items = [
    ['Queries', queries],
    ['False positives', falsePositives, falsePositives && 'bad'],
    ['Repeats', repeats, queries && (repeats ? 'bad' : 'good')],
    ['Store reads', reads],
    ['Load factor', `${Math.round(100 * used / slots)} %`],
    ['Extensions', learned, extensionBits && 'good'],
    ['Reserve used', `${reserveUsed} %`],
    ['False positives of a qf', plain, plain > falsePositives && 'bad'],
  ];
  list.replaceChildren(...items.map(([name, value, tone]) => {
    const item = element('div');
    item.append(element('dt', '', name), element('dd', tone || '', value));
    return item;
  }));
}

// ------------------------------------------------------------------ absent keys

const STEP_OF_KEY = {ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1};
const SPOKEN = {member: 'a member', wrong: 'false positive', fixed: 'learned, answered no'};

// A button per key. They are one stop of the tab key; arrows move between them.
export class Chips {
  constructor(box, keys, ask) {
    this.box = box;
    this.keys = keys;
    this.chips = keys.map((key, i) => {
      const chip = element('button', '', key);
      chip.type = 'button';
      chip.tabIndex = i ? -1 : 0;
      chip.addEventListener('click', () => {
        this.focus(i);
        ask(key);
      });
      return chip;
    });
    box.append(...this.chips);
    box.addEventListener('keydown', (event) => {
      const by = STEP_OF_KEY[event.key], n = keys.length;
      if (!by) return;
      event.preventDefault();
      this.focus((this.chips.indexOf(document.activeElement) + by + n) % n);
    });
  }

  focus(i) {
    this.chips.forEach((chip, k) => { chip.tabIndex = k === i ? 0 : -1; });
    this.chips[i].focus({preventScroll: true});
  }

  // Returns the number of false positives.
  draw({members, yeses, reported, asked}) {
    let wrong = 0;
    this.keys.forEach((key, i) => {
      const chip = this.chips[i];
      const state = members.has(key) ? 'member' : yeses.includes(key) ? 'wrong'
        : reported.has(key) ? 'fixed' : '';
      if (state === 'wrong') wrong++;
      chip.className = `${state} ${asked === key ? 'asked' : ''}`;
      if (state) chip.setAttribute('aria-label', `${key}: ${SPOKEN[state]}`);
      else chip.removeAttribute('aria-label');
    });
    return wrong;
  }
}
