/** How long a connection may take to open, and then a statement on it, in milliseconds. */
export interface TimeLimits {
  readonly connectMs: number
  readonly statementMs: number
}

/**
 * The limits for requests. Together they are less than a request waits for its storage (`storageTimeoutMs`). A
 * statement that had to wait for its connection could otherwise still write after its client was told that it failed.
 */
export const requestLimits: TimeLimits = { connectMs: 1500, statementMs: 2400 }

/**
 * The limits for commands. Together they are less than a call of `Admin` waits, which is 30 seconds, because counting
 * millions of licenses takes longer than a request may.
 */
export const commandLimits: TimeLimits = { connectMs: 5000, statementMs: 20_000 }
