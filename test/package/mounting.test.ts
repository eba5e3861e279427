import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { codeBlocks } from '../docs/code-blocks.ts'

// The programs of the guide are those of the examples, which are started and asked by tests of their own.

const shown = new Set(
  codeBlocks()
    .filter(({ file }) => file === 'docs/guide/mounting.md')
    .map(({ text }) => text),
)

test.for(['node-http', 'express', 'fastify', 'hono', 'bun', 'deno', 'koa'])(
  'the page on mounting shows examples/%s/server.ts as it is',
  (name) => {
    expect(shown).toContain(readFileSync(`examples/${name}/server.ts`, 'utf8').trimEnd())
  },
)
