// Builds unit_cache with all mutants of the cache's decisions in it, runs it once for each, and says which of them no test
// tells from the original.
// usage: node run.mjs [PATTERN]   in the root of the tree, with unit_cache built in build/release
//   PATTERN  only mutants whose "file:line: ..." contains it
// The tree is not touched: the sources are written to build/mutate, compiled there without optimisation and linked before
// the libraries, so that the linker leaves out the originals. equivalent.txt lists the survivors that are no fault of the
// tests. Ends with 1 if another survives or one of these is gone, with 2 if it could not be tried.
import { execFileSync, spawn } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import process from 'node:process'

import { mutate } from './mutants.mjs'

const build = path.resolve('build/release')
const work = path.resolve('build/mutate')
const subjects = /^(reuse|freshness|storability|request_error)\w*\.cpp$/
const cpuSeconds = 20 // a run that needs more of them loops; all tests need a small part of one
// Tests that draw or count to a hundred thousand say nothing of these subjects.
const slow = ['Key.IsInjective', 'Vary.SelectorsAreEqual*', 'Epochs.the_oldest*']
const testArguments = ['--gtest_brief=1', '--gtest_fail_fast', `--gtest_filter=-${slow.join(':')}`]
const mostMutants = 1 << 14 // as in mutant.hpp

class CannotTry extends Error {}

// Whether it ended well.
function run (program, args, options) {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { cwd: build, stdio: 'ignore', ...options })
    child.once('error', reject)
    child.once('close', code => resolve(code === 0))
  })
}

const runTests = (program, env) => run('sh', ['-c', `ulimit -c 0 && ulimit -t ${cpuSeconds} && exec "$0" "$@"`, program, ...testArguments],
  { env: { ...process.env, ...env } })

async function compile (source, original) {
  const commands = JSON.parse(fs.readFileSync(path.join(build, 'compile_commands.json'), 'utf8'))
  const command = commands.find(entry => entry.file === path.resolve(original))?.command
  if (!command) throw new CannotTry(`${build} does not compile ${original}`)
  const [program, ...args] = command.split(/\s+/)
  const object = `${source}.o`
  const ours = ['-O0', '-w', '-D_GLIBCXX_ASSERTIONS', `-I${path.resolve(path.dirname(original))}`,
    `-I${path.resolve('tests')}`, '-c', source, '-o', object]
  if (!await run(program, [...args.slice(0, args.indexOf('-o')), ...ours], { stdio: 'inherit' })) {
    throw new CannotTry(`${source} does not compile`)
  }
  return object
}

function link (objects) {
  const text = execFileSync('ninja', ['-C', build, '-t', 'commands', 'unit_cache'], { encoding: 'utf8' })
  const line = text.trim().split('\n').at(-1).replace(/^: && | && :$/g, '')
  const [linker, ...args] = line.split(/\s+/).filter(Boolean)
  const out = args.indexOf('-o')
  if (out < 0) throw new CannotTry(`no link command: ${line}`)
  args.splice(out, 2)
  // What is most likely to tell comes first: tests run in the order in which they are linked.
  const first = args.filter(arg => /\/(reuse|freshness|storability|request_error|keyed_read)\w*\.cpp\.o$/.test(arg))
  const program = path.join(work, 'unit_cache')
  execFileSync(linker, [...objects, ...first, ...args.filter(arg => !first.includes(arg)), '-o', program],
    { cwd: build, stdio: 'inherit' })
  return program
}

const tell = mutant => `${mutant.file}:${mutant.line}: ${mutant.was}  ->  ${mutant.is}`
const name = mutant => `${mutant.file}: ${mutant.was}  ->  ${mutant.is}`

// A line "FILE: the line  ->  the mutated line", and the reason on the indented lines behind it.
function readEquivalents () {
  const listed = new Map()
  let last
  for (const line of fs.readFileSync('tests/mutate/equivalent.txt', 'utf8').split('\n')) {
    if (line === '' || line.startsWith('#')) continue
    if (/^\s/.test(line) && last) last.reason += line.trim()
    else listed.set(line.trim(), last = { reason: '', seen: false })
  }
  return listed
}

// Sets `end` of each: 'impossible' (does not compile), 'unreached' (no test comes by), 'killed' or 'survived'.
async function tryAll (program, all) {
  const reached = path.join(work, 'reached')
  if (!await runTests(program, { WEIR_MUTANT: '0', WEIR_MUTANT_REACHED: reached })) {
    throw new CannotTry(`${program} fails without a mutant: its sources are not what they were`)
  }
  const lines = new Set(fs.readFileSync(reached, 'utf8').split('\n'))
  const waiting = all.slice()
  const worker = async () => {
    for (let mutant = waiting.shift(); mutant; mutant = waiting.shift()) {
      if (lines.has(`impossible ${mutant.id}`)) mutant.end = 'impossible'
      else if (!lines.has(`reached ${mutant.id}`)) mutant.end = 'unreached'
      else mutant.end = await runTests(program, { WEIR_MUTANT: `${mutant.id}` }) ? 'survived' : 'killed'
    }
  }
  await Promise.all(os.cpus().map(worker))
}

async function main () {
  const pattern = process.argv[2] ?? ''
  const equivalents = readEquivalents()
  fs.rmSync(work, { recursive: true, force: true })
  fs.mkdirSync(work, { recursive: true })
  const all = []
  const compiling = []
  for (const file of fs.readdirSync('src/cache').filter(file => subjects.test(file)).sort()) {
    const original = `src/cache/${file}`
    const { text, mutants } = mutate(original, fs.readFileSync(original, 'utf8'), all.length + 1)
    fs.writeFileSync(path.join(work, file), text)
    compiling.push(compile(path.join(work, file), original))
    all.push(...mutants)
  }
  const objects = await Promise.all(compiling)
  if (all.length >= mostMutants) throw new CannotTry(`${all.length} mutants are too many`)
  const wanted = all.filter(mutant => tell(mutant).includes(pattern))
  await tryAll(link(objects), wanted)

  const survivors = wanted.filter(({ end }) => end === 'survived' || end === 'unreached')
  const unlisted = survivors.filter(mutant => {
    const entry = equivalents.get(name(mutant))
    if (entry) entry.seen = true
    return !entry?.reason
  })
  for (const mutant of unlisted) console.log(`${mutant.end}  ${tell(mutant)}`)
  const gone = pattern ? [] : [...equivalents].filter(([, entry]) => !entry.seen)
  for (const [line] of gone) console.log(`in equivalent.txt, but no survivor: ${line}`)
  const tried = wanted.filter(({ end }) => end !== 'impossible').length
  console.log(`${tried} mutants, ${tried - survivors.length} killed, ${survivors.length} survived, ` +
    `${survivors.length - unlisted.length} of them equivalent`)
  return unlisted.length + gone.length === 0 ? 0 : 1
}

try {
  process.exitCode = await main()
} catch (error) {
  console.error(`mutate: ${error.message}`)
  process.exitCode = 2
}
