import { Filter } from './besom/reader.mjs';

// The browser ends an idle service worker and starts it again: the cache keeps the list.
async function openList() {
  const cache = await caches.open('lists');
  const kept = await cache.match('lists/blocked.besom');
  if (kept) return Filter.open(kept);
  const list = await Filter.open('lists/blocked.besom');
  await cache.put('lists/blocked.besom', new Response(list.save()));
  return list;
}

let opened = null;
const list = () => (opened ??= openList().catch((error) => { opened = null; throw error; }));

self.addEventListener('install', (event) => event.waitUntil(list().then(() => self.skipWaiting())));
self.addEventListener('activate', (event) => event.waitUntil(self.clients.claim()));

// GET check?host=HOST answers yes or no, from the list.
self.addEventListener('fetch', (event) => {
  const url = new URL(event.request.url);
  if (!url.pathname.endsWith('/check')) return;
  const host = url.searchParams.get('host');
  const answer = list().then((blocked) => (blocked.has(host) ? 'yes' : 'no'));
  event.respondWith(answer.then((text) => new Response(text)));
});
