import { descriptionText, maxDescription } from './clean-text.ts'
import { own } from './own-property.ts'

const maxParts = 1000
const leafKeys = ['text', 'fallback', 'translate', 'keybind']

/**
 * Returns the cleaned text of a chat component: a string, an object with `text` and `extra`, or a list of these.
 *
 * Never recursive, so that no depth overflows the stack, and bounded in parts and length.
 */
export function componentText(component: unknown): string {
  const pending: unknown[] = [component]
  let text = ''
  const longest = 2 * maxDescription
  for (let parts = 0; pending.length > 0 && parts < maxParts && text.length < longest; parts += 1) {
    const part = pending.pop()
    if (typeof part === 'object' && part !== null) pushParts(pending, part)
    else if (part !== null && part !== undefined) text += String(part)
  }
  return descriptionText(text)
}

// The stack is read from its end, so what comes first is pushed last.
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
