/** Removes from an error, in place, what may be a secret in the URL of its database. */
export type Redact = (error: unknown) => void

/** A regular expression has room for some ten thousand characters. Longer ones are never part of another word. */
const longestInExpression = 1000

/**
 * Returns what redacts the errors of a database. Of its URL, they may show the scheme, the host and the database's
 * name, because drivers and servers quote what they cannot use, and a secret in the wrong place is one of those.
 */
export function redactorOf(url: string): Redact {
  const { username, password, searchParams } = new URL(url.replace('@/', '@host/'))
  const texts = [password, ...searchParams.values(), ...(password === '' ? [username] : [])]
  const secrets = [...new Set([...texts, ...texts.map(decoded)])]
    .filter((text) => text !== '')
    .toSorted((a, b) => b.length - a.length)
    .map((text) =>
      text.length > longestInExpression
        ? text
        : new RegExp(`(?<![\\p{L}\\p{N}])${escaped(text)}(?![\\p{L}\\p{N}])`, 'giu'),
    )
  const hide = (text: string): string =>
    secrets.reduce<string>((rest, secret) => rest.replaceAll(secret, '…'), text)

  const seen = new WeakSet<Error>()
  function redact(error: unknown): void {
    if (!(error instanceof Error) || seen.has(error)) return
    seen.add(error)
    for (const name of Object.getOwnPropertyNames(error)) {
      const value: unknown = Reflect.get(error, name)
      if (typeof value === 'string') Reflect.set(error, name, hide(value))
      else if (Array.isArray(value)) value.forEach(redact)
      else redact(value)
    }
  }
  return redact
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

function escaped(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|/]/g, String.raw`\$&`)
}
