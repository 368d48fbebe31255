// The table in README.md: every test that the baseline lets fail somewhere, with its reason.
import fs from 'node:fs'

const begin = '<!-- table: rows are checked against baseline.txt; the last column is written by hand -->\n'
const end = '<!-- end of the table -->\n'

function split (file) {
  const text = fs.readFileSync(file, 'utf8')
  const from = text.indexOf(begin)
  const to = text.indexOf(end)
  if (from < 0 || to < from) throw new Error(`${file} has no table between its two marks`)
  return { head: text.slice(0, from + begin.length), table: text.slice(from + begin.length, to), tail: text.slice(to) }
}

function readReasons (table) {
  const rows = new Map()
  for (const line of table.split('\n').slice(2)) {
    const cells = line.split('|').slice(1, -1).map(cell => cell.trim())
    if (cells.length >= 3) rows.set(cells[0].replaceAll('`', ''), { cells: cells.slice(1, -1), why: cells.at(-1) })
  }
  return rows
}

const kindOrder = ['required', 'optimal', 'informative', 'surrogate']

function failing (baseline, configurations) {
  return [...baseline].filter(([, test]) => configurations.some(name => test[name] !== 'pass'))
    .sort(([a, x], [b, y]) => kindOrder.indexOf(x.kind) - kindOrder.indexOf(y.kind) || (a < b ? -1 : 1))
}

const cellsOf = (test, configurations) => [test.kind, ...configurations.map(name => test[name])]

export function writeTable (file, configurations, baseline) {
  const { head, table, tail } = split(file)
  const reasons = readReasons(table)
  const rows = failing(baseline, configurations).map(([id, test]) =>
    `| \`${id}\` | ${cellsOf(test, configurations).join(' | ')} | ${reasons.get(id)?.why ?? ''} |\n`)
  const titles = ['test', 'kind', ...configurations.map(name => `\`${name}.yaml\``), 'why']
  const lines = [`| ${titles.join(' | ')} |\n`, `|${'---|'.repeat(titles.length)}\n`, ...rows]
  fs.writeFileSync(file, head + lines.join('') + tail)
}

// Rows that are missing, wrong or not needed, and rows without a reason.
export function mistakesInTable (file, configurations, baseline) {
  const rows = readReasons(split(file).table)
  const mistakes = []
  const wanted = failing(baseline, configurations)
  for (const [id, test] of wanted) {
    const row = rows.get(id)
    if (!row) mistakes.push(`README.md: no row for ${id}`)
    else if (row.cells.join() !== cellsOf(test, configurations).join()) mistakes.push(`README.md: ${id}: not as in baseline.txt`)
    else if (row.why === '') mistakes.push(`README.md: ${id}: no reason`)
  }
  const known = new Set(wanted.map(([id]) => id))
  for (const id of rows.keys()) if (!known.has(id)) mistakes.push(`README.md: ${id} passes everywhere; take its row out`)
  return mistakes
}
