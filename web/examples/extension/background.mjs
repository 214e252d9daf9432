import { Filter } from './besom/reader.mjs';

let opened = null;
const list = () => (opened ??= Filter.open(chrome.runtime.getURL('lists/blocked.besom')));

// A rule per host, until the browser ends. Its number follows from the host, so that a service
// worker that was started again finds the rule.
async function blockHost(host) {
  const id = [...host].reduce((sum, c) => (31 * sum + c.codePointAt(0)) % 0x3fffffff, 7) + 1;
  await chrome.declarativeNetRequest.updateSessionRules({
    removeRuleIds: [id],
    addRules: [{
      id,
      action: { type: 'block' },
      condition: { requestDomains: [host], resourceTypes: ['main_frame', 'sub_frame'] },
    }],
  });
}

chrome.webNavigation.onBeforeNavigate.addListener(async ({ tabId, frameId, url }) => {
  const { protocol, hostname } = new URL(url);
  if (frameId !== 0 || !protocol.startsWith('http') || !(await list()).has(hostname)) return;
  await blockHost(hostname); // later navigations do not leave the browser
  await chrome.tabs.update(tabId, { url: 'about:blank#blocked' }); // this one has begun already
});
