// A Chromium without a window, spoken to over its debugging pipe: one page, its text, its complaints, its picture.
import {spawn} from 'node:child_process';
import {mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';

const quiet = ['--headless', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--no-first-run',
  '--disable-background-networking', '--disable-component-update', '--remote-debugging-pipe'];

export class Browser {
  constructor() {
    this.profile = mkdtempSync(join(tmpdir(), 'weir-browser-'));
    this.program = spawn('chromium', [...quiet, '--user-data-dir=' + this.profile, 'about:blank'],
      {stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe']});
    this.asked = new Map();
    this.heard = [];
    let rest = '';
    this.program.stdio[4].setEncoding('utf8').on('data', (text) => {
      const messages = (rest + text).split('\0');
      rest = messages.pop();
      messages.forEach((message) => this.hear(JSON.parse(message)));
    });
    this.program.on('exit', () => this.asked.forEach(({refuse}) => refuse(new Error('the browser ended'))));
  }

  hear(message) {
    if (message.id === undefined) return this.heard.push(message);
    const {answer, refuse} = this.asked.get(message.id);
    this.asked.delete(message.id);
    if (message.error) refuse(new Error(message.error.message));
    else answer(message.result);
  }

  call(method, params = {}) {
    const id = (this.calls = (this.calls ?? 0) + 1);
    return new Promise((answer, refuse) => {
      this.asked.set(id, {answer, refuse});
      this.program.stdio[3].write(JSON.stringify({id, method, params, sessionId: this.session}) + '\0');
    });
  }

  async open(url) {
    const {targetId} = await this.call('Target.createTarget', {url: 'about:blank'});
    this.session = (await this.call('Target.attachToTarget', {targetId, flatten: true})).sessionId;
    for (const domain of ['Runtime', 'Log', 'Page']) await this.call(domain + '.enable');
    await this.call('Page.navigate', {url});
  }

  async look(width, height, scheme) {
    await this.call('Emulation.setDeviceMetricsOverride', {width, height, deviceScaleFactor: 1, mobile: width < 500});
    await this.call('Emulation.setEmulatedMedia', {features: [{name: 'prefers-color-scheme', value: scheme}]});
  }

  async evaluate(expression) {
    const {result, exceptionDetails} = await this.call('Runtime.evaluate', {expression, returnByValue: true});
    if (exceptionDetails) throw new Error(exceptionDetails.text + ' in ' + expression);
    return result.value;
  }

  async picture(file) {
    const {data} = await this.call('Page.captureScreenshot', {captureBeyondViewport: true});
    writeFileSync(file, Buffer.from(data, 'base64'));
  }

  // What the page did wrong: exceptions, and what its policy forbade. That Weir is away is not.
  complaints() {
    const texts = this.heard.map(({method, params}) => method === 'Runtime.exceptionThrown' ? params.exceptionDetails.text
      : method === 'Log.entryAdded' && params.entry.source !== 'network' ? params.entry.text : '');
    return texts.filter((text) => text);
  }

  async close() {
    const ended = new Promise((done) => this.program.once('exit', done));
    this.program.kill();
    await ended;
    rmSync(this.profile, {recursive: true, force: true, maxRetries: 20, retryDelay: 50});
  }
}
