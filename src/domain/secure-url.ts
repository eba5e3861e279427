/** Tells whether a text is an absolute URL over TLS, or one on the machine itself, without a user's name or password. */
export function isSecureUrl(text: string): boolean {
  // URL would take `https:a.example` and `https:///a.example` too, and what has a line end behind it.
  if (!/^https?:\/\/(?![/\\]|[^/?#]*@)[\x21-\x7e]+$/i.test(text) || !URL.canParse(text)) return false
  const { protocol, hostname } = new URL(text)
  return protocol === 'https:' || /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/.test(hostname)
}
