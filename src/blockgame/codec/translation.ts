const placeholder = /%(?:(\d{1,9})\$)?([a-zA-Z%]|$)/g

/**
 * Returns the parts of a translated text: pieces of its template, and the arguments where `%s`, or `%2$s`, stands.
 *
 * The template is the fallback or the key itself, as in a game that does not know the key. A template with other
 * placeholders, or with more than there are arguments, is shown as it is, as in the game.
 */
export function fillTemplate(template: string, args: unknown, most: number): readonly unknown[] {
  if (!template.includes('%')) return [template]
  const given: readonly unknown[] = Array.isArray(args) ? args : []
  const parts: unknown[] = []
  let end = 0
  let next = 0
  for (const { 0: whole, 1: position, 2: kind, index } of template.matchAll(placeholder)) {
    const argument = position === undefined ? next : Number(position) - 1
    const isArgument = kind === 's' && argument in given
    if (!isArgument && whole !== '%%') return [template]
    parts.push(template.slice(end, index), isArgument ? given[argument] : '%')
    if (isArgument && position === undefined) next += 1
    end = index + whole.length
    if (parts.length >= most) break
  }
  parts.push(template.slice(end))
  return parts
}
