// The library in workers: one per scene, so that neither waits for the other.

async function moduleBytes() {
  const base64 = document.getElementById('wasm').textContent.trim();
  const packed = Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream('gzip'));
  return new Response(stream).arrayBuffer();
}

let bytes;

export async function startLibrary() {
  bytes ??= moduleBytes();
  const source = document.getElementById('worker').textContent;
  const worker = new Worker(URL.createObjectURL(new Blob([source], {type: 'text/javascript'})));
  const waiting = new Map();
  let next = 1;
  worker.onmessage = ({data: {id, result, error}}) => {
    const {resolve, reject} = waiting.get(id);
    waiting.delete(id);
    if (error === undefined) resolve(result);
    else reject(new Error(error));
  };
  worker.onerror = (event) => {
    for (const {reject} of waiting.values()) reject(new Error(event.message));
  };
  const call = (name, args) => new Promise((resolve, reject) => {
    waiting.set(next, {resolve, reject});
    worker.postMessage({id: next++, call: name, args});
  });
  const version = await call('start', await bytes);
  return {call, version};
}
