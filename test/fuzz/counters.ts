// `node --import` this file: every branch of the sources counts how often it is taken, and comparisons tell how near they were.
import { readFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import type { Operands } from './mutate.ts'

/** How often each branch was taken. */
export const taken: Uint32Array = new Uint32Array(2 ** 16)
/** Of each comparison of numbers, in how many bits the two differed when they were nearest. */
const nearest = new Uint8Array(2 ** 16).fill(255)
/** What inputs are made of besides themselves. */
export const operands: Operands = { pairs: [], literals: [] }
export const found: { branches: number; nearer: boolean } = { branches: 0, nearer: false }
/** How many of its last pairs are kept of each comparison, and where: the rare ones count as much as the others. */
const keptPairs = 8
const firstPairs: number[] = []
let [comparisons, compared, pairs] = [0, 0, 0]
let left: unknown

export function first<Value>(value: Value): Value {
  left = value
  return value
}

/** Takes the operand on the right of a comparison, and what {@link first} took on its left. */
export function second<Value>(place: number, value: Value): Value {
  if (typeof value === 'number' && typeof left === 'number') {
    const bits = 32 - Math.clz32(value ^ left)
    if (bits < (nearest[place] as number)) {
      nearest[place] = bits
      found.nearer = true
    }
    if (bits > 0) operands.pairs[placeOf(place)] = [left, value]
  } else if (typeof value === 'string' && typeof left === 'string' && value !== left)
    operands.pairs[placeOf(place)] = [left.slice(0, 99), value.slice(0, 99)]
  return value
}

function placeOf(comparison: number): number {
  firstPairs[comparison] ??= keptPairs * pairs++
  return firstPairs[comparison] + (compared++ % keptPairs)
}

const { factory } = ts
const comparing: ReadonlySet<ts.SyntaxKind> = new Set([
  ts.SyntaxKind.EqualsEqualsEqualsToken,
  ts.SyntaxKind.ExclamationEqualsEqualsToken,
  ts.SyntaxKind.LessThanToken,
  ts.SyntaxKind.LessThanEqualsToken,
  ts.SyntaxKind.GreaterThanToken,
  ts.SyntaxKind.GreaterThanEqualsToken,
])
const branching: ReadonlySet<ts.SyntaxKind> = new Set([
  ts.SyntaxKind.AmpersandAmpersandToken,
  ts.SyntaxKind.BarBarToken,
  ts.SyntaxKind.QuestionQuestionToken,
])

function count(): ts.Expression {
  const at = factory.createElementAccessExpression(factory.createIdentifier('$taken'), found.branches++)
  return factory.createPostfixIncrement(at)
}

function counted(expression: ts.Expression): ts.Expression {
  return factory.createParenthesizedExpression(factory.createComma(count(), expression))
}

function counting(statements: readonly ts.Statement[]): ts.Statement[] {
  return [factory.createExpressionStatement(count()), ...statements]
}

function block(statements: readonly ts.Statement[] = []): ts.Block {
  return factory.createBlock(counting(statements))
}

function call(name: string, ...args: readonly ts.Expression[]): ts.Expression {
  return factory.createCallExpression(factory.createIdentifier(name), undefined, args)
}

const instrument: ts.TransformerFactory<ts.SourceFile> = (context) => (file) => {
  const visit = (given: ts.Node): ts.Node => {
    const node = ts.visitEachChild(given, visit, context)
    if (ts.isStringLiteralLike(node) && node.text.length < 24) operands.literals.push(node.text)
    if (ts.isArrowFunction(node) && !ts.isBlock(node.body)) {
      const { modifiers, typeParameters, parameters, type, equalsGreaterThanToken, body } = node
      return factory.updateArrowFunction(
        node,
        modifiers,
        typeParameters,
        parameters,
        type,
        equalsGreaterThanToken,
        counted(body),
      )
    }
    if (ts.isBlock(node)) return block(node.statements)
    if (ts.isIfStatement(node)) {
      const { thenStatement: then } = node
      return factory.updateIfStatement(
        node,
        node.expression,
        ts.isBlock(then) ? then : block([then]),
        node.elseStatement ?? block(),
      )
    }
    if (ts.isCaseClause(node))
      return factory.updateCaseClause(node, node.expression, counting(node.statements))
    if (ts.isDefaultClause(node)) return factory.updateDefaultClause(node, counting(node.statements))
    if (ts.isConditionalExpression(node)) {
      const { condition, questionToken, whenTrue, colonToken, whenFalse } = node
      return factory.updateConditionalExpression(
        node,
        condition,
        questionToken,
        counted(whenTrue),
        colonToken,
        counted(whenFalse),
      )
    }
    if (!ts.isBinaryExpression(node)) return node
    const { left: one, operatorToken, right } = node
    if (branching.has(operatorToken.kind))
      return factory.updateBinaryExpression(node, one, operatorToken, counted(right))
    if (!comparing.has(operatorToken.kind)) return node
    const place = factory.createNumericLiteral(comparisons++)
    return factory.updateBinaryExpression(
      node,
      call('$first', one),
      operatorToken,
      call('$second', place, right),
    )
  }
  return ts.visitEachChild(file, visit, context)
}

const compilerOptions: ts.CompilerOptions = {
  module: ts.ModuleKind.ESNext,
  target: ts.ScriptTarget.ESNext,
  verbatimModuleSyntax: true,
  inlineSourceMap: true,
}
const head = `import { taken as $taken, first as $first, second as $second } from '${import.meta.url}';`
process.setSourceMapsEnabled(true)
registerHooks({
  load(url, context, next) {
    if (!/\/(?:src|adapters|node_modules\/jose)\/.*\.[tj]s$/.test(url)) return next(url, context)
    const text = readFileSync(fileURLToPath(url), 'utf8')
    const transformers = { before: [instrument] }
    const { outputText } = ts.transpileModule(text, { fileName: url, compilerOptions, transformers })
    return { format: 'module', source: head + outputText, shortCircuit: true }
  },
})
