// Writes a C++ source with all its mutants in it, each behind its number (mutant.hpp): one small change at an operator, a
// constant, a condition or a statement. Reads tokens and the precedence of operators, not the grammar, and counts on
// clang-format's spaces: a binary `<` has them, a template's has not. It need not know all of C++: what it gets wrong does
// not compile.

const tokenPattern = new RegExp([
  /\/\/[^\n]*|\/\*[\s\S]*?\*\//, // comment
  /(?<=^|\n)#[^\n]*/, // directive
  /"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])'/, // string, character
  /[A-Za-z_]\w*/,
  /\d[\d']*(?:\.\d+)?/,
  /<=>|<<=|>>=|<=|>=|==|!=|&&|\|\||->|::|\+\+|--|\+=|-=|\*=|\/=|<<|>>/,
  /\S/
].map(pattern => pattern.source).join('|'), 'g')

// A larger number binds less.
const precedence = { '*': 5, '/': 5, '%': 5, '+': 6, '-': 6, '<<': 7, '>>': 7, '<': 9, '<=': 9, '>': 9, '>=': 9, '==': 10,
  '!=': 10, '&': 11, '^': 12, '|': 13, '&&': 14, '||': 15 }
const others = { '<': ['<=', '>='], '<=': ['<', '>'], '>': ['>=', '<='], '>=': ['>', '<'], '==': ['!='], '!=': ['=='],
  '+': ['-'], '-': ['+'], '*': ['/'], '/': ['*'] }
const functors = { '<': 'less', '<=': 'less_equal', '>': 'greater', '>=': 'greater_equal', '==': 'equal_to',
  '!=': 'not_equal_to', '+': 'plus', '-': 'minus', '*': 'multiplies', '/': 'divides' }
const lowest = new Set(['?', ':', ',', ';', '=', '+=', '-=', 'return', 'else', 'case'])
const opening = '([{'
const closing = ')]}'
const functor = operator => `std::${functors[operator]}<>`
const on = id => `weir::mutate::on(${id})`

class Source {
  constructor (file, text, firstId) {
    this.file = file
    this.text = text
    this.mutants = []
    this.firstId = firstId
    this.wraps = [] // [from, to): `before` goes in front of it and `after` behind
    this.replaced = [] // [from, to) becomes `by`
    this.list = [...text.matchAll(tokenPattern)]
      .map(match => ({ text: match[0], at: match.index, end: match.index + match[0].length }))
      .filter(token => !/^(\/\/|\/\*|#)/.test(token.text))
  }

  // The number of a new mutant that would write `by` in place of [at, end).
  mutant (at, end, by) {
    const lineStart = this.text.lastIndexOf('\n', at) + 1
    const lineEnd = this.text.indexOf('\n', end)
    const flat = part => part.replace(/\s+/g, ' ').trim()
    const id = this.firstId + this.mutants.length
    this.mutants.push({
      id,
      file: this.file,
      line: this.text.slice(0, at).split('\n').length,
      was: flat(this.text.slice(lineStart, lineEnd)),
      is: flat(this.text.slice(lineStart, at) + by + this.text.slice(end, lineEnd)) || '(nothing)'
    })
    return id
  }

  binary (i) {
    const token = this.list[i]
    return token.text in precedence && /\s/.test(this.text[token.at - 1]) && /\s/.test(this.text[token.end])
  }

  // The last token of what reaches from behind token `from` (step 1), or from before it (step -1), to where `stops` says so.
  reach (from, step, stops) {
    const [inwards, outwards] = step > 0 ? [opening, closing] : [closing, opening]
    let depth = 0
    for (let i = from + step; i >= 0 && i < this.list.length; i += step) {
      const { text } = this.list[i]
      if (depth === 0 && (outwards.includes(text) || stops(i))) return i - step
      if (inwards.includes(text)) depth++
      else if (outwards.includes(text)) depth--
    }
    throw new Error(`${this.file}: no end of what begins at ${this.list[from].text}`)
  }

  left (i) {
    const level = precedence[this.list[i].text] ?? 16
    return this.reach(i, -1, j => lowest.has(this.list[j].text) || (this.binary(j) && precedence[this.list[j].text] > level))
  }

  right (i) {
    const level = precedence[this.list[i].text]
    return this.reach(i, 1, j => lowest.has(this.list[j].text) || (this.binary(j) && precedence[this.list[j].text] >= level))
  }

  // Behind the operand of a prefix operator.
  operand (i) {
    return this.reach(i, 1, j => !/^(\w+|\.|->|::|[([<>])/.test(this.list[j].text) || this.binary(j))
  }

  wrap (first, last, before, after, inner = false) {
    this.wraps.push({ from: this.list[first].at, to: this.list[last].end, before, after, inner })
  }

  span (first, last) {
    return [this.list[first].at, this.list[last].end]
  }

  arithmetic (i) {
    const { text, at, end } = this.list[i]
    const ids = others[text].map(other => this.mutant(at, end, other))
    const names = [text, ...others[text]].map(functor).join(', ')
    this.wrap(this.left(i), this.right(i), `weir::mutate::operate<${ids[0]}, ${names}>(`, ')', true)
    this.replaced.push({ from: at, to: end, by: ',' })
  }

  // a && b: to a || b, which is !(!a && !b), and without a or without b.
  logic (i) {
    const { text, at, end } = this.list[i]
    const [first, last] = [this.left(i), this.right(i)]
    const flip = on(this.mutant(at, end, text === '&&' ? '||' : '&&'))
    const neutral = text === '&&' ? 'true' : 'false'
    const without = (from, to) => {
      const id = this.mutant(...this.span(from, to), neutral)
      return text === '&&' ? `${on(id)} ||` : `!${on(id)} &&`
    }
    const side = (from, to) => {
      // The left side of a chain: its parts are left out one by one.
      const chain = this.list.slice(from, to + 1).some((token, j) => token.text === text && this.depth(from, from + j) === 0)
      this.wrap(from, to, `((${chain ? '' : without(from, to)} static_cast<bool>(`, `)) != ${flip})`)
    }
    this.wrap(first, last, '((', `) != ${flip})`)
    side(first, i - 1)
    side(i + 1, last)
  }

  depth (from, to) {
    return this.list.slice(from, to).reduce(
      (depth, { text }) => depth + (opening.includes(text) ? 1 : closing.includes(text) ? -1 : 0), 0)
  }

  condition (first, last) {
    const [yes, no] = ['true', 'false'].map(value => on(this.mutant(...this.span(first, last), value)))
    this.wrap(first, last, '((static_cast<bool>(', `) || ${yes}) && !${no})`)
  }

  ifCondition (open) {
    const last = this.reach(open, 1, () => false)
    let first = open + 1
    for (let i = first; i <= last; i++) if (this.list[i].text === ';' && this.depth(open + 1, i) === 0) first = i + 1
    const equals = this.list.findIndex((token, i) => i > open && i <= last && token.text === '=' && this.depth(open + 1, i) === 0)
    if (first > open + 1 || equals < 0) return this.condition(first, last)
    const { end } = this.list[last]
    const id = this.mutant(end, end, '; false')
    this.wrap(last, last, '', `; ${this.list[equals - 1].text} && !${on(id)}`)
  }

  // A statement that assigns or calls, left out.
  statement (i) {
    if (![';', '{', '}', ')'].includes(this.list[i - 1]?.text)) return
    if (/^(if|for|while|switch|return|static_assert|constexpr)$/.test(this.list[i].text)) return
    let next = i + 1
    while (['.', '->', '::'].includes(this.list[next]?.text)) next += 2
    if (!['=', '('].includes(this.list[next]?.text)) return
    const last = this.reach(next - 1, 1, j => this.list[j].text === ';') + 1
    if (this.list[last].text !== ';') return
    this.wrap(i, last, `{ if (!${on(this.mutant(...this.span(i, last), ''))}) `, ' }')
  }

  word (i) {
    const { text, at, end } = this.list[i]
    if (text === 'true' || text === 'false') {
      this.wrap(i, i, '(', ` != ${on(this.mutant(at, end, text === 'true' ? 'false' : 'true'))})`)
    } else if (text === 'continue') {
      this.wrap(i, i + 1, `{ if (${on(this.mutant(at, end, 'break'))}) break; `, ' }')
    } else if ((text === 'min' || text === 'max') && this.list[i - 1].text === '::') {
      const id = this.mutant(at, end, text === 'min' ? 'max' : 'min')
      const typed = this.list[i + 1].text === '<'
      this.replaced.push({ from: this.list[i - 2].at, to: typed ? this.list[i + 1].end : end,
        by: `weir::mutate::${text}<${id}${typed ? ', ' : '>'}` })
    } else if (text === 'if') {
      this.ifCondition(i + 1)
    } else if (text === 'constexpr') {
      this.replaced.push({ from: at, to: end, by: 'const' }) // its value is this run's
    } else {
      this.statement(i)
    }
  }

  number (i) {
    const { text, at, end } = this.list[i]
    const [, whole, fraction] = /^(\d+)(.*)$/.exec(text.replaceAll("'", ''))
    const up = this.mutant(at, end, `${Number(whole) + 1}${fraction}`)
    const down = Number(whole) > 0 ? this.mutant(at, end, `${Number(whole) - 1}${fraction}`) : 0
    this.wrap(i, i, `weir::mutate::number<${up}, ${down}>(`, ')')
  }

  prefix (i) {
    const { text, at, end } = this.list[i]
    const last = this.operand(i)
    const id = this.mutant(at, end, '')
    if (text === '!') return this.wrap(i, last, '((', `) != ${on(id)})`)
    this.wrap(i, last, `weir::mutate::negative<${id}>(`, ')')
    this.replaced.push({ from: at, to: end, by: '' })
  }

  all () {
    this.list.forEach(({ text }, i) => {
      if (this.binary(i)) {
        if (text in others) this.arithmetic(i)
        else if (text === '&&' || text === '||') this.logic(i)
      } else if (text === '!' || text === '-') this.prefix(i)
      else if (text === '?') this.condition(this.left(i), i - 1)
      else if (/^\d/.test(text) && this.list[i - 1].text !== 'case') this.number(i)
      else if (/^[A-Za-z_]/.test(text)) this.word(i)
    })
  }

  written () {
    // At one place: first what ends there, the inner before the outer, then what begins, the outer before the inner.
    const length = wrap => wrap.to - wrap.from
    const outer = (a, b) => length(b) - length(a) || a.inner - b.inner
    const sorted = this.wraps.map((wrap, order) => ({ ...wrap, order })).sort((a, b) => outer(a, b) || a.order - b.order)
    const before = new Map()
    const after = new Map()
    for (const wrap of sorted) {
      before.set(wrap.from, (before.get(wrap.from) ?? '') + wrap.before)
      after.set(wrap.to, wrap.after + (after.get(wrap.to) ?? ''))
    }
    const gone = new Map(this.replaced.map(part => [part.from, part]))
    let out = ''
    for (let at = 0; at < this.text.length;) {
      out += (after.get(at) ?? '') + (before.get(at) ?? '')
      const part = gone.get(at)
      out += part ? part.by : this.text[at]
      at = part ? part.to : at + 1
    }
    return out
  }
}

// { text, mutants }: the source with the mutants in it, and what each is, with numbers from `firstId` on.
export function mutate (file, text, firstId) {
  const source = new Source(file, text, firstId)
  source.all()
  const include = source.text.indexOf('#include')
  const written = source.written()
  return { text: `${written.slice(0, include)}#include "mutate/mutant.hpp"\n${written.slice(include)}`, mutants: source.mutants }
}
