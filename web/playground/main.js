import {startLibrary} from './library.js';
import {RaceScene} from './race_scene.js';
import {TableScene} from './table_scene.js';

// The scenes are drawn before the library is there, so that nothing moves when it is.
async function main() {
  const docs = document.querySelector('.claims a').getAttribute('href').split('/results.md')[0];
  const table = new TableScene(), race = new RaceScene(docs);
  document.documentElement.classList.remove('starting'); // the browser may paint before this script runs
  if (document.readyState === 'loading') await new Promise((resolve) => { addEventListener('DOMContentLoaded', resolve); });
  const [forTable, forRace] = await Promise.all([startLibrary(), startLibrary()]);
  document.getElementById('version').textContent = `Version ${forTable.version}.`;
  await Promise.all([table.start(forTable), race.start(forRace)]);
  window.playground = {table, race}; // for tests
  document.documentElement.dataset.ready = 'yes';
}

main().catch((error) => {
  document.getElementById('told').textContent = `The library could not be started: ${error.message}`;
});
