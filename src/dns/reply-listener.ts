/** Address and port of a resolver. */
export interface ServerAddress {
  readonly ip: string
  readonly port: number
}

/** What brought a message: the socket of a port, or a word for the connection. Only compared. */
export type Source = object | string

/** Waits for the reply to a message that was sent. */
export interface ReplyListener {
  /** Takes a message that has the id of one that was sent. Returns true if it was the reply. */
  receive(message: Buffer, source: Source): boolean
  /** Called if the socket broke and can bring no reply, mostly because nothing listens there. The error is the system's. */
  fail(source: Source, error?: Error): void
}
