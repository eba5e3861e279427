/** What somebody passed instead of a storage. */
export interface StorageMistake {
  readonly is: string
  /** The options to write instead. */
  readonly write: string
}

/** Returns what a value is that somebody took for a storage, or null for an object that may have been meant as one. */
export function storageMistake(value: unknown): StorageMistake | null {
  if (value === undefined || value === null)
    return mistake('is missing; to try everything,', 'memoryStorage()')
  // Never repeated: a URL may have a password.
  if (typeof value === 'string') return mistake('is a string:', storageFor(value))
  if (typeof value === 'function') return mistake('is a function:', callOf(value))
  if (typeof value !== 'object') return mistake(`is a ${typeof value}:`, 'memoryStorage()')
  const has = (name: string): boolean => typeof (value as Record<string, unknown>)[name] === 'function'
  if (has('then'))
    return mistake('is a promise: if it is that of migrate(), pass the storage itself, or else', 'await …')
  if ('changed' in value && 'warnings' in value)
    return {
      is: 'is what migrate() resolves to: keep the storage in a variable of its own, then',
      write: '{ storage }',
    }
  if (has('prepare')) return mistake('is a database:', 'sqliteStorage(database)')
  if (has('getConnection'))
    return mistake('is a pool:', has('promise') ? 'mysqlStorage(pool.promise())' : 'mysqlStorage(pool)')
  if (has('connect') && has('query') && 'totalCount' in value)
    return mistake('is a pool:', 'postgresStorage(pool)')
  if (has('connect') && has('query')) return mistake('is a single connection:', newPool)
  if ('connectionString' in value) return mistake('is what a pool is made of:', newPool)
  if (has('dispatch')) return { is: 'is what createUtilityApi returns:', write: '{ storage }' }
  if (has('createReseller')) return { is: 'is what createAdmin returns:', write: '{ storage }' }
  return null
}

function mistake(is: string, storage: string): StorageMistake {
  return { is, write: `{ storage: ${storage} }` }
}

const newPool = 'postgresStorage(new Pool({ connectionString }))'
const newDatabase = "sqliteStorage(new Database('utility.sqlite'))"

function storageFor(text: string): string {
  if (/^postgres/i.test(text)) return newPool
  if (/^(?:mysql|mariadb)/i.test(text)) return 'mysqlStorage(createPool(url))'
  return /^:?memory:?$/i.test(text) ? 'memoryStorage()' : newDatabase
}

/** Returns the call of a function that was passed itself. */
function callOf({ name, prototype }: { readonly name: string; readonly prototype?: object }): string {
  if (/^sqliteStorage|^(?:Database|DatabaseSync)$/.test(name)) return newDatabase
  if (/^postgresStorage|^(?:Bound)?Pool$/.test(name)) return newPool
  if (/^mysqlStorage|^createPool/.test(name)) return 'mysqlStorage(createPool(url))'
  if (!/^\w+$/.test(name)) return 'memoryStorage()'
  // A name that begins with a capital is that of a class.
  return prototype !== undefined && /^[A-Z]/.test(name) ? `new ${name}()` : `${name}()`
}

/** Says why a value is no storage, with what to write instead. */
export function storageProblem(value: unknown, missing: readonly string[]): string {
  const found = storageMistake(value)
  return found === null ? lacks(missing) : `${found.is} write ${found.write}`
}

/** Says which methods are missing: three of them by name. */
export function lacks(missing: readonly string[]): string {
  const more = missing.length - 3
  const others = more > 0 ? ` and ${more} more ${more === 1 ? 'method' : 'methods'}` : ''
  return `lacks ${missing.slice(0, 3).join(', ')}${others}`
}
