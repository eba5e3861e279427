/** Says why a value is no storage, with what to write instead. Text is never repeated: a URL may have a password. */
export function storageProblem(value: unknown, missing: readonly string[]): string {
  if (value === undefined || value === null)
    return 'is missing; to try everything, write { storage: memoryStorage() }'
  if (typeof value === 'string') return `must be a storage, not a string: ${storageFor(value)}`
  if (typeof value === 'function')
    return `is a function: call it, as in { storage: ${/^\w+$/.test(value.name) ? value.name : 'memoryStorage'}() }`
  const has = (name: string): boolean => typeof (value as Record<string, unknown>)[name] === 'function'
  if (has('then')) return 'is a promise: write await before it'
  if (has('prepare')) return 'is a database: write { storage: sqliteStorage(database) }'
  if (has('getConnection')) return 'is a pool: write { storage: mysqlStorage(pool) }'
  if (has('connect') && has('query')) return 'is a pool: write { storage: postgresStorage(pool) }'
  return lacks(missing)
}

function storageFor(text: string): string {
  if (/^postgres/i.test(text)) return 'write { storage: postgresStorage(new Pool({ connectionString })) }'
  if (/^(?:mysql|mariadb)/i.test(text)) return 'write { storage: mysqlStorage(createPool(url)) }'
  return "write { storage: sqliteStorage(new Database('utility.sqlite')) }"
}

/** Says which methods are missing: three of them by name. */
export function lacks(missing: readonly string[]): string {
  const more = missing.length - 3
  const others = more > 0 ? ` and ${more} more ${more === 1 ? 'method' : 'methods'}` : ''
  return `lacks ${missing.slice(0, 3).join(', ')}${others}`
}
