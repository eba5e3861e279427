const maxParts = 1000
const maxLength = 4096
const leafKeys = ['text', 'fallback', 'translate', 'keybind']
// A section sign swallows the character after it, as the game draws it.
// eslint-disable-next-line no-control-regex
const unclean = /§[^]?|[\x00-\x09\x0b-\x1f\x7f-\x9f]/gu

/** Text without formatting codes and control characters other than line feeds. */
export function cleanText(text: string): string {
  return text.replace(unclean, '')
}

/**
 * The text of a chat component, cleaned: a string, an object with `text` and `extra`, or a list of these.
 *
 * Never recursive, so that no depth overflows the stack, and bounded in parts and length.
 */
export function componentText(component: unknown): string {
  const pending: unknown[] = [component]
  let text = ''
  for (let parts = 0; pending.length > 0 && parts < maxParts && text.length < maxLength; parts += 1) {
    const part = pending.pop()
    if (typeof part === 'object' && part !== null) pushParts(pending, part)
    else if (part !== null && part !== undefined) text += String(part)
  }
  return cleanText(text.slice(0, maxLength))
}

// The stack is read from its end, so what comes first goes on last.
function pushParts(pending: unknown[], part: object): void {
  const list = Array.isArray(part) ? part : own(part, 'extra')
  if (!Array.isArray(list)) pending.push(list)
  else for (let index = Math.min(list.length, maxParts) - 1; index >= 0; index -= 1) pending.push(list[index])
  if (!Array.isArray(part)) pending.push(leafText(part))
}

function leafText(part: object): unknown {
  for (const key of leafKeys) {
    const text = own(part, key)
    if (typeof text !== 'object' && text !== undefined) return text
  }
  return undefined
}

/** A property of an object's own; undefined for inherited ones, so that no polluted prototype answers for a server. */
export function own(value: unknown, key: string): unknown {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined
  return (value as Record<string, unknown>)[key]
}
