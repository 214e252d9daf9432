'use strict';
// The list of pages is open where there is room beside the text.
const wide = matchMedia('(min-width: 60rem)');
const list = document.querySelector('nav details');
const fit = () => { list.open = wide.matches; };
wide.addEventListener('change', fit);
fit();

// The words of all pages are a script of their own, loaded when somebody searches.
const root = document.body.dataset.root;
const field = document.querySelector('input[type=search]');
const found = document.getElementById('found');
let sections = null;

window.besomSearch = (all) => {
  sections = all.map(([page, anchor, title, text]) => ({page, anchor, title, text, low: `${title} ${text}`.toLowerCase()}));
  search();
};

function load() {
  if (document.getElementById('words')) return;
  const script = document.createElement('script');
  script.id = 'words';
  script.src = `${root}search.js`;
  document.head.append(script);
}

// A section has all words; a word in its title counts most, then how often the words occur.
function rank(section, words) {
  let points = 0;
  for (const word of words) {
    const times = section.low.split(word).length - 1;
    if (!times) return 0;
    points += Math.min(times, 5) + (section.title.toLowerCase().includes(word) ? 20 : 0);
  }
  return points;
}

function excerpt(text, word) {
  const at = Math.max(0, text.toLowerCase().indexOf(word) - 60);
  return `${at ? '… ' : ''}${text.slice(at, at + 160)}${at + 160 < text.length ? ' …' : ''}`;
}

function show(section, word) {
  const item = document.createElement('li');
  const link = document.createElement('a');
  link.href = `${root}${section.page}${section.anchor && `#${section.anchor}`}`;
  link.textContent = section.title;
  const words = document.createElement('p');
  words.textContent = excerpt(section.text, word);
  item.append(link, words);
  return item;
}

function search() {
  const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
  found.hidden = !words.length || !sections;
  if (found.hidden) return;
  const ranked = sections.map((section) => [rank(section, words), section]).filter(([points]) => points)
    .sort(([a], [b]) => b - a).slice(0, 12);
  found.replaceChildren(...ranked.map(([, section]) => show(section, words[0])));
  if (!ranked.length) found.textContent = 'Nothing found.';
}

field.addEventListener('focus', load);
field.addEventListener('input', () => { load(); search(); });
field.form.addEventListener('submit', (event) => {
  event.preventDefault();
  const first = found.querySelector('a');
  if (first) location.href = first.href;
});
