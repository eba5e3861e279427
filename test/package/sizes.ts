// Prints what every entry costs: its bytes with all that it shares with others, and the time its import takes.
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { manifest, packAndInstall } from './packed.ts'

const rounds = 15
const { project, entries, remove } = packAndInstall()
const dist = join(project, 'node_modules/utility-api')
const exports = manifest().exports as Record<string, { default: string }>

/** A program with everything of ours that it imports at its start. */
function closure(path: string, seen = new Set<string>()): Set<string> {
  if (seen.has(path)) return seen
  seen.add(path)
  const text = readFileSync(path, 'utf8')
  for (const [, target = ''] of text.matchAll(/(?:from|import)\s*"((?:\.|utility-api)[^"]*)"/g))
    closure(target.startsWith('.') ? join(dirname(path), target) : pathOf(target), seen)
  return seen
}

function pathOf(entry: string): string {
  return join(dist, exports[entry.replace('utility-api', '.')]?.default ?? '')
}

/** The shortest of several first imports, each in a process of its own: the one that was disturbed least. */
function importMs(...specifiers: string[]): number {
  const program = `const start = performance.now()
    await Promise.all(${JSON.stringify(specifiers)}.map((each) => import(each)))
    console.log(performance.now() - start)`
  return Math.min(
    ...Array.from({ length: rounds }, () =>
      Number(execFileSync(process.execPath, ['--input-type=module', '-e', program], { cwd: project })),
    ),
  )
}

console.log('| entry | kB | gzip kB | import ms |\n|---|---|---|---|')
for (const entry of entries) {
  const texts = [...closure(pathOf(entry))].map((each) => readFileSync(each))
  const bytes = Buffer.concat(texts)
  const cells = [bytes.length / 1000, gzipSync(bytes).length / 1000, importMs(entry)].map((value) =>
    value.toFixed(1),
  )
  console.log(`| \`${entry}\` | ${cells.join(' | ')} |`)
}
console.log(
  `\nNode ${process.versions.node}, shortest of ${rounds} first imports, unminified, with what is bundled.`,
)
remove()
