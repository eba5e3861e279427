/**
 * Returns how many rows to read for a page, with one more to see whether there is a next page. A bound number is a
 * floating-point number, which no version accepts in LIMIT, so the number is part of the text. It is a power of two,
 * because each text is one more prepared statement for each connection, and a server holds few.
 */
export function rowsFor(limit: number): number {
  return 2 ** Math.ceil(Math.log2(limit + 1))
}
