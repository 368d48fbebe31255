// Runs http-cache-tests through Weir in each configuration, side by side, and compares every test with baseline.txt.
// usage: node run.mjs WEIR FOLDER [--update] [CONFIGURATION...]
//   WEIR     the program; FOLDER keeps the package, logs and raw results
//   --update writes baseline.txt and the table in README.md (new rows want a reason there)
// Ends with 0 if every test does what the baseline says, with 1 otherwise, and with 2 if it could not be tried.
import { execFileSync, spawn } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import process from 'node:process'
import { fileURLToPath, pathToFileURL } from 'node:url'

import { compare, readBaseline, summary, writeBaseline } from './baseline.mjs'
import { mistakesInTable, writeTable } from './table.mjs'

const here = path.dirname(fileURLToPath(import.meta.url))
const configurations = ['weir', 'rfc9111']
const startLimit = 20_000 // ms until a server must listen
const runLimit = 90_000 // ms for all tests of one configuration
const runs = 3 // of a configuration at most: the suite's pauses are real seconds, and a machine may be too slow for them once
const lastStart = 90_000 // ms after which no further run begins
const stopLimit = 10_000 // ms between TERM and KILL

// What the suite calls its results, in our words.
const words = {
  '✅': 'pass',
  Y: 'pass',
  '⛔️': 'fail',
  '⚠️': 'fail',
  N: 'fail',
  '🔹': 'setup',
  '⁉️': 'harness',
  '⚪️': 'dependency',
  '↻': 'retry',
  '-': 'untested'
}

class CannotTry extends Error {}

const running = new Set()

function start (name, program, args, options) {
  const log = path.join(options.logs, `${name}.log`)
  const sink = fs.openSync(log, 'w')
  const child = spawn(program, args, { cwd: options.cwd, env: options.env, stdio: ['ignore', 'pipe', 'pipe'] })
  child.name = name
  child.log = log
  child.text = ''
  child.ended = new Promise(resolve => {
    child.once('error', error => { running.delete(child); resolve(`${error.message}`) })
    child.once('exit', (code, signal) => { running.delete(child); resolve(signal ? `signal ${signal}` : code) })
  })
  child.closed = new Promise(resolve => { child.once('close', resolve); child.once('error', resolve) })
  child.stdout.on('data', data => { child.text += data; fs.writeSync(sink, data) })
  child.stderr.on('data', data => { if (options.listens) child.text += data; fs.writeSync(sink, data) })
  running.add(child)
  return child
}

function within (limit, promise, what) {
  let timer
  const late = new Promise((resolve, reject) => {
    timer = setTimeout(() => reject(new CannotTry(`${what} within ${limit / 1000} s`)), limit)
  })
  return Promise.race([promise, late]).finally(() => clearTimeout(timer))
}

// The first line of the program's output that matches.
function says (child, pattern) {
  const found = new Promise((resolve, reject) => {
    const look = () => {
      const match = pattern.exec(child.text)
      if (match) resolve(match)
    }
    child.stdout.on('data', look)
    child.stderr.on('data', look)
    child.ended.then(code => reject(new CannotTry(`${child.name} ended with ${code}; see ${child.log}\n${child.text}`)))
  })
  return within(startLimit, found, `${child.name} does not listen`)
}

async function stop (child) {
  if (!child || !running.has(child)) return
  child.kill('SIGTERM')
  await within(stopLimit, child.ended, `${child.name} does not stop`).catch(error => {
    console.error(`conformance: ${error.message}; killed`)
    child.kill('SIGKILL')
  })
}

// npm is asked only when the lock is not the one that was installed.
function installPackage (folder) {
  const files = ['package.json', 'package-lock.json']
  const wanted = files.map(file => fs.readFileSync(path.join(here, file), 'utf8')).join('')
  const stamp = path.join(folder, 'installed')
  if (!fs.existsSync(stamp) || fs.readFileSync(stamp, 'utf8') !== wanted) {
    fs.rmSync(stamp, { force: true })
    for (const file of files) fs.copyFileSync(path.join(here, file), path.join(folder, file))
    try {
      const options = ['--no-audit', '--no-fund', '--ignore-scripts', '--fetch-timeout=20000', '--fetch-retries=1']
      execFileSync('npm', ['ci', ...options],
        { cwd: folder, stdio: ['ignore', 'inherit', 'inherit'], timeout: 60_000 })
    } catch (error) {
      throw new CannotTry(`npm could not fetch http-cache-tests (${error.message}). ` +
        'This test needs a package registry that npm reaches, once; nothing was tried.')
    }
    fs.writeFileSync(stamp, wanted)
  }
  return path.join(folder, 'node_modules', 'http-cache-tests')
}

async function readSuite (suiteFolder) {
  const load = file => import(pathToFileURL(path.join(suiteFolder, file)))
  const forProxies = (await load('tests/index.mjs')).default
  const surrogate = (await load('tests/surrogate-control.mjs')).default
  const all = [...forProxies, surrogate]
  const { determineTestResult } = await load('lib/display.mjs')
  const tests = []
  for (const suite of all) {
    for (const test of suite.tests) {
      if (test.browser_only) continue
      const kinds = { required: 'required', optimal: 'optimal', check: 'informative' }
      tests.push({ id: test.id, kind: suite === surrogate ? 'surrogate' : kinds[test.kind ?? 'required'] })
    }
  }
  const judge = (id, results) => words[determineTestResult(all, id, results)[2]] ?? 'harness'
  return { tests, judge }
}

async function tryConfiguration (name, weirProgram, suiteFolder, folder) {
  const logs = path.join(folder, name)
  fs.mkdirSync(logs, { recursive: true })
  const settings = { npm_config_protocol: 'http', npm_config_port: '0', npm_config_pidfile: path.join(logs, 'origin.pid') }
  const env = { ...process.env, ...settings, npm_package_config_id: '' }
  delete env.npm_config_id
  let origin, weir, client
  try {
    origin = start('origin', process.execPath, ['server/server.mjs'], { cwd: suiteFolder, env, logs })
    const [, originPort] = await says(origin, /Listening on http:\/\/.*:(\d+)\/\n/)
    const args = ['-c', path.join(here, '..', '..', 'config', `${name}.yaml`), '--listen', '127.0.0.1:0',
      '--log-format', 'json', '--set', 'admin.listen=off', '--set', `origins.app.url=http://127.0.0.1:${originPort}`]
    weir = start('weir', weirProgram, args, { env: process.env, logs, listens: true })
    const [, weirPort] = await says(weir, /"address":\s*"127\.0\.0\.1:(\d+)"/)
    env.npm_config_base = `http://127.0.0.1:${weirPort}`
    client = start('client', process.execPath, ['--no-warnings', 'cli.mjs'], { cwd: suiteFolder, env, logs })
    const code = await within(runLimit, client.ended, `${name}: the tests do not end`)
    await client.closed
    if (code !== 0) throw new CannotTry(`${name}: the suite's client ended with ${code}; see ${client.log}`)
    if (!running.has(weir)) throw new CannotTry(`${name}: weir ended with ${await weir.ended}; see ${weir.log}`)
    return readResults(name, client)
  } finally {
    await stop(client)
    await stop(weir)
    await stop(origin)
  }
}

// Runs a configuration until no test does other than the baseline says. A test that did once what it says did it; which
// tests needed another run is told.
async function tryUntilAsExpected (name, suite, baseline, once, attempt) {
  const began = Date.now()
  const outcomes = new Map()
  let details
  for (let run = 1; ; ++run) {
    details = await attempt()
    for (const { id } of suite.tests) {
      if (outcomes.get(id) !== baseline.get(id)?.[name]) outcomes.set(id, suite.judge(id, details))
    }
    const differences = compare(name, suite.tests, outcomes, details, baseline)
    if (differences.length === 0 || once || run === runs || Date.now() - began > lastStart) break
    console.log([`run ${run} of ${name}: ${differences.length} tests do otherwise; once more`, ...differences].join('\n  '))
  }
  return { outcomes, details }
}

function readResults (name, client) {
  const begin = client.text.indexOf('{\n')
  try {
    return JSON.parse(client.text.slice(begin))
  } catch (error) {
    throw new CannotTry(`${name}: the suite's client printed no results (${error.message}); see ${client.log}`)
  }
}

async function main () {
  const args = process.argv.slice(2)
  const update = args.includes('--update')
  const [weirProgram, folderName, ...chosen] = args.filter(arg => arg !== '--update')
  if (!weirProgram || !folderName || chosen.some(name => !configurations.includes(name))) {
    throw new CannotTry(`usage: node run.mjs WEIR FOLDER [--update] [${configurations.join('|')}...]`)
  }
  const folder = path.resolve(folderName)
  fs.mkdirSync(folder, { recursive: true })
  const suiteFolder = installPackage(folder)
  const suite = await readSuite(suiteFolder)
  const { tests } = suite
  const baselineFile = path.join(here, 'baseline.txt')
  const baseline = readBaseline(baselineFile, configurations)
  const names = chosen.length ? chosen : configurations
  const attempt = name => tryConfiguration(name, path.resolve(weirProgram), suiteFolder, folder)
  const tried = await Promise.allSettled(
    names.map(name => tryUntilAsExpected(name, suite, baseline, update, () => attempt(name))))
  for (const { status, reason } of tried) if (status === 'rejected') throw reason

  const outcomes = {}
  const details = {}
  names.forEach((name, i) => {
    outcomes[name] = tried[i].value.outcomes
    details[name] = tried[i].value.details
    console.log(summary(name, tests, outcomes[name]))
  })
  if (update) {
    const updated = writeBaseline(baselineFile, configurations, tests, outcomes, baseline)
    writeTable(path.join(here, 'README.md'), configurations, updated)
  }
  const expected = update ? readBaseline(baselineFile, configurations) : baseline
  const complaints = names.flatMap(name => compare(name, tests, outcomes[name], details[name], expected))
  complaints.push(...mistakesInTable(path.join(here, 'README.md'), configurations, expected))
  for (const complaint of complaints) console.error(complaint)
  if (complaints.length) throw new Error(`${complaints.length} differences from the baseline`)
  console.log('every test does what the baseline says')
}

for (const signal of ['SIGINT', 'SIGTERM']) {
  process.once(signal, () => {
    for (const child of running) child.kill('SIGKILL')
    process.exit(2)
  })
}

main().catch(error => {
  console.error(`conformance: ${error instanceof CannotTry ? '' : 'failed: '}${error.message}`)
  process.exitCode = error instanceof CannotTry ? 2 : 1
})
