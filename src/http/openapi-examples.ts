import type { OperationId } from '../operations/operation.ts'

/**
 * A value for the fields of a request, by their wire names.
 *
 * None for `Idempotency-Key`: pages that let a reader try an operation fill examples in, and the second try would then
 * get the licence of the first.
 */
export const requestExamples: Readonly<Record<string, string>> = {
  grant_type: 'authorization_code',
  code: 'uapi_ac_6mYc0Y0kQvK9cJ3c7iTzqLrJm2w8sVd1aXbN5eHfPgUo4Rt1',
  redirect_uri: 'https://shop.example/callback',
  client_id: '74a41a51-0874-48e8-a2ca-9bde6ae898f8',
  client_secret: 'uapi_cs_2nZd1Z1lRwL0dK4d8jUarMsKn3x9tWe2bYcO6fIgQhVp5Su2',
  code_verifier: 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk',
  license_key: 'LIC-7K3QF-0M9XR-2CDTW-VH5BN-8ZJ4E',
  'X-Registered-To': 'Ada Lovelace',
  'X-Domain-Or-IP': 'shop.example',
  'X-Status': 'valid',
  'X-Domain': 'example.com',
  'X-Record-Type': 'A',
  'X-Address': 'play.example.com',
  'X-Port': '25565',
}

/** A successful answer of each operation. */
export const answerExamples: Readonly<Record<OperationId, unknown>> = {
  exchangeToken: {
    access_token: 'uapi_at_3oAe2A2mSxM1eL5e9kVbsNtLo4y0uXf3cZdP7gJhRiWq6Tv3',
    token_type: 'Bearer',
    expires_in: 3600,
    scope: 'dns:check',
  },
  updateLicense: { message: 'License updated.' },
  generateLicense: {
    message: 'License generated.',
    data: {
      registered_to: 'Ada Lovelace',
      domain_or_ip: 'shop.example',
      license_key: 'LIC-7K3QF-0M9XR-2CDTW-VH5BN-8ZJ4E',
      status: 'valid',
    },
  },
  checkDns: [
    {
      location: 'Amsterdam, NL',
      ip: '192.0.2.53',
      provider: 'Example DNS',
      dns_results: [{ type: 'A', host: 'example.com', ttl: 300, ip: '203.0.113.20' }],
      resolved: true,
      status: 'NOERROR',
      latency_ms: 12,
      transport: 'udp',
    },
    {
      location: 'Toronto, CA',
      ip: '198.51.100.53',
      provider: 'Example DNS',
      dns_results: [],
      resolved: false,
      status: 'TIMEOUT',
      latency_ms: 5000,
      transport: 'udp',
    },
  ],
  lookUpGameServer: {
    ip: '203.0.113.25',
    port: '25566',
    players: { online: 12, max: 100 },
    version: { name: '1.21.4', protocol: 769 },
    ping: '23ms',
    srvRecord: { host: 'mc.example.com', port: 25566 },
  },
}
