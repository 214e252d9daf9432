// Draws the table: one cell per slot, and a token for each slot that is used. A token moves when its slot moves.

export const SHOWN = 64; // slots: one block
const wide = matchMedia('(min-width: 760px)');
export const bits = (value, n) => (value >>> 0).toString(2).padStart(n, '0').slice(-n);
export const firstBits = (value, n) => bits(value, 32).slice(0, n);
const columns = () => (wide.matches ? 16 : 8);

function element(tag, className, text) {
  const e = document.createElement(tag);
  if (className) e.className = className;
  if (text !== undefined) e.textContent = text;
  return e;
}

const place = (token, position) => {
  const n = columns();
  token.style.transform = `translate(${(position % n) * 100}%, ${Math.floor(position / n) * 100}%)`;
};

// The bits of a fingerprint's slots, with what each bit is: [['0', 'remainder'], ...] per slot.
export function slotBits(snapshot, f) {
  const {width} = snapshot.totals;
  const tag = width >= 8 ? 3 : 1; // further_tag_bits in src/quotient/quotient_table.h
  let number = 0; // of a bit in the string: a 0, the extension, a 1, zeros
  return Array.from({length: f.slots}, (_, i) => [...bits(snapshot.slots[f.position + i].content, width)].map((bit, k) => {
    if (i === 0) return [bit, 'remainder'];
    if (k < tag) return [bit, 'tag'];
    number++;
    return [bit, f.extensionBits && number >= 2 && number <= 1 + f.extensionBits ? 'extension' : 'tag'];
  }));
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
    wide.addEventListener('change', () => this.layout());
  }

  layout() {
    for (const token of this.tokens.values()) place(token, token.position);
  }

  // marks: {home: quotient, run: [start, end], matched, unequal: sets of fingerprints, fresh: key, tone: 'right' or 'wrong'}
  draw(snapshot, marks = {}) {
    this.layer.dataset.tone = marks.tone ?? '';
    snapshot.slots.slice(0, SHOWN).forEach((slot, i) => {
      const cell = this.cells[i];
      cell.classList.toggle('occupied', slot.occupied === 1);
      cell.classList.toggle('tail', i >= snapshot.totals.slots);
      cell.classList.toggle('target', marks.home === i);
      cell.classList.toggle('probed', !!marks.run && i >= marks.run[0] && i < marks.run[1]);
    });
    this.drawTokens(snapshot, marks);
  }

  drawTokens(snapshot, marks) {
    const kept = new Set();
    let parity = 0, last = -1;
    snapshot.fingerprints.forEach((f, number) => {
      if (f.quotient !== last) parity ^= 1;
      last = f.quotient;
      slotBits(snapshot, f).forEach((slot, part) => {
        const name = `${f.key ?? 'tombstone ' + number}/${part}`;
        kept.add(name);
        this.drawToken(name, {f, number, part, slot, parity, end: snapshot.slots[f.position + part].runEnd, marks});
      });
    });
    for (const [name, token] of this.tokens) {
      if (kept.has(name)) continue;
      token.remove();
      this.tokens.delete(name);
    }
  }

  drawToken(name, {f, number, part, slot, parity, end, marks}) {
    let token = this.tokens.get(name);
    if (!token) {
      token = element('div');
      token.append(element('div', 'face'));
      this.layer.append(token);
      this.tokens.set(name, token);
    }
    token.className = ['token', parity ? 'odd' : 'even', part ? 'further' : 'head-slot', end ? 'end' : '',
      f.tombstone ? 'tombstone' : '', marks.matched?.has(number) ? 'matched' : '', marks.unequal?.has(number) ? 'unequal' : '',
      marks.fresh === f.key && f.key ? 'fresh' : ''].filter(Boolean).join(' ');
    const digits = element('b');
    for (const [bit, kind] of slot) digits.append(element('span', kind, bit));
    token.firstChild.replaceChildren(digits, element('small', '', part ? '' : f.key ?? 'removed'));
    token.position = f.position + part;
    place(token, token.position);
  }
}

// The table as rows of text, for readers who cannot see it.
export function textRows(snapshot) {
  return snapshot.fingerprints.map((f) => {
    const row = element('tr');
    const last = f.position + f.slots - 1;
    row.append(element('td', '', f.slots > 1 ? `${f.position} to ${last}` : f.position), element('td', '', f.quotient),
      element('td', 'mono', bits(f.remainder, snapshot.totals.width)),
      element('td', 'mono', f.extensionBits ? firstBits(f.extension, f.extensionBits) : 'none'),
      element('td', '', f.key ?? 'removed (tombstone)'));
    return row;
  });
}
