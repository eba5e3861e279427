import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, expect, onTestFinished, test } from 'vitest'
import { firstLine, start, temporaryFolder } from '../support/cli.ts'
import { runHere } from '../support/cli-here.ts'
import { licenseHeaders } from '../../http/support/world.ts'

const folder = temporaryFolder()
afterAll(() => folder.remove())

/** A storage on this file that never answers a write, but keeps the process alive, as a connection would. */
function hangingStorage(database: string): string {
  const file = join(folder.path, 'hanging.mjs')
  const sqlite = pathToFileURL(join(import.meta.dirname, '../../../adapters/storage/sqlite.ts')).href
  writeFileSync(
    file,
    `import { DatabaseSync } from 'node:sqlite'
    import { sqliteStorage } from '${sqlite}'
    export default () => ({
      ...sqliteStorage(new DatabaseSync(${JSON.stringify(database)})),
      insertLicense() {
        setInterval(() => {}, 1000)
        console.log('writing')
        return new Promise(() => {})
      },
    })`,
  )
  return file
}

test('a database that never answers a write does not keep the process alive', async () => {
  const database = join(folder.path, 'hanging.sqlite')
  const env = { UTILITY_API_DATABASE: database }
  await runHere(['migrate'], env)
  const { token } = JSON.parse((await runHere(['reseller', 'create', '--json'], env)).stdout) as {
    token: string
  }
  const child = start(['serve', '--port', '0', '--drain', '0', '--storage', hangingStorage(database)])
  onTestFinished(() => void child.kill('SIGKILL'))
  const url = (await firstLine(child)).replace('Listening on ', '')
  const headers = { Authorization: `Bearer ${token}`, ...licenseHeaders }
  const writing = once(child.stdout ?? child, 'data')
  const cutOff = expect(fetch(`${url}/v2/reseller/licenses/generate`, { method: 'POST', headers })).rejects
  await writing
  child.kill('SIGTERM')
  await cutOff.toThrow()
  expect(await once(child, 'close')).toEqual([1, null])
})
