// compat_node.js PORT PROTOCOL: client.bf and client.cf of the npm package redis against the compatibility mode.
// NODE_PATH names the directory of the package. Prints ok, or ends with an assertion.
const assert = require('node:assert');
const { createClient, RESP_TYPES } = require('redis');

const numbers = [...Array(1000).keys()].map(String);

async function bloom(client) {
  const bf = client.bf;
  assert.equal(await bf.reserve('bf', 0.01, 1000), 'OK');
  assert.equal(await bf.reserve('bf-e', 0.01, 1000, { EXPANSION: 4 }), 'OK');
  assert.equal(await bf.reserve('bf-n', 1e-6, 2, { NONSCALING: true }), 'OK');
  assert.equal(await bf.add('bf', 'x'), true);
  assert.equal(await bf.add('bf', 'x'), false);
  assert.deepEqual(await bf.mAdd('bf', ['x', 'y']), [false, true]);
  assert.deepEqual(await bf.insert('bf-i', ['x', 'x'], { CAPACITY: 100, ERROR: 0.001 }), [true, false]);
  assert.equal(await bf.exists('bf', 'y'), true);
  assert.deepEqual(await bf.mExists('bf', ['y', 'z']), [true, false]);
  assert.equal(await bf.card('bf'), 2);
  const info = await bf.info('bf-n');
  assert.deepEqual([info['Capacity'], info['Number of filters'], info['Number of items inserted'],
    info['Expansion rate']], [2, 1, 0, null]);
  await bf.mAdd('bf-n', ['a', 'b']);
  await assert.rejects(bf.add('bf-n', 'c'), /^(Simple)?Error: ERR non scaling filter is full$/);
  await assert.rejects(bf.reserve('bf', 0.01, 1000), /ERR item exists/);
  await assert.rejects(bf.insert('none', ['x'], { NOCREATE: true }), /ERR not found/);
}

async function cuckoo(client) {
  const cf = client.cf;
  assert.equal(await cf.reserve('cf', 1000), 'OK');
  assert.equal(await cf.reserve('cf-o', 1000, { BUCKETSIZE: 4, MAXITERATIONS: 10, EXPANSION: 2 }), 'OK');
  assert.equal(await cf.add('cf', 'x'), true);
  assert.equal(await cf.add('cf', 'x'), true);
  assert.equal(await cf.addNX('cf', 'x'), false);
  assert.deepEqual(await cf.insert('cf', ['x', 'y'], { CAPACITY: 100 }), [true, true]);
  assert.deepEqual(await cf.insertNX('cf', ['x', 'z']), [0, 1]);
  assert.equal(await cf.count('cf', 'x'), 3);
  assert.equal(await cf.del('cf', 'x'), true);
  assert.equal(await cf.exists('cf', 'x'), true);
  assert.deepEqual(await cf.mExists('cf', ['x', 'none']), [true, false]);
  const info = await cf.info('cf');
  assert.deepEqual([info['Number of items inserted'], info['Number of items deleted']], [4, 1]);
}

// Copies a filter by its chunks, which are binary.
async function copy(commands, from, to) {
  for (let iterator = 0; ;) {
    const part = await commands.scanDump(from, iterator);
    iterator = part.iterator;
    if (iterator === 0) return;
    assert.equal(String(await commands.loadChunk(to, iterator, part.chunk)), 'OK');
  }
}

async function dumps(client) {
  const binary = client.withTypeMapping({ [RESP_TYPES.BLOB_STRING]: Buffer });
  await client.bf.mAdd('from', numbers);
  await copy(binary.bf, 'from', 'to');
  assert.deepEqual(await client.bf.mExists('to', numbers), numbers.map(() => true));
  await client.cf.insert('cfrom', numbers);
  await copy(binary.cf, 'cfrom', 'cto');
  assert.deepEqual(await client.cf.mExists('cto', numbers), numbers.map(() => true));
}

async function reports(client) {
  await client.bf.reserve('reported', 0.1, 1000);
  await client.bf.mAdd('reported', numbers);
  const absent = numbers.map((n) => 'absent-' + n);
  const answers = await client.bf.mExists('reported', absent);
  const wrong = absent.filter((_, i) => answers[i]);
  assert.ok(wrong.length > 0);
  await client.sendCommand(['AF.REPORT', 'reported', wrong[0]]);
  assert.equal(await client.bf.exists('reported', wrong[0]), false);
}

async function main() {
  const [port, protocol] = process.argv.slice(2).map(Number);
  const client = createClient({ socket: { port, host: '127.0.0.1' }, RESP: protocol });
  await client.connect();
  await client.flushAll();
  for (const part of [bloom, cuckoo, dumps, reports]) await part(client);
  client.destroy();
  console.log('ok');
}

main();
