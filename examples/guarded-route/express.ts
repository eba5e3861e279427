// An Express application whose route is open to access tokens with the scope `orders:read`.
import express, { type Express } from 'express'
import { bearerToken, type UtilityApi } from 'utility-api'
import { ordersOf } from './orders.ts'

export function expressApp(api: UtilityApi): Express {
  const app = express()
  // oxlint-disable-next-line no-async-endpoint-handlers -- Express 5 answers what the handler rejects with
  app.get('/orders', async (request, response) => {
    const token = bearerToken(request.headers.authorization)
    const { subject } = await api.verifyAccessToken(token, { scope: 'orders:read' })
    response.json(ordersOf(subject))
  })
  return app
}
