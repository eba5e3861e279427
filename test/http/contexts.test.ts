/** A function of the host runs in the async context of the caller that it is called for, or in that of nobody. */
import { spawnSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { missingRuntime, remotes, type Remote } from './support/remote.ts'

const calls = process.env['CONTEXT_CALLS']
const program = 'test/http/support/contexts-worker.ts'
const runtimes: Readonly<Record<string, Remote>> = {
  'Node.js': { command: process.execPath, args: ['--import', './test/support/sources.ts'] },
  ...(calls !== undefined && remotes),
}
const functions = [
  'a statement',
  'blockgame.client',
  'dns.client',
  'errorBody',
  'logger',
  'logger, for all',
  'onAnswer',
  'onRequestEnd',
  'rateLimiter',
  'the abort of dns.client',
  'the commit of several',
  'the report of uses',
]

test.for(Object.entries(runtimes))(
  'no function of the host runs in the context of another caller on %s',
  { timeout: 300_000 },
  ([runtime, { command, args }], { skip }) => {
    const missing = missingRuntime(runtime)
    if (missing !== null) skip(missing)
    const { stdout, stderr } = spawnSync(command, [...args, program, calls ?? '4000'], { encoding: 'utf8' })
    expect(stderr.replaceAll(/^.*ExperimentalWarning.*$|^\(Use .*$/gm, '').trim()).toBe('')
    const { called, wrong } = JSON.parse(stdout) as Record<'called' | 'wrong', Record<string, number>>
    expect(wrong).toEqual({})
    expect(Object.keys(called).toSorted()).toEqual(functions)
  },
)
