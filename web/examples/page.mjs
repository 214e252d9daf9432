import { Filter } from './besom/reader.mjs';

const list = await Filter.open('lists/blocked.besom');
const form = document.querySelector('form');
const output = document.querySelector('output');

form.addEventListener('submit', (event) => {
  event.preventDefault();
  const host = new FormData(form).get('host');
  output.textContent = `${host}: ${list.has(host) ? 'probably' : 'not'} on the list`;
});
output.textContent = `${list.stats.keys} hosts`;
