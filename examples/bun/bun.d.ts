// The part of Bun that is used here, so that the example does not need Bun's own types.
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
