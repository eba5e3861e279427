const orders: Readonly<Record<string, readonly string[]>> = {
  ada: ['a difference engine'],
  grace: ['a nanosecond of wire'],
}

/** Returns what the route gives to an authorized client: the orders of the token's user. */
export function ordersOf(subject: string | null): readonly string[] {
  return orders[subject ?? ''] ?? []
}
