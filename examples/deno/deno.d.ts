// The part of Deno that is used here, so that the example is checked together with the others.
declare const Deno: {
  serve(
    options: { port: number; hostname: string; onListen: () => void },
    handler: (request: Request, info: { remoteAddr: { hostname: string } }) => Promise<Response>,
  ): { readonly addr: { readonly port: number }; shutdown(): Promise<void> }
  readonly env: { get(name: string): string | undefined }
  addSignalListener(signal: 'SIGTERM', listener: () => void): void
  exit(code: number): never
}
