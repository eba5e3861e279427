import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { codeBlocks } from '../docs/code-blocks.ts'

// What the guide shows of a server is a part of its example, which a test of its own starts and asks.

const shown = codeBlocks().filter(({ file }) => file === 'docs/guide/mounting.md')

test.for(['fastify', 'hono', 'koa'])(
  'the page on mounting shows lines of examples/%s/server.ts in their order',
  (name) => {
    const block = shown.find(({ text }) => text.includes(`from '${name}'\n`))
    const lines = block?.text.split('\n').filter((line) => line !== '') ?? []
    let rest = readFileSync(`examples/${name}/server.ts`, 'utf8').split('\n')
    expect(lines.length).toBeGreaterThan(5)
    for (const line of lines) {
      expect(rest).toContain(line)
      rest = rest.slice(rest.indexOf(line) + 1)
    }
  },
)
