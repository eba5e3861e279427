// Prometheus metrics from `onRequestEnd`.
import { Histogram, type Registry } from 'prom-client'
import type { RequestEndEvent } from 'utility-api'

export function countRequests(registry: Registry): (event: RequestEndEvent) => void {
  const duration = new Histogram({
    name: 'utility_api_request_duration_seconds',
    help: 'Duration of requests by operation, status, error code and reason.',
    labelNames: ['operation', 'status', 'error', 'reason'],
    registers: [registry],
  })
  return ({ operation = 'none', status, errorCode: error = '', reason = '', durationMs }) =>
    duration.observe({ operation, status, error, reason }, durationMs / 1000)
}
