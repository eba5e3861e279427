/** A value bound to a statement: what every driver takes. */
export type ColumnValue = string | number | Uint8Array | null

/** An integer column. Drivers return numbers, or text or bigints for what might exceed them. */
export type IntegerColumn = number | string | bigint

export function toTime(column: IntegerColumn | null): number | null {
  return column === null ? null : Number(column)
}

/** Returns the label. A label that nobody gave is absent. */
export function named({ name }: { readonly name: string | null }): { readonly name?: string } {
  return name === null ? {} : { name }
}

/** Returns a `?` for each column. */
export function placeholders(columns: string): string {
  return columns.replaceAll(/\w+/g, '?')
}
