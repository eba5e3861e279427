import type { UtilityApi } from 'utility-api'

/** An operation's answer. */
export interface Answer {
  readonly status: number
  readonly body: unknown
}

const utf8 = new TextDecoder()

/** Calls one of our own read operations, so that names are validated and JSON looks the same as over HTTP. */
export async function ask(
  api: UtilityApi,
  path: string,
  headers: Readonly<Record<string, string>>,
  signal?: AbortSignal,
): Promise<Answer> {
  const byName = new Map(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
  const { status, body, written } = await api.dispatch({
    method: 'GET',
    url: path,
    // Headers carry text as octets.
    header: (name) => {
      const value = byName.get(name.toLowerCase())
      return value === undefined ? null : Buffer.from(value).toString('latin1')
    },
    body: async () => new Uint8Array(),
    ...(signal !== undefined && { signal }),
  })
  written()
  return { status, body: JSON.parse(typeof body === 'string' ? body : utf8.decode(body)) as unknown }
}
