import { globSync, readFileSync } from 'node:fs'

/** A block of code in a text for readers. */
export interface CodeBlock {
  readonly file: string
  /** The line of its first line, from 1. */
  readonly line: number
  readonly language: string
  readonly text: string
}

const pages = ['*.md', '{docs,skills}/**/*.md']
const sources = ['src/**/*.ts', 'adapters/**/*.ts']

/** Every fenced block of the README and the pages, and every example in the comments of the sources. */
export function codeBlocks(): CodeBlock[] {
  return [...globSync(pages), ...globSync(sources)]
    .filter((file) => !file.startsWith('docs/api/') && file !== 'CHANGELOG.md')
    .toSorted()
    .flatMap(blocksIn)
}

function blocksIn(file: string): CodeBlock[] {
  const blocks: CodeBlock[] = []
  let open: { language: string; line: number; lines: string[] } | null = null
  for (const [at, raw] of readFileSync(file, 'utf8').split('\n').entries()) {
    // In a source only what stands in a comment counts.
    const line = file.endsWith('.ts') ? /^\s*\* ?(.*)$/.exec(raw)?.[1] : raw.trimEnd()
    if (line === undefined) continue
    const fence = /^\s*```(\w*)$/.exec(line)
    if (fence === null) open?.lines.push(line)
    else if (open === null) open = { language: fence[1] ?? '', line: at + 2, lines: [] }
    else {
      blocks.push({ file, line: open.line, language: open.language, text: open.lines.join('\n') })
      open = null
    }
  }
  if (open !== null) throw new Error(`${file}: the block of line ${open.line} does not end.`)
  return blocks
}
