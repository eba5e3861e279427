import { globSync, readFileSync } from 'node:fs'
import ts from 'typescript'

const root = new URL('../../../', import.meta.url)

export interface Expressions {
  /** Each regular expression that is written out, by its file and text. */
  readonly literal: ReadonlyMap<string, RegExp>
  /** The files that put regular expressions together. */
  readonly builtIn: readonly string[]
}

/** Finds the regular expressions of the library and its adapters. */
export function findExpressions(): Expressions {
  const literal = new Map<string, RegExp>()
  const builtIn = new Set<string>()
  for (const file of globSync('{src,adapters}/**/*.ts', { cwd: root })) {
    const text = readFileSync(new URL(file, root), 'utf8')
    const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest)
    const visit = (node: ts.Node): void => {
      if (ts.isRegularExpressionLiteral(node)) {
        const end = node.text.lastIndexOf('/')
        literal.set(`${file} ${node.text}`, new RegExp(node.text.slice(1, end), node.text.slice(end + 1)))
      }
      if (ts.isNewExpression(node) && node.expression.getText(source) === 'RegExp') builtIn.add(file)
      ts.forEachChild(node, visit)
    }
    visit(source)
  }
  return { literal, builtIn: [...builtIn].toSorted() }
}

/** Returns the characters that an expression names, and the words in it. */
export function partsOf({ source }: RegExp): readonly string[] {
  const characters = [...source.replaceAll(/\\[a-zA-Z]/g, '')].filter((each) => !'^$()|+*?'.includes(each))
  return [...new Set(characters)]
}

export function wordsOf({ source }: RegExp): readonly string[] {
  return [...new Set(source.match(/[A-Za-z0-9:/<>"=-]{2,}/g))]
}
