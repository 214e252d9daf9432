// An operation as steps: what to say and what to mark. All of it follows from what the library
// answered. A step: {title, text, marks, verdict, after}. verdict: 'yes', 'no' or 'wrong'. after:
// it shows the table after the operation.
import {bits, firstBits} from './table_view.js';

const ENTITIES = {'&': '&amp;', '<': '&lt;', '>': '&gt;'};
const key = (text) => `<q>${text.replace(/[&<>]/g, (c) => ENTITIES[c])}</q>`;
const code = (text) => `<code>${text}</code>`;
const plural = (n, one, many = one + 's') => `${n} ${n === 1 ? one : many}`;
const NO = '<b class="good">no</b>';

const runOf = (answer) => [answer.runStart, answer.runEnd];

function slotsOf(answer) {
  const [first, end] = runOf(answer);
  return end - first === 1 ? `slot ${first}` : `slots ${first} to ${end - 1}`;
}

// The numbers of the fingerprints of a run.
const inRun = ({fingerprints}, quotient) => fingerprints.map((f, i) => i)
  .filter((i) => fingerprints[i].quotient === quotient);

const remainderOf = (answer, table) => code(bits(answer.remainder, table.totals.width));

function hashed(name, answer, table) {
  return {
    title: 'hash',
    text: `${key(name)} is hashed. Quotient ${answer.quotient} names a run, remainder ` +
      `${remainderOf(answer, table)} is what to look for in it.`,
    marks: {home: answer.quotient},
  };
}

// ------------------------------------------------------------------ queries

function searched(table, answer) {
  const home = answer.quotient, all = inRun(table, home), matched = new Set(answer.match);
  if (!all.length) {
    return {
      title: 'no run',
      text: `No key has quotient ${home}: its slot is not marked as occupied.`,
      marks: {home},
    };
  }
  const unequal = new Set(all.filter((i) => !matched.has(i)));
  return {
    title: 'run',
    text: `The run of quotient ${home} is in ${slotsOf(answer)}. ` +
      `${plural(all.length, 'remainder is', 'remainders are')} compared with ` +
      `${remainderOf(answer, table)}.`,
    marks: {home, run: runOf(answer), matched, unequal},
  };
}

// Why a key whose remainder is in the run does not match: because of an extension.
function learnedBefore(table, answer) {
  const f = inRun(table, answer.quotient).map((i) => table.fingerprints[i])
    .find((g) => g.remainder === answer.remainder && g.extensionBits && g.key);
  if (!f) return '';
  const own = code(firstBits(f.extension, f.extensionBits));
  const asked = code(firstBits(answer.suffix, f.extensionBits));
  return `The remainder of ${key(f.key)} is equal, but its extension ${own} differs from ` +
    `${asked}. This was learned. `;
}

function saidNo(name, table, answer) {
  const unequal = new Set(inRun(table, answer.quotient));
  return {
    title: 'no',
    verdict: 'no',
    text: `${learnedBefore(table, answer)}The answer for ${key(name)} is ${NO}: certain, and the ` +
      'store is not read.',
    marks: {home: answer.quotient, run: runOf(answer), unequal},
  };
}

function saidYes(name, table, answer) {
  const marks = {home: answer.quotient, run: runOf(answer), matched: new Set(answer.match)};
  const stored = answer.match.map((i) => key(table.fingerprints[i].key)).join(' and ');
  const read = {
    title: 'store',
    verdict: 'yes',
    text: 'A fingerprint matches: the answer is <b>yes</b>, perhaps. The store is read: this is ' +
      `the fingerprint of ${stored}.`,
    marks,
  };
  const right = {
    title: 'member',
    verdict: 'yes',
    text: `The store has ${key(name)}. The yes was right.`,
    marks: {...marks, tone: 'right'},
  };
  const wrong = {
    title: 'false positive',
    verdict: 'wrong',
    text: `${stored} is not ${key(name)}: a <b class="bad">false positive</b>. The read of the ` +
      'store was for nothing.',
    marks: {...marks, tone: 'wrong'},
  };
  return [read, answer.member ? right : wrong];
}

function refusedReport(name, text) {
  return {
    title: 'full',
    verdict: 'wrong',
    text: `The report is refused: ${text}. ${key(name)} stays a false positive until the table ` +
      'is rekeyed.',
    marks: {},
  };
}

// fixed: other absent keys that the same extension fixed.
function learned(name, table, result, fixed) {
  const {answer, after, fingerprints, totals} = result;
  const was = table.fingerprints[answer.match[0]];
  const now = fingerprints.find((f) => f.key === was.key), length = now.extensionBits;
  const cost = plural(totals.used - table.totals.used, 'further slot');
  const end = after.yes ? 'Another fingerprint still matches.'
    : `The answer is ${NO} from now on, for ${cost}.`;
  return {
    title: 'learned',
    verdict: 'no',
    after: true,
    text: `${key(name)} is reported. The fingerprint of ${key(was.key)} is extended ` +
      `${was.extensionBits ? 'to' : 'by'} ${plural(length, 'bit')} of its own hash: ` +
      `${code(firstBits(now.extension, length))}. The hash of ${key(name)} has ` +
      `${code(firstBits(answer.suffix, length))} there. ${end}` +
      (fixed.length ? ` The same bits fix ${fixed.map(key).join(', ')}.` : ''),
    marks: {home: answer.quotient, run: runOf(after), fresh: was.key},
  };
}

function querySteps(name, table, result, fixed) {
  const {answer} = result, steps = [hashed(name, answer, table), searched(table, answer)];
  if (!answer.yes) return [...steps, saidNo(name, table, answer)];
  steps.push(...saidYes(name, table, answer));
  if (answer.member) return steps;
  const others = fixed.filter((other) => other !== name);
  return [...steps, result.status ? refusedReport(name, result.text)
    : learned(name, table, result, others)];
}

// ------------------------------------------------------------------ changes

const refused = (text, answer) => [{title: 'refused', text, marks: {home: answer?.quotient}}];

function insertSteps(name, table, {answer, after, status, text}) {
  if (answer.member) return refused(`Nothing is inserted: ${key(name)} is in the store.`, answer);
  if (status) return refused(`Nothing is inserted: ${text}. Delete a key first.`, answer);
  const at = after.runEnd - 1, moved = table.slots[at].state !== 0;
  return [hashed(name, answer, table), {
    title: 'inserted',
    after: true,
    text: `${key(name)} is stored, and its remainder ${remainderOf(answer, table)} goes to the ` +
      `end of the run of quotient ${answer.quotient}, slot ${at}.` +
      (moved ? ' Later slots move to the right.' : '') +
      (answer.yes ? ' The filter answered yes before, too: another key has the same bits.' : ''),
    marks: {home: answer.quotient, run: runOf(after), fresh: name},
  }];
}

function removeSteps(name, table, {answer, after, status, text}) {
  if (!answer.member) return refused(`Nothing is deleted: there is no ${key(name)}.`, answer);
  if (status) return refused(`Nothing is deleted: ${text}.`, answer);
  const extended = table.fingerprints.some((f) => f.key === name && f.extensionBits);
  const marks = {home: answer.quotient, matched: new Set(answer.match)};
  return [{...hashed(name, answer, table), marks}, {
    title: 'deleted',
    after: true,
    text: `${key(name)} is deleted from the store and from its run. ` +
      (extended ? 'Its extension goes with it.' : 'Later slots move back to the left.'),
    marks: {home: answer.quotient, run: runOf(after)},
  }];
}

// table: before the operation. result: what the worker answered. fixed: absent keys that were
// answered yes before, and no now.
export function stepsOf([operation, name], table, result, fixed) {
  if (!result.slots) return refused(`The key is refused: ${result.text}.`);
  if (operation === 'insert') return insertSteps(name, table, result);
  if (operation === 'remove') return removeSteps(name, table, result);
  return querySteps(name, table, result, fixed);
}
