// The same route in Hono.
import { Hono } from 'hono'
import { bearerToken, type UtilityApi } from 'utility-api'
import { ordersOf } from './orders.ts'

export function honoApp(api: UtilityApi): Hono {
  const app = new Hono()
  app.get('/orders', async (context) => {
    const token = bearerToken(context.req.header('Authorization'))
    const { subject } = await api.verifyAccessToken(token, { scope: 'orders:read' })
    return context.json(ordersOf(subject))
  })
  return app
}
