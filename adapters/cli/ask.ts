import type { UtilityApi } from 'utility-api'

/** What an operation answered. */
export interface Answer {
  readonly status: number
  readonly body: unknown
}

/** Asks one of our own read operations, so that names are judged and JSON looks as they do over HTTP. */
export async function ask(
  api: UtilityApi,
  path: string,
  headers: Readonly<Record<string, string>>,
  signal?: AbortSignal,
): Promise<Answer> {
  const byName = new Map(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
  const { status, body } = await api.dispatch({
    method: 'GET',
    url: path,
    // Header text travels as octets.
    header: (name) => {
      const value = byName.get(name.toLowerCase())
      return value === undefined ? null : Buffer.from(value).toString('latin1')
    },
    body: async () => new Uint8Array(),
    ...(signal !== undefined && { signal }),
  })
  return { status, body: JSON.parse(body) as unknown }
}
