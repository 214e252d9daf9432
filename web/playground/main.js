import {startLibrary} from './library.js';
import {RaceScene} from './race_scene.js';
import {TableScene} from './table_scene.js';

const parsed = () => new Promise((resolve) => {
  if (document.readyState === 'loading') addEventListener('DOMContentLoaded', resolve);
  else resolve();
});

// The scenes are drawn before the library is there, so that nothing moves when it is. The browser
// may paint before this script runs: so far the page is hidden.
async function main() {
  const claims = document.querySelector('.claims a').getAttribute('href').split('#')[0];
  const table = new TableScene(), race = new RaceScene(claims);
  document.documentElement.classList.remove('starting');
  await parsed();
  const [forTable, forRace] = await Promise.all([startLibrary(), startLibrary()]);
  document.getElementById('version').textContent = `Version ${forTable.version}.`;
  await Promise.all([table.start(forTable), race.start(forRace)]);
  window.playground = {table, race}; // for tests
  document.documentElement.dataset.ready = 'yes';
}

main().catch((error) => {
  document.getElementById('told').textContent = `The library does not start: ${error.message}`;
});
