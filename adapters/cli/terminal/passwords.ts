/**
 * Hides passwords in a message that repeats what somebody typed, because a URL in the wrong place, or with a mistake in
 * it, has its password all the same.
 */
export function withoutPasswords(text: string): string {
  return text
    .replaceAll(/"[^"\n]*"|[^\s"]+/g, withoutPassword)
    .replaceAll(/\b(pass(?:word|wd|phrase)?|pwd)=[^\s"'&;]+/gi, '$1=…')
}

/** @param words - A word, or several in quotation marks. */
function withoutPassword(words: string): string {
  if (urlInside.test(words))
    return words.replace(urlInside, (_, before: string, url: string) => before + shownUrl(url))
  const [upToAt = ''] = /^.*[^/\s]@/s.exec(words) ?? []
  const start = upToAt.search(userBeforeAt)
  return start === -1 ? words : `${words.slice(0, start)}…@${words.slice(upToAt.length)}`
}

// Both begin at the start of a run, because from each place in it, a long one would be read to its end.
const urlInside = /(?<![a-z\d+.-])([\d+.-]*)([a-z][a-z\d+.-]*:\/\/[^"]+)/i
// After a colon, a backslash means a folder of Windows, and "/@" a package.
const userBeforeAt = /(?<![^\s"'])[^\s"']*?:(?!\\)../s

/** Returns a URL without its user. Of a database's, only scheme, host and database are left. */
function shownUrl(text: string): string {
  const [scheme = ''] = text.split('://')
  const isDatabase = /^(?:postgres|mysql|mariadb)/i.test(scheme)
  const url = URL.canParse(text) ? new URL(text) : null
  // An "@" after the host was meant to come before it, and URLs lose their tabs.
  if (url === null || (isDatabase && (url.pathname.includes('@') || /\s/.test(text)))) return `${scheme}://…`
  if (isDatabase) return `${scheme}://${url.host}${url.pathname}`
  if (url.username + url.password === '') return text
  return `${scheme}://…@${url.host}${url.pathname}${url.search}`
}
