/**
 * The slice of a `pg` Pool that is used.
 *
 * @group Storage
 */
export interface PostgresPool {
  /** `max`: how many connections it opens; all but one of them serve writes, all of them reads. */
  readonly options: { readonly max: number }
  /** Lends a connection. */
  connect(): Promise<PostgresClient>
  /** Listens for errors of idle connections. */
  on?(event: 'error', listener: (error: Error) => void): unknown
  /** Listens for new connections, in the moment before they are lent. */
  on?(event: 'connect', listener: (client: PostgresClient) => void): unknown
  /** How many listen for errors already. */
  listenerCount?(event: 'error'): number
}

/**
 * The slice of a `pg` client that is used.
 *
 * @group Storage
 */
export interface PostgresClient {
  /** Runs one statement with its values, or SQL of several. */
  query(statement: PostgresStatement | string): Promise<PostgresResult>
  /** Gives the connection back; `true` closes it. */
  release(destroy?: boolean): void
  /** Listens for errors of the connection. */
  on(event: 'error', listener: (error: Error) => void): unknown
  /** Listens for the server's notices: a commit that no standby confirmed succeeds with one. */
  on(event: 'notice', listener: (notice: PostgresNotice) => void): unknown
}

/**
 * What the server says beside its answer.
 *
 * @group Storage
 */
export interface PostgresNotice {
  /** The function in the server that says it; its text is translated. */
  readonly routine?: string | undefined
}

/**
 * A statement with its values; `name` makes a connection prepare it once.
 *
 * @group Storage
 */
export interface PostgresStatement {
  /** Name of the prepared statement. */
  readonly name: string
  /** SQL with `$1`, `$2` … */
  readonly text: string
  /** The values of `$1`, `$2` …: text, numbers, octets, null and arrays of text. */
  readonly values: unknown[]
}

/**
 * What a statement brought.
 *
 * @group Storage
 */
export interface PostgresResult {
  /** The rows returned, by column name. */
  readonly rows: unknown[]
  /** How many rows were returned or changed. */
  readonly rowCount: number | null
}
