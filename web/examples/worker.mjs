import { Filter } from './besom/reader.mjs';

// Queries that arrive while the list is fetched wait for it.
const opened = Filter.open('lists/blocked.besom');

self.onmessage = async ({ data: { id, hosts } }) => {
  try {
    const list = await opened;
    self.postMessage({ id, answers: list.hasMany(hosts) });
  } catch (error) {
    self.postMessage({ id, error: `${error.name}: ${error.message}` });
  }
};
