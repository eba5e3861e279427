/** Address and port of a resolver. */
export interface ServerAddress {
  readonly ip: string
  readonly port: number
}

/** What brought a message: the socket of a port, or a word for the stream. Only compared. */
export type Source = object | string

/** Where messages over a stream come from. Strangers cannot send there. */
export const overStream: Source = 'stream'

/** Carries whole messages, and no forged ones. */
export interface Stream {
  readonly name: 'tcp' | 'https'
  /** Sends a message, with whatever id fits. Returns a function that ends it early. */
  send(message: Buffer, listener: ReplyListener): () => void
}

/** Waits for the reply to a message that was sent. */
export interface ReplyListener {
  /** Takes a message that has the id of one that was sent. Returns true if it was the reply. */
  receive(message: Buffer, source: Source): boolean
  /** Called if there will be no reply, mostly because nothing listens there. The error is the system's, or says what came. */
  fail(source: Source, error?: unknown): void
}
