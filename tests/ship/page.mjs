// The live page in a Chromium, before a running Weir that is asked, changed and ended meanwhile (OBS-3). Pictures for the eye
// stay in FOLDER, if it is given.
// usage: node page.mjs WEIR [FOLDER]
import assert from 'node:assert/strict';
import {spawn} from 'node:child_process';
import {once} from 'node:events';
import http from 'node:http';
import net from 'node:net';

import {Browser} from './browser.mjs';

const [weirPath, folder] = process.argv.slice(2);
const patience = 120_000;

async function until(what, condition) {
  const end = Date.now() + patience;
  for (let last; ; ) {
    if (await condition().catch((error) => (last = error, false))) return;
    if (Date.now() > end) throw new Error('waited in vain: ' + what + (last ? ' (' + last.message + ')' : ''));
    await new Promise((again) => setTimeout(again, 100));
  }
}
async function freePort() {
  const server = net.createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const {port} = server.address();
  server.close();
  await once(server, 'close');
  return port;
}

const origin = http.createServer((request, answer) => {
  answer.setHeader('Cache-Control', request.url.startsWith('/private') ? 'private' : 'max-age=600');
  answer.end('a body');
}).listen(0, '127.0.0.1');
await once(origin, 'listening');
const [front, admin] = [await freePort(), await freePort()];
function start() {
  return spawn(weirPath, ['--origin', `http://127.0.0.1:${origin.address().port}`, '--listen', `127.0.0.1:${front}`,
    '--set', `admin.listen=127.0.0.1:${admin}`], {stdio: ['ignore', 'ignore', 'inherit'], env: {...process.env, WEIR__ADMIN__TOKEN: 'a secret'}});
}
const get = async (path) => (await fetch(`http://127.0.0.1:${front}${path}`)).arrayBuffer();

let weir = start();
const browser = new Browser();
const text = (id) => browser.evaluate(`document.getElementById('${id}').textContent`);
const shown = (id) => browser.evaluate(`!document.getElementById('${id}').hidden`);
const says = (id, ...words) => until(id + ' says ' + words, async () => {
  const now = await text(id);
  return words.every((word) => now.includes(word));
});
try {
  await until('Weir listens', () => get('/'));
  await browser.open(`http://127.0.0.1:${admin}/`);

  await until('the page wants the token', () => shown('door'));
  await says('state', 'wants its token since');
  await browser.evaluate("document.getElementById('token').value = 'a secret'; document.querySelector('#door button').click()");
  await says('state', 'answers');
  assert.equal(await shown('door'), false);
  assert.equal(await shown('all'), true);

  for (let i = 0; i < 40; ++i) await get('/page/' + i % 4);
  for (let i = 0; i < 10; ++i) await get('/private');
  await says('outcomes', 'hit', 'miss', '36');
  await says('origins', 'default', 'breaker closed', 'permits 0');
  await says('store-rows', 'entries');
  await says('who', 'version', `127.0.0.1:${admin}`);
  await until('lines are drawn', () => browser.evaluate("document.querySelectorAll('.chart path.one').length === 5 && " +
    "document.querySelector('#calls path.one').getAttribute('d').split('L').length > 3"));
  await until('the share is worked out', async () => /[0-9] %/.test(await text('share-now')));

  for (const [name, width, height, scheme] of [['desktop', 1280, 900, 'light'], ['phone', 360, 740, 'dark']]) {
    await browser.look(width, height, scheme);
    const [page, window] = await browser.evaluate('[document.documentElement.scrollWidth, innerWidth]');
    assert.ok(page <= window, `${name}: ${page} wide in a window of ${window}`);
    if (folder) await browser.picture(`${folder}/${name}.png`);
  }

  weir.kill('SIGKILL');
  await once(weir, 'exit');
  await says('state', 'does not answer since');
  await until('numbers of then are not shown as of now', async () => (await text('flights-now')).startsWith('–'));
  assert.equal(await browser.evaluate("document.getElementById('all').classList.contains('old')"), true);
  if (folder) await browser.picture(`${folder}/gone.png`);

  weir = start();
  await says('state', 'answers');
  await until('a start anew counts from nothing', async () => !(await text('outcomes')).includes('36'));
  assert.deepEqual(await browser.evaluate("[...document.querySelectorAll('path')].filter((p) => /NaN|Infinity|-[0-9.]+ [0-9]/.test(p.getAttribute('d'))).length"), 0);
  assert.deepEqual(browser.complaints(), []);
  console.log('page: asked for its token, drew, said that Weir went, and went on when it was back');
} finally {
  await browser.close();
  weir.kill('SIGKILL');
  origin.close();
  origin.closeAllConnections();
}
