/**
 * Hides passwords in a message that repeats what somebody typed: a URL in the wrong place, or with a mistake in it, has
 * its password all the same.
 */
export function withoutPasswords(text: string): string {
  return text
    .replaceAll(/"[^"\n]*"|[^\s"]+/g, withoutPassword)
    .replaceAll(/\b(pass(?:word|wd|phrase)?|pwd)=[^\s"'&;]+/gi, '$1=…')
}

/** @param words - A word, or several in quotation marks. */
function withoutPassword(words: string): string {
  const [, before = '', url, quote = ''] = /^(.*?)([a-z][a-z\d+.-]*:\/\/[^"]+)("?)$/is.exec(words) ?? []
  if (url !== undefined) return before + shownUrl(url) + quote
  // After a colon, a backslash means a folder of Windows, and "/@" a package.
  return words.replace(/[^\s"']*:(?!\\).*[^/\s]@/s, '…@')
}

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
