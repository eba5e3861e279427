// Makes a database look like a model of one table, with the tool that is named: node deploy.js TOOL.
import { execFileSync, spawn } from 'node:child_process'

const url = process.env.DATABASE_URL
const isPostgres = url.startsWith('postgres:')

const tools = {
  drizzle() {
    const args = ['node_modules/drizzle-kit/bin.cjs', 'push', '--force', '--config', 'drizzle.config.js']
    execFileSync(process.execPath, args, { stdio: 'inherit' })
  },
  async prisma() {
    const args = ['node_modules/prisma/build/index.js', 'db', 'push', '--accept-data-loss', '--skip-generate']
    // It asks for its own programs, which are not there, though it is told to use none of them.
    const none = {
      PRISMA_QUERY_ENGINE_LIBRARY: process.execPath,
      PRISMA_SCHEMA_ENGINE_BINARY: process.execPath,
    }
    const env = { ...process.env, ...none, CHECKPOINT_DISABLE: '1' }
    const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'inherit'] })
    let output = ''
    for await (const text of child.stdout) {
      output += text
      // It would stay for a minute.
      if (output.includes('in sync')) child.kill()
    }
    if (!output.includes('in sync')) throw new Error(output)
  },
  async 'mikro-orm'() {
    const { EntitySchema, MikroORM } = await import(`@mikro-orm/${isPostgres ? 'postgresql' : 'mariadb'}`)
    const properties = { id: { type: 'integer', primary: true }, name: { type: 'string' } }
    const entity = new EntitySchema({ name: 'Order', tableName: 'orders', properties })
    const orm = await MikroORM.init({ entities: [entity], clientUrl: url })
    await orm.schema.update()
    await orm.close()
  },
  async typeorm() {
    const { DataSource, EntitySchema } = await import('typeorm')
    const columns = { id: { type: 'int', primary: true }, name: { type: 'varchar' } }
    const entities = [new EntitySchema({ name: 'orders', columns })]
    const source = new DataSource({ type: isPostgres ? 'postgres' : 'mariadb', url, entities })
    await source.initialize()
    await source.synchronize()
    await source.destroy()
  },
  async sequelize() {
    const { DataTypes, Sequelize } = await import('sequelize')
    const sequelize = new Sequelize(url, { logging: false })
    sequelize.define('orders', { id: { type: DataTypes.INTEGER, primaryKey: true }, name: DataTypes.STRING })
    await sequelize.sync({ alter: true })
    await sequelize.close()
  },
}

await tools[process.argv[2]]()
