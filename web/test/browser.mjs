/** Chromium without a screen, driven by chromedriver, and a server for its pages. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { readFile } from 'node:fs/promises';
import { extname, join, normalize } from 'node:path';

const TYPES = {
  '.html': 'text/html', '.mjs': 'text/javascript', '.wasm': 'application/wasm',
  '.besom': 'application/octet-stream',
};

/**
 * Serves directories: { '/': 'web/examples', '/besom/': 'build/web' }, and files that are given as
 * bytes. headers are sent with every answer.
 */
export async function serve(directories, files = {}, headers = {}) {
  const find = async (path) => {
    if (path in files) return files[path];
    const prefix = Object.keys(directories).filter((p) => path.startsWith(p))
      .sort((a, b) => b.length - a.length)[0];
    return readFile(join(directories[prefix], normalize(path.slice(prefix.length))));
  };
  const server = createServer(async (request, response) => {
    const path = new URL(request.url, 'http://localhost').pathname;
    try {
      const bytes = await find(path);
      response.writeHead(200, { 'content-type': TYPES[extname(path)] ?? 'text/plain', ...headers });
      response.end(bytes);
    } catch {
      response.writeHead(404, headers).end('not found');
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  const close = () => { server.closeAllConnections(); server.close(); };
  return { url: `http://localhost:${port}`, port, close };
}

export class Browser {
  static async start(args = []) {
    const browser = new Browser();
    browser.process = spawn('chromedriver', ['--port=0'], { stdio: ['ignore', 'pipe', 'ignore'] });
    let output = '';
    for await (const text of browser.process.stdout) {
      output += text;
      const port = /successfully on port (\d+)/.exec(output);
      if (port) {
        browser.url = `http://127.0.0.1:${port[1]}`;
        break;
      }
    }
    const options = {
      args: ['--headless=new', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', ...args],
    };
    const capabilities = {
      browserName: 'chrome', 'goog:chromeOptions': options, 'goog:loggingPrefs': { browser: 'ALL' },
    };
    const session = await browser.#call('POST', '/session', { capabilities: { alwaysMatch: capabilities } });
    browser.path = `/session/${session.sessionId}`;
    return browser;
  }

  async #call(method, path, body) {
    const response = await fetch(this.url + path, { method, body: body && JSON.stringify(body) });
    const { value } = await response.json();
    if (value?.error) throw new Error(`${value.error}: ${value.message}`);
    return value;
  }

  call(method, path, body) {
    return this.#call(method, this.path + path, body);
  }

  open(url) {
    return this.call('POST', '/url', { url });
  }

  /** The value of an asynchronous function in the page; args are passed to it. */
  async run(body, ...args) {
    const script = `const done = arguments[arguments.length - 1];
      (${body})(...[...arguments].slice(0, -1)).then(
        (value) => done({ value }), (error) => done({ error: String(error) }));`;
    const result = await this.call('POST', '/execute/async', { script, args });
    if (result.error) throw new Error(result.error);
    return result.value;
  }

  async log() {
    const entries = await this.call('POST', '/se/log', { type: 'browser' });
    return entries.map((entry) => entry.message);
  }

  async close() {
    if (this.path) await this.call('DELETE', '').catch(() => {});
    this.process.kill();
  }
}
