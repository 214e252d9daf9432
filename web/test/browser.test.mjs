/** The package in headless Chromium: the examples of docs/web.md, golden files, signatures. */
import assert from 'node:assert/strict';
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { Browser, serve } from './browser.mjs';
import { PACKAGE, ROOT, besom, golden, keysOf } from './support.mjs';

const hosts = [...keysOf('host-', 2000), '127.0.0.1'];
const STRICT = { 'content-security-policy': "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'" };
const FORBIDDEN = { 'content-security-policy': "default-src 'self'; script-src 'self'" };

let browser, strict, forbidden, list, files;

before(async () => {
  list = await besom.Filter.build(hosts, { fpr: 1e-6 });
  files = { '/lists/blocked.besom': list.save(), '/besom/empty.html': '<!doctype html><title>x</title>' };
  for (const { name, bytes } of golden()) files[`/golden/${name}`] = bytes;
  const directories = { '/': `${ROOT}/web/examples`, '/besom/': PACKAGE };
  [strict, forbidden] = await Promise.all([STRICT, FORBIDDEN].map((h) => serve(directories, files, h)));
  browser = await Browser.start();
  await browser.call('POST', '/timeouts', { script: 120000, pageLoad: 120000 });
});

after(async () => {
  await browser?.close();
  strict?.close();
  forbidden?.close();
});

/** Runs a check in the page until it is true. */
const until = (condition) => browser.run(`async () => {
  for (let i = 0; i < 1200; i++) {
    if (${condition}) return true;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error('timeout: ' + document.body.textContent);
}`);

test('page.mjs under script-src self, wasm-unsafe-eval', async () => {
  await browser.open(`${strict.url}/page.html`);
  await until(`document.querySelector('output').textContent === '${hosts.length} hosts'`);
  for (const [host, text] of [['host-7', 'probably on the list'], ['other', 'not on the list']]) {
    await browser.run(`async (host) => {
      document.querySelector('input').value = host;
      document.querySelector('form').requestSubmit();
    }`, host);
    await until(`document.querySelector('output').textContent === '${host}: ${text}'`);
  }
  const complaints = (await browser.log()).filter((line) => !line.includes('favicon'));
  assert.deepEqual(complaints, []);
});

test('without wasm-unsafe-eval the error says why', async () => {
  await browser.open(`${forbidden.url}/besom/empty.html`);
  const message = await browser.run(`async () => {
    const { Filter } = await import('/besom/reader.mjs');
    return Filter.open('/lists/blocked.besom').then(() => 'opened', (error) => error.message);
  }`);
  assert.match(message, /wasm-unsafe-eval|unsafe-eval/);
});

test('the full module in a page: golden files, build, report, patch', async () => {
  await browser.open(`${strict.url}/besom/empty.html`);
  const result = await browser.run(`async (names) => {
    const { Filter, FetchError } = await import('/besom/besom.mjs');
    const equal = (a, b) => a.length === b.length && a.every((x, i) => x === b[i]);
    const wrong = [];
    for (const name of names) {
      const bytes = new Uint8Array(await (await fetch('/golden/' + name)).arrayBuffer());
      const filter = await Filter.open(bytes);
      if (!equal(filter.save(), bytes)) wrong.push(name);
      filter.free();
    }
    const members = Array.from({ length: 3000 }, (_, i) => 'key-' + i);
    const old = await Filter.build(members, { fpr: 0.02, capacity: 3100 });
    const fresh = await Filter.build([...members, 'added'], { like: old });
    const filter = await Filter.open(old.save());
    let key = 0;
    while (!filter.has('absent-' + key)) key++;
    filter.report('absent-' + key);
    const fixed = !filter.has('absent-' + key) && members.every((k) => filter.has(k));
    await filter.patch(old.diff(fresh));
    const missing = await Filter.open('/lists/none.besom').catch((error) => error);
    return { wrong, fixed, patched: equal(filter.save(), fresh.save()),
      missing: missing instanceof FetchError && missing.message };
  }`, golden().map(({ name }) => name));
  assert.deepEqual(result.wrong, []);
  assert.ok(result.fixed && result.patched);
  assert.match(result.missing, /none\.besom: status 404/);
});

test('worker.mjs, several workers at once', async () => {
  await browser.open(`${strict.url}/besom/empty.html`);
  const answers = await browser.run(`async (hosts) => Promise.all([1, 2, 3].map((id) =>
    new Promise((resolve, reject) => {
      const worker = new Worker('/worker.mjs', { type: 'module' });
      worker.onerror = (event) => reject(new Error(event.message));
      worker.onmessage = ({ data }) => resolve(data.error ?? [...data.answers]);
      worker.postMessage({ id, hosts });
    })))`, ['host-1', 'other', 'host-1999', '']);
  assert.deepEqual(answers, Array(3).fill([1, 0, 1, 0]));
});

test('service_worker.mjs answers from the list, also after it was started again', async () => {
  await browser.open(`${strict.url}/page.html`);
  await browser.run(`async () => {
    await navigator.serviceWorker.register('/service_worker.mjs', { type: 'module' });
    const { active } = await navigator.serviceWorker.ready;
    if (!navigator.serviceWorker.controller)
      await new Promise((resolve) => { navigator.serviceWorker.oncontrollerchange = resolve; });
    return active.state;
  }`);
  const ask = () => browser.run(`async (hosts) => Promise.all(hosts.map(async (host) =>
    (await fetch('/check?host=' + host)).text()))`, ['host-3', 'other']);
  assert.deepEqual(await ask(), ['yes', 'no']);
  const kept = await browser.run(`async () => {
    const cached = await (await caches.open('lists')).match('/lists/blocked.besom');
    return cached && (await cached.arrayBuffer()).byteLength;
  }`);
  assert.equal(kept, list.save().length);
});

test('the extension blocks a host of the list', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'besom-extension-'));
  cpSync(`${ROOT}/web/examples/extension`, directory, { recursive: true });
  cpSync(PACKAGE, join(directory, 'besom'), { recursive: true });
  mkdirSync(join(directory, 'lists'));
  writeFileSync(join(directory, 'lists/blocked.besom'), list.save());
  const own = await Browser.start([`--load-extension=${directory}`,
    '--disable-features=DisableLoadExtensionCommandLineSwitch']);
  try {
    await own.call('POST', '/timeouts', { script: 60000, pageLoad: 60000 });
    await own.open('chrome://extensions/');
    const names = await own.run(`async () => (await chrome.management.getAll()).map((e) => e.name)`)
      .catch(() => []);
    if (!names.includes('besom: a blocklist')) {
      t.skip('this Chromium does not load unpacked extensions');
      return;
    }
    await own.open(`${strict.url}/besom/empty.html`); // localhost is not on the list
    assert.equal(await own.run('async () => document.title'), 'x');
    const blocked = `http://127.0.0.1:${strict.port}/besom/empty.html`;
    let url;
    for (let i = 0; i < 100 && url !== 'about:blank#blocked'; i++) {
      await own.open(blocked).catch(() => {});
      await new Promise((resolve) => setTimeout(resolve, 100));
      url = await own.call('GET', '/url');
    }
    assert.equal(url, 'about:blank#blocked');
  } finally {
    await own.close();
    rmSync(directory, { recursive: true });
  }
});
