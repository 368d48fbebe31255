// baseline.txt: what each test is expected to do in each configuration, a line a test: `id kind outcome outcome`.
import fs from 'node:fs'

// Reads a file into a map of id -> { kind, configuration: outcome }.
export function readBaseline (file, configurations) {
  const baseline = new Map()
  if (!fs.existsSync(file)) return baseline
  for (const line of fs.readFileSync(file, 'utf8').split('\n')) {
    if (line === '' || line.startsWith('#')) continue
    const [id, kind, ...outcomes] = line.split(/ +/)
    if (outcomes.length !== configurations.length || baseline.has(id)) throw new Error(`${file}: cannot read: ${line}`)
    baseline.set(id, { kind, ...Object.fromEntries(configurations.map((name, i) => [name, outcomes[i]])) })
  }
  return baseline
}

export function writeBaseline (file, configurations, tests, outcomes, before) {
  const lines = [`# test kind ${configurations.join(' ')}; written by run.mjs --update`]
  const ordered = [...tests].sort((a, b) => (a.id < b.id ? -1 : 1))
  for (const { id, kind } of ordered) {
    const words = configurations.map(name => outcomes[name]?.get(id) ?? before.get(id)?.[name] ?? 'untested')
    lines.push([id, kind, ...words].join(' '))
  }
  fs.writeFileSync(file, lines.join('\n') + '\n')
  return readBaseline(file, configurations)
}

// What differs from the baseline, a line each. A test that does better is a difference too: the baseline is to be raised.
export function compare (name, tests, outcomes, details, baseline) {
  const complaints = []
  for (const { id, kind } of tests) {
    const outcome = outcomes.get(id)
    const expected = baseline.get(id)
    const why = Array.isArray(details[id]) ? `: ${details[id].join(': ')}` : ''
    if (!expected) complaints.push(`${name}: ${id}: ${outcome}, and the baseline does not know it${why}`)
    else if (expected.kind !== kind) complaints.push(`${name}: ${id}: is ${kind}, not ${expected.kind}`)
    else if (expected[name] !== outcome) complaints.push(`${name}: ${id} (${kind}): ${outcome}, not ${expected[name]}${why}`)
  }
  const known = new Set(tests.map(test => test.id))
  for (const id of baseline.keys()) if (!known.has(id)) complaints.push(`${name}: ${id}: stands in the baseline, but was not tried`)
  return complaints
}

export function summary (name, tests, outcomes) {
  const count = kinds => {
    const those = tests.filter(test => kinds.includes(test.kind))
    return `${those.filter(test => outcomes.get(test.id) === 'pass').length} of ${those.length}`
  }
  return `config/${name}.yaml: ${count(['required', 'optimal', 'informative'])} pass: required ${count(['required'])}, ` +
    `optimal ${count(['optimal'])}, informative ${count(['informative'])}; Surrogate-Control, apart: ${count(['surrogate'])}`
}
