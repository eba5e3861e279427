import { createHash } from 'node:crypto'
import { globSync, readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import ts from 'typescript'

/** A place of the sources where an expression is replaced by one that is nearly the same. */
export interface Mutant {
  readonly file: string
  readonly kind: string
  /** Names it, as long as neither what it replaces nor what the file has before it of the same changes. */
  readonly key: string
  readonly start: number
  readonly end: number
  readonly text: string
  /** An expression that is evaluated only where the replaced one is. */
  readonly probe: { readonly start: number; readonly end: number }
  /** Whether it is evaluated once, when its module is loaded. */
  readonly atLoad: boolean
}

type Change = readonly [kind: string, probe: ts.Expression, text: string]

const bounds: Partial<Record<ts.SyntaxKind, string>> = {
  [ts.SyntaxKind.LessThanToken]: '<=',
  [ts.SyntaxKind.LessThanEqualsToken]: '<',
  [ts.SyntaxKind.GreaterThanToken]: '>=',
  [ts.SyntaxKind.GreaterThanEqualsToken]: '>',
}

/** All mutants of the library. What stands in src/testing judges stores, and has planted faults of its own. */
export function allMutants(): Mutant[] {
  return globSync('{src,adapters}/**/*.ts', { exclude: ['src/testing/**'] })
    .toSorted()
    .flatMap(mutantsOf)
}

/** The first of an order that the seed draws, in which every kind and every room comes equally often. */
export function drawn(mutants: readonly Mutant[], seed: string): Mutant[] {
  const digest = ({ key }: Mutant): string => createHash('sha256').update(`${seed} ${key}`).digest('hex')
  const digested = mutants
    .map((mutant): [string, Mutant] => [digest(mutant), mutant])
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
  const groups = Object.values(
    Object.groupBy(digested, ([, { file, kind }]) => `${kind} ${dirname(file).split('/', 3).join('/')}`),
  )
  const longest = Math.max(0, ...groups.map((group = []) => group.length))
  return Array.from({ length: longest }, (_, round) =>
    groups
      .flatMap((group = []) => group.slice(round, round + 1))
      .toSorted(([one], [other]) => (one < other ? -1 : 1)),
  ).flatMap((round) => round.map(([, mutant]) => mutant))
}

function mutantsOf(file: string): Mutant[] {
  const source = ts.createSourceFile(file, readFileSync(file, 'utf8'), ts.ScriptTarget.Latest, true)
  const mutants: Mutant[] = []
  const times = new Map<string, number>()
  const visit = (node: ts.Node, atLoad: boolean): void => {
    for (const [kind, probe, text] of changesOf(node)) {
      const name = `${file}: ${shortened(node.getText())} → ${shortened(text)}`
      const nth = (times.get(name) ?? 0) + 1
      times.set(name, nth)
      const key = nth === 1 ? name : `${name} #${nth}`
      const [start, end] = [node.getStart(), node.end]
      const whole = { start: probe.getStart(), end: probe.end }
      mutants.push({ file, kind, key, start, end, text, probe: whole, atLoad })
    }
    const inside = atLoad && !ts.isFunctionLike(node) && !ts.isPropertyDeclaration(node)
    ts.forEachChild(node, (child) => visit(child, inside))
  }
  visit(source, true)
  return mutants
}

function* changesOf(node: ts.Node): Generator<Change> {
  const whole = (...parts: string[]): string => {
    // A line that begins with a parenthesis would continue the one above it.
    const before = ts.isExpressionStatement(node.parent) ? 'void ' : ''
    return `${before}(${parts.join('')})`
  }
  if (ts.isBinaryExpression(node)) {
    const { left, right, operatorToken } = node
    const [one, other, sign] = [left.getText(), right.getText(), operatorToken.getText()]
    if (sign === '&&' || sign === '||') {
      yield ['operand negated', left, whole(`!(${one}) ${sign} ${other}`)]
      yield ['operand negated', left, whole(`${one} ${sign} !(${other})`)]
    }
    if (sign === '&&' || sign === '||' || sign === '??') {
      yield ['operand dropped', left, whole(one)]
      yield ['operand dropped', left, whole(other)]
    }
    const bound = bounds[operatorToken.kind]
    if (bound !== undefined) yield ['bound', left, `${one} ${bound} ${other}`]
  } else if (ts.isConditionalExpression(node)) {
    const { condition, whenTrue, whenFalse } = node
    yield [
      'operand negated',
      condition,
      whole(`${condition.getText()} ? ${whenFalse.getText()} : ${whenTrue.getText()}`),
    ]
    yield ['operand dropped', condition, whole(whenTrue.getText())]
    yield ['operand dropped', condition, whole(whenFalse.getText())]
  } else if (ts.isAwaitExpression(node)) {
    yield ['await dropped', node.expression, whole(node.expression.getText())]
  } else if ((ts.isCallExpression(node) || ts.isNewExpression(node)) && node.arguments !== undefined) {
    if (node.expression.kind === ts.SyntaxKind.ImportKeyword) return
    const first = node.arguments[0]
    if (first === undefined) return
    const probe = ts.isSpreadElement(first) ? first.expression : first
    const texts = node.arguments.map((argument) => argument.getText())
    const head = node.getText().slice(0, node.arguments.pos - node.getStart())
    for (const index of texts.keys()) {
      yield ['argument dropped', probe, `${head}${texts.toSpliced(index, 1).join(', ')})`]
      const next = texts[index + 1]
      // The order of these two means nothing.
      if (next === undefined || /^Math\.(?:min|max)$/.test(node.expression.getText())) continue
      yield [
        'argument swapped',
        probe,
        `${head}${texts.toSpliced(index, 2, next, texts[index]!).join(', ')})`,
      ]
    }
  }
}

function shortened(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ')
  if (line.length <= 100) return line
  return `${line.slice(0, 90)}…${createHash('sha256').update(line).digest('hex').slice(0, 8)}`
}
