/** How many files one request enters: what a reader has to follow, from the Node mount to SQL. */
import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const program = fileURLToPath(new URL('./support/files-entered-worker.ts', import.meta.url))
const sources = new URL('../support/sources.ts', import.meta.url).href

/** The most files that one request may enter: in all, and in the rooms that every request passes. */
const limits = {
  // Node's mount has three files of its own: the message, its headers, and what is under way on its connection.
  exchangeToken: { all: 22, core: 10 },
  // Beside that: the compared form of the domain, the use of the token and, generating, what the owner's own call shares
  // and the check of the row.
  generateLicense: { all: 30, core: 10 },
  updateLicense: { all: 24, core: 10 },
}

test('a request of a storage operation enters few files', () => {
  const output = execFileSync('node', ['--import', sources, program], { encoding: 'utf8' })
  const entered = JSON.parse(output) as Record<keyof typeof limits, string[]>
  for (const [operation, { all, core }] of Object.entries(limits)) {
    const files = entered[operation as keyof typeof limits]
    const inCore = files.filter((file) => /^src\/(http|security|operations)\//.test(file))
    expect(inCore.length, inCore.join('\n')).toBeLessThanOrEqual(core)
    expect(files.length, files.join('\n')).toBeLessThanOrEqual(all)
  }
})
