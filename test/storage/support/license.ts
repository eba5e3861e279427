import type { License } from 'utility-api/storage'

/** A license with this key, of one reseller. */
export function license(licenseKey: string): License {
  const fields = { registeredTo: 'Ada', domainOrIp: 'example.com', status: 'valid', resellerId: 'r' }
  return { licenseKey, ...fields, createdAt: 1, updatedAt: 1 }
}
