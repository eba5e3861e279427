/** A call that a beginner makes, and what it is answered with. */
export type Mistake = readonly [what: string, call: () => unknown, says: string]

/** Mistakes by the function that is called. */
export type Mistakes = Readonly<Record<string, readonly Mistake[]>>

/** Any function, as JavaScript calls it. */
export type Loose = (...args: readonly unknown[]) => unknown

/** Returns a call with arguments that no type allows. */
export function called(work: unknown, ...args: readonly unknown[]): () => unknown {
  return () => (work as Loose)(...args)
}

// The lines to write that several messages have.
export const newSqlite = "sqliteStorage(new Database('utility.sqlite'))"
export const newPostgres = 'postgresStorage(new Pool({ connectionString }))'
