// Prometheus metrics from `onRequestEnd`.
import { Histogram, type Registry } from 'prom-client'
import type { RequestEndEvent } from 'utility-api'

export function countRequests(registry: Registry): (event: RequestEndEvent) => void {
  const duration = new Histogram({
    name: 'utility_api_request_duration_seconds',
    help: 'Duration of requests by operation, status and error code.',
    labelNames: ['operation', 'status', 'error'],
    registers: [registry],
  })
  return ({ operation = 'none', status, errorCode = '', durationMs }) =>
    duration.observe({ operation, status, error: errorCode }, durationMs / 1000)
}
