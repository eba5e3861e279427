import { expect, test } from 'vitest'
import { run } from './support/cli.ts'

test.each([
  ['21.20.0', 1],
  ['22.17.9', 1],
  ['22.18.0', 0],
  ['23.0.0', 0],
])('on Node.js %s the command ends with %d', async (node, code) => {
  const versions = `{value:{...process.versions,node:'${node}'}}`
  const NODE_OPTIONS = `--import data:text/javascript,Object.defineProperty(process,'versions',${versions})`
  const outcome = await run(['version'], { NODE_OPTIONS })
  expect(outcome).toMatchObject({
    code,
    stderr: code === 0 ? '' : expect.stringContaining(`this is ${node}.`),
  })
})
