// Draws the table: one cell per slot, and a token for each slot that is used. A token moves when
// its slot moves.

export const SHOWN = 64; // slots: one block
const wide = matchMedia('(min-width: 760px)');
const columns = () => (wide.matches ? 16 : 8);

// The lower n bits of a number, and its first n of 32 bits, as text.
export const bits = (value, n) => (value >>> 0).toString(2).padStart(n, '0').slice(-n);
export const firstBits = (value, n) => bits(value, 32).slice(0, n);

export function element(tag, className, text) {
  const e = document.createElement(tag);
  if (className) e.className = className;
  if (text !== undefined) e.textContent = text;
  return e;
}

function place(token, position) {
  const n = columns();
  token.style.transform = `translate(${(position % n) * 100}%, ${Math.floor(position / n) * 100}%)`;
}

// What bit k of the i-th slot of a fingerprint is. The payloads of further slots are one string: a
// 0, the extension, a 1, and zeros (src/quotient/fingerprint/multislot.h). `number`: of the bit in that string.
function kindOfBit(f, i, k, tag, number) {
  if (i === 0) return 'remainder';
  return k >= tag && number >= 1 && number <= f.extensionBits ? 'extension' : 'tag';
}

// The bits of a fingerprint, per slot: [['0', 'remainder'], ...].
function slotBits({slots, totals: {width}}, f) {
  const tag = width >= 8 ? 3 : 1; // width - further_payload(width) in src/quotient/table/quotient_table.h
  return Array.from({length: f.slots}, (_, i) => {
    const digits = bits(slots[f.position + i].content, width);
    return [...digits].map((bit, k) => {
      const number = (i - 1) * (width - tag) + k - tag;
      return [bit, kindOfBit(f, i, k, tag, number)];
    });
  });
}

export class TableView {
  constructor(cells, tokens) {
    this.cells = Array.from({length: SHOWN}, (_, i) => {
      const cell = element('div', 'cell');
      cell.append(element('i', 'home'), element('span', 'number', i));
      cells.append(cell);
      return cell;
    });
    this.layer = tokens;
    this.tokens = new Map();
    wide.addEventListener('change', () => {
      for (const token of this.tokens.values()) place(token, token.position);
    });
  }

  // marks: {home: quotient, run: [start, end], matched and unequal: sets of fingerprints by number,
  // fresh: key, tone: 'right' or 'wrong'}
  draw(snapshot, marks = {}) {
    const [start, end] = marks.run ?? [0, 0];
    this.layer.dataset.tone = marks.tone ?? '';
    this.cells.forEach((cell, i) => {
      cell.classList.toggle('occupied', snapshot.slots[i].occupied === 1);
      cell.classList.toggle('tail', i >= snapshot.totals.slots);
      cell.classList.toggle('target', marks.home === i);
      cell.classList.toggle('probed', i >= start && i < end);
    });
    this.drawTokens(snapshot, marks);
  }

  drawTokens(snapshot, marks) {
    const drawn = new Set();
    let parity = 0, last = -1;
    snapshot.fingerprints.forEach((f, number) => {
      if (f.quotient !== last) parity ^= 1;
      last = f.quotient;
      const classes = [parity ? 'odd' : 'even', f.tombstone && 'tombstone',
        marks.matched?.has(number) && 'matched', marks.unequal?.has(number) && 'unequal',
        f.key && marks.fresh === f.key && 'fresh'];
      slotBits(snapshot, f).forEach((digits, part) => {
        const name = `${f.key ?? 'tombstone ' + number}/${part}`, position = f.position + part;
        const ends = snapshot.slots[position].runEnd && 'end';
        drawn.add(name);
        this.drawToken(name, position, [...classes, part && 'further', ends], digits,
          part ? '' : f.key ?? 'removed');
      });
    });
    for (const [name, token] of this.tokens) {
      if (drawn.has(name)) continue;
      token.remove();
      this.tokens.delete(name);
    }
  }

  drawToken(name, position, classes, digits, label) {
    let token = this.tokens.get(name);
    if (!token) {
      token = element('div');
      token.append(element('div', 'face'));
      this.layer.append(token);
      this.tokens.set(name, token);
    }
    token.className = ['token', ...classes].filter(Boolean).join(' ');
    const number = element('b');
    number.append(...digits.map(([bit, kind]) => element('span', kind, bit)));
    token.firstChild.replaceChildren(number, element('small', '', label));
    token.position = position;
    place(token, position);
  }
}

// The table as rows of text, for readers who cannot see it.
export function textRows({fingerprints, totals}) {
  return fingerprints.map((f) => {
    const row = element('tr'), last = f.position + f.slots - 1;
    const extension = f.extensionBits ? firstBits(f.extension, f.extensionBits) : 'none';
    row.append(
      element('td', '', f.slots > 1 ? `${f.position} to ${last}` : f.position),
      element('td', '', f.quotient),
      element('td', 'mono', bits(f.remainder, totals.width)),
      element('td', 'mono', extension),
      element('td', '', f.key ?? 'removed (tombstone)'),
    );
    return row;
  });
}
