// Generates types from the service's OpenAPI document and writes them to schema.d.ts. A service that runs elsewhere
// serves the same document: `openapi-typescript https://api.example/openapi.json --output schema.d.ts`.
import { writeFileSync } from 'node:fs'
import openapiTypescript, { astToString, type OpenAPI3 } from 'openapi-typescript'
import { createUtilityApi } from 'utility-api'
import { memoryStorage } from 'utility-api/storage/memory'

const document = createUtilityApi({ storage: memoryStorage() }).openapi()
const types = await openapiTypescript(JSON.parse(JSON.stringify(document)) as OpenAPI3)
writeFileSync(new URL('schema.d.ts', import.meta.url), astToString(types))
