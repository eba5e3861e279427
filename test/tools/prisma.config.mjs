import { PrismaPg } from '@prisma/adapter-pg'
import pg from 'pg'

// Prisma's engine as WebAssembly, which comes from the registry; the other one comes from a server of its own. Its
// adapter does not know the type "char", which the catalog of PostgreSQL has.
const [charType, textType, character] = [18, 25, 6]
let chars = []
for (const { prototype } of [pg.Pool, pg.Client]) {
  const { query } = prototype
  prototype.query = function queryAsText(...args) {
    return query.apply(this, args)?.then((result) => {
      const fields = result.fields ?? []
      chars = fields.map(({ dataTypeID }) => dataTypeID === charType)
      for (const field of fields) if (field.dataTypeID === charType) field.dataTypeID = textType
      return result
    })
  }
}

async function connect() {
  const adapter = await new PrismaPg(
    new pg.Pool({ connectionString: process.env.DATABASE_URL, idleTimeoutMillis: 100 }),
  ).connect()
  const { queryRaw } = adapter
  adapter.queryRaw = async (query) => {
    const result = await queryRaw.call(adapter, query)
    return { ...result, columnTypes: result.columnTypes.map((type, at) => (chars[at] ? character : type)) }
  }
  return adapter
}

export default {
  experimental: { adapter: true },
  engine: 'js',
  schema: 'orders.prisma',
  adapter: async () => ({ provider: 'postgres', adapterName: 'pg', connect, connectToShadowDb: connect }),
}
