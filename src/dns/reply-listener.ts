/** Address and port of a resolver. */
export interface ServerAddress {
  readonly ip: string
  readonly port: number
}

/** Who waits for the reply to a message that was sent. */
export interface ReplyListener {
  /** A message came with the id of one that was sent; true when it was the reply. */
  receive(message: Buffer): boolean
  /** The socket broke, and no reply comes by it: mostly, nobody listens there. */
  fail(): void
}
