/** Quotes a text for a shell: folders may have spaces and apostrophes in their names. */
export function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`
}
