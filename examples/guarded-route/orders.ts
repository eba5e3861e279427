const orders: Readonly<Record<string, readonly string[]>> = {
  ada: ['a difference engine'],
  grace: ['a nanosecond of wire'],
}

/** What the route gives to whoever may see it: the orders of the user whom the token speaks for. */
export function ordersOf(subject: string | null): readonly string[] {
  return orders[subject ?? ''] ?? []
}
