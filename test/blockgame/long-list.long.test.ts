import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const program = 'test/blockgame/support/long-list.node.ts'
const deadlineMs = 1000
/** 5,000 lookups, and one more of each that failed, 200 at once. */
const rounds = 5500 / 200

test(
  'the list of the example keeps its pace with 5,000 servers, a tenth of which hang',
  async () => {
    const node = ['--import', './test/support/sources.ts', program, '5000', String(deadlineMs)]
    const { stdout } = await promisify(execFile)(process.execPath, node)
    const { online, offline, asked, most, mbBefore, mb } = JSON.parse(stdout)
    expect({ online, offline, asked, most }).toEqual({ online: 4500, offline: 500, asked: 5500, most: 200 })
    // It was 62 MB.
    expect(mb - mbBefore).toBeLessThan(150)
  },
  rounds * deadlineMs,
)
