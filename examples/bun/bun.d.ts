// What of Bun is used here, so that the example needs no types of Bun's.
declare const Bun: {
  serve(options: {
    port: number
    hostname: string
    fetch: (request: Request, server: BunServerHere) => Promise<Response>
  }): BunServerHere & { readonly port: number; stop(): Promise<void> }
}

interface BunServerHere {
  requestIP(request: Request): { readonly address: string } | null
}

declare module 'bun:sqlite' {
  export { DatabaseSync as Database } from 'node:sqlite'
}
