/** JSON that carries bytes, between a test and its fixture. */
export function encode(value: unknown): string {
  return JSON.stringify(value, (_, each: unknown) => {
    const bytes = bytesOf(each)
    return bytes === null ? each : { $bytes: Buffer.from(bytes).toString('base64') }
  })
}

export function decode(line: string): unknown {
  return JSON.parse(line, (_, each: unknown) =>
    typeof each === 'object' && each !== null && '$bytes' in each
      ? new Uint8Array(Buffer.from(String(each.$bytes), 'base64'))
      : each,
  )
}

function bytesOf(value: unknown): Uint8Array | null {
  if (value instanceof Uint8Array) return value
  // A Buffer has turned itself into this before it gets here.
  const { type, data } = (value ?? {}) as { type?: unknown; data?: number[] }
  return type === 'Buffer' && Array.isArray(data) ? Uint8Array.from(data) : null
}
