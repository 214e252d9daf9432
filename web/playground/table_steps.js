// An operation as steps: what to say and what to mark. Everything said follows from what the library answered.
import {bits, firstBits} from './table_view.js';

const plural = (n, one, many = one + 's') => `${n} ${n === 1 ? one : many}`;
const key = (text) => `<q>${text.replace(/[&<>]/g, (c) => ({'&': '&amp;', '<': '&lt;', '>': '&gt;'}[c]))}</q>`;
const slotsOf = (answer) => (answer.runEnd - answer.runStart === 1 ? `slot ${answer.runStart}`
  : `slots ${answer.runStart} to ${answer.runEnd - 1}`);
const code = (text) => `<code>${text}</code>`;

const inRun = (snapshot, quotient) => snapshot.fingerprints.map((f, i) => [f, i]).filter(([f]) => f.quotient === quotient);

function hashed(name, answer, width) {
  return {title: 'hash', text: `${key(name)} is hashed. Quotient ${answer.quotient} names a run, remainder ` +
    `${code(bits(answer.remainder, width))} is what to look for in it.`, marks: {home: answer.quotient}};
}

// The extended fingerprints of the run that have the remainder, and differ only in the extension.
const almost = (snapshot, answer) => inRun(snapshot, answer.quotient)
  .filter(([f, i]) => f.remainder === answer.remainder && f.extensionBits && !f.tombstone && !answer.match.includes(i));

function searched(snapshot, answer) {
  const run = [answer.runStart, answer.runEnd], {width} = snapshot.totals;
  if (run[0] === run[1]) {
    return {title: 'no run', text: `No key has quotient ${answer.quotient}: its slot is not marked as occupied.`,
      marks: {home: answer.quotient}};
  }
  const all = inRun(snapshot, answer.quotient), matched = new Set(answer.match);
  return {title: 'run', text: `The run of quotient ${answer.quotient} is in ${slotsOf(answer)}. ` +
    `${plural(all.length, 'remainder is', 'remainders are')} compared with ${code(bits(answer.remainder, width))}.`,
  marks: {home: answer.quotient, run, matched, unequal: new Set(all.map(([, i]) => i).filter((i) => !matched.has(i)))}};
}

function saidNo(name, snapshot, answer) {
  const learned = almost(snapshot, answer);
  const why = learned.length ? `The remainder of ${key(learned[0][0].key)} is equal, but its extension ` +
    `${code(firstBits(learned[0][0].extension, learned[0][0].extensionBits))} differs from ` +
    `${code(firstBits(answer.suffix, learned[0][0].extensionBits))}. This was learned. ` : '';
  return {title: 'no', verdict: 'no', text: `${why}The answer for ${key(name)} is <b class="good">no</b>: certain, and the ` +
    'store is not read.', marks: {home: answer.quotient, run: [answer.runStart, answer.runEnd],
    unequal: new Set(inRun(snapshot, answer.quotient).map(([, i]) => i))}};
}

const owners = (snapshot, answer) => answer.match.map((i) => snapshot.fingerprints[i].key);

function saidYes(name, snapshot, answer) {
  const marks = {home: answer.quotient, run: [answer.runStart, answer.runEnd], matched: new Set(answer.match)};
  const stored = owners(snapshot, answer).map(key).join(' and ');
  const read = {title: 'store', verdict: 'yes', text: `A fingerprint matches: the answer is <b>yes</b>, perhaps. ` +
    `The store is read: this is the fingerprint of ${stored}.`, marks};
  if (answer.member) {
    return [read, {title: 'member', verdict: 'yes', text: `The store has ${key(name)}. The yes was right.`, marks: {...marks, tone: 'right'}}];
  }
  return [read, {title: 'false positive', verdict: 'wrong', text: `${stored} is not ${key(name)}: a ` +
    `<b class="bad">false positive</b>. The read of the store was for nothing.`, marks: {...marks, tone: 'wrong'}}];
}

function learned(name, before, {answer, after, status, text, fingerprints, totals}, fixed) {
  if (status) {
    return {title: 'full', verdict: 'wrong', text: `The report is refused: ${text}. ${key(name)} stays a false positive until ` +
      'the table is rekeyed.', marks: {}};
  }
  const stored = owners(before, answer)[0];
  const now = fingerprints.find((f) => f.key === stored), was = before.fingerprints.find((f) => f.key === stored);
  const more = now.extensionBits, took = totals.used - before.totals.used;
  const others = fixed.filter((k) => k !== name);
  return {title: 'learned', verdict: 'no', after: true, text: `${key(name)} is reported. The fingerprint of ${key(stored)} is extended ` +
    `${was.extensionBits ? 'to' : 'by'} ${plural(more, 'bit')} of its own hash: ${code(firstBits(now.extension, more))}. The hash of ` +
    `${key(name)} has ${code(firstBits(answer.suffix, more))} there. ${after.yes ? 'Another fingerprint still matches.'
      : `The answer is <b class="good">no</b> from now on, for ${plural(took, 'further slot')}.`}` +
    (others.length ? ` The same bits fix ${others.map(key).join(', ')}.` : ''),
  marks: {home: answer.quotient, run: [after.runStart, after.runEnd], fresh: stored}};
}

function querySteps(name, before, result, fixed) {
  const {answer} = result, steps = [hashed(name, answer, before.totals.width), searched(before, answer)];
  if (!answer.yes) return [...steps, saidNo(name, before, answer)];
  steps.push(...saidYes(name, before, answer));
  if (!answer.member) steps.push(learned(name, before, result, fixed));
  return steps;
}

function insertSteps(name, before, {answer, after, status, text}) {
  const first = hashed(name, answer, before.totals.width);
  if (status) {
    const why = answer.member ? `${key(name)} is in the store already.` : `${text}. Delete a key first.`;
    return [{title: 'refused', text: `Nothing is inserted: ${why}`, marks: {home: answer.quotient}}];
  }
  const at = after.runEnd - 1;
  const moved = before.slots[at].state !== 0;
  return [first, {title: 'inserted', after: true, text: `${key(name)} is stored, and its remainder ` +
    `${code(bits(answer.remainder, before.totals.width))} goes to the end of the run of quotient ${answer.quotient}, slot ${at}` +
    `${moved ? '. Later slots move to the right' : ''}.` + (answer.yes ? ' It was a false positive before: keys with equal bits are the ' +
    'same to the filter.' : ''), marks: {home: answer.quotient, run: [after.runStart, after.runEnd], fresh: name}}];
}

function removeSteps(name, before, {answer, after, status, text, fingerprints}) {
  if (status) {
    const why = answer.member ? text : `${key(name)} is not in the store`;
    return [{title: 'refused', text: `Nothing is deleted: ${why}.`, marks: {home: answer.quotient}}];
  }
  const kept = fingerprints.some((f) => f.tombstone && f.quotient === answer.quotient && f.remainder === answer.remainder);
  const extended = before.fingerprints.some((f) => f.key === name && f.extensionBits);
  return [{...hashed(name, answer, before.totals.width), marks: {home: answer.quotient, matched: new Set(answer.match)}},
    {title: 'deleted', after: true, text: `${key(name)} is deleted from the store and from its run. ` +
      (kept ? 'Its extended fingerprint stays as a tombstone, so that what was learned survives if the key returns.'
        : extended ? 'Its extension goes with it.' : 'Later slots move back to the left.'), marks: {home: answer.quotient, run: [after.runStart, after.runEnd]}}];
}

// result: what the worker answered to 'operate'. fixed: absent keys that were answered yes before, and no now.
export function stepsOf([operation, name], before, result, fixed) {
  if (!result.answer || result.answer.status) return [{title: 'refused', text: `${result.text}.`, marks: {}}];
  if (operation === 'insert') return insertSteps(name, before, result);
  if (operation === 'remove') return removeSteps(name, before, result);
  return querySteps(name, before, result, fixed);
}
