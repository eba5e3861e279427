const url = process.env.DATABASE_URL

export default {
  dialect: url.startsWith('postgres:') ? 'postgresql' : 'mysql',
  schema: './drizzle-schema.js',
  dbCredentials: { url },
}
