import { createUtilityApi } from 'utility-api'
import { memoryStorage } from 'utility-api/storage/memory'
import { command, type AnyCommand } from '../terminal/command.ts'
import { licenseOptions, licenseRules } from '../terminal/license-options.ts'
import { printJson } from '../terminal/output.ts'

export const openapi: AnyCommand = command({
  args: {
    prefix: { type: 'string', valueHint: 'PATH', description: 'What all paths begin with, such as /api.' },
    statuses: licenseOptions.statuses,
  },
  examples: ['openapi > openapi.json', 'openapi --prefix /api'],
  run({ prefix = '', ...args }) {
    const options = { storage: memoryStorage(), basePath: prefix, licenses: licenseRules(args) }
    printJson(createUtilityApi(options).openapi())
  },
})
