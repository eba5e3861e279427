/**
 * The part of a `pg` Pool that the storage uses.
 *
 * @group Storage
 */
export interface PostgresPool {
  /** What the pool was made with. */
  readonly options: {
    /** How many connections the pool opens. All but one of them serve writes; all of them serve reads. */
    readonly max: number
    /** The time limit that connections ask the server for. It is an error if the server does not have it. */
    readonly statement_timeout?: number | false | undefined
    /** Must not be true, because the storage reads rows as text. */
    readonly binary?: boolean | undefined
  }
  /** Lends a connection. */
  connect(): Promise<PostgresClient>
  /** Listens for errors of idle connections. */
  on?(event: 'error', listener: (error: Error) => void): unknown
  /** Listens for new connections, right before they are lent. */
  on?(event: 'connect', listener: (client: PostgresClient) => void): unknown
  /** Returns how many listeners for errors there already are. */
  listenerCount?(event: 'error'): number
}

/**
 * The part of a `pg` client that the storage uses.
 *
 * @group Storage
 */
export interface PostgresClient {
  /**
   * Runs one statement with its values, or SQL text with several statements, whose result nobody reads.
   *
   * Rejects with the server's error. `code` is its SQLSTATE, `constraint` the name of a violated constraint. An error
   * without a SQLSTATE means that the connection is lost.
   */
  query(statement: PostgresStatement | string): Promise<PostgresResult>
  /** Returns `I` if no transaction is open. `pg` has this method since version 8.21. */
  getTransactionStatus(): string | null
  /** Tells what the server reports of its settings. Without it, the host must not change `client_encoding`. */
  readonly connection?: {
    /** Listens for settings that change. */
    on(event: 'parameterStatus', listener: (status: PostgresParameter) => void): unknown
  }
  /** Gives the connection back; `true` closes it. */
  release(destroy?: boolean): void
  /** Listens for errors of the connection. */
  on(event: 'error', listener: (error: Error) => void): unknown
  /** Listens for the end of the connection. */
  on(event: 'end', listener: () => void): unknown
  /** Listens for the server's notices. A commit that no standby confirmed succeeds with a notice. */
  on(event: 'notice', listener: (notice: PostgresNotice) => void): unknown
}

/**
 * What the server reports in addition to its answer.
 *
 * @group Storage
 */
export interface PostgresNotice {
  /** The function in the server that sends the notice. The notice's text is translated. */
  readonly routine?: string | undefined
}

/**
 * A setting that has changed on a connection.
 *
 * @group Storage
 */
export interface PostgresParameter {
  /** Its name. */
  readonly parameterName: string
  /** Its new value. */
  readonly parameterValue: string
}

/**
 * A statement with its values. Its `name` makes a connection prepare it once.
 *
 * @group Storage
 */
export interface PostgresStatement {
  /** Name of the prepared statement. Undefined: prepare it for this one use. */
  readonly name: string | undefined
  /** SQL with `$1`, `$2` … */
  readonly text: string
  /**
   * The values of `$1`, `$2` …: text, integers up to 2^53, octets (`Uint8Array`), null, and arrays of these.
   * They have the types that the server finds for their places, so octets can be sent as text in hexadecimal, `\\x00ff`.
   */
  readonly values: unknown[]
  /** Parses the columns of the rows, whatever the pool's own parsers are. */
  readonly types: PostgresTypes
}

/**
 * Parsers of columns by their type.
 *
 * @group Storage
 */
export interface PostgresTypes {
  /** Returns the parser for a type, by its object identifier. It takes the text that the server sent, never NULL. */
  getTypeParser(oid: number): (text: string) => unknown
}

/**
 * The result of a statement.
 *
 * @group Storage
 */
export interface PostgresResult {
  /** The rows returned, as objects by column name. What is NULL is null. */
  readonly rows: unknown[]
  /** How many rows were returned or changed. */
  readonly rowCount: number | null
}
