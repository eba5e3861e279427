import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createUtilityApi } from 'utility-api'
import { memoryStorage } from 'utility-api/storage/memory'
import { expect, test } from 'vitest'

test.for([
  ['as it is by default', {}],
  ['with everything changed', { basePath: '/api', dns: { requiredScope: 'dns' }, errorBody: () => ({}) }],
  ['with two operations taken out', { dns: false, blockgame: false }],
] as const)('the document %s passes the strict rules of an independent linter', ([, options]) => {
  const folder = mkdtempSync(join(tmpdir(), 'utility-api-openapi-'))
  const file = join(folder, 'openapi.json')
  writeFileSync(file, JSON.stringify(createUtilityApi({ storage: memoryStorage(), ...options }).openapi()))
  const { status, stdout, stderr } = spawnSync(
    'node_modules/.bin/redocly',
    ['lint', '--extends', 'recommended-strict', file],
    {
      encoding: 'utf8',
      env: { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' },
    },
  )
  rmSync(folder, { recursive: true })
  expect({ status, said: status === 0 ? '' : stdout + stderr }).toEqual({ status: 0, said: '' })
})
