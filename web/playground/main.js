import {startLibrary} from './library.js';
import {RaceScene} from './race_scene.js';
import {TableScene} from './table_scene.js';

async function main() {
  const [forTable, forRace] = await Promise.all([startLibrary(), startLibrary()]);
  const docs = document.querySelector('.claims a').getAttribute('href').split('/results.md')[0];
  const table = new TableScene(forTable), race = new RaceScene(forRace, docs);
  document.getElementById('version').textContent = `Version ${forTable.version}.`;
  await Promise.all([table.start(), race.reset()]);
  window.playground = {table, race}; // for tests
  document.documentElement.dataset.ready = 'yes';
}

main().catch((error) => {
  document.getElementById('told').textContent = `The library could not be started: ${error.message}`;
});
