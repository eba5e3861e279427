import { comparedDomain, type License, type NewLicense } from 'utility-api/storage'

/** A license with this key, of one reseller. */
export function license(licenseKey: string, fields: Partial<License> = {}): License {
  const texts = { registeredTo: 'Ada', domainOrIp: 'example.com', status: 'valid', resellerId: 'r' }
  return { licenseKey, ...texts, createdAt: 1, updatedAt: 1, reference: null, expiresAt: null, ...fields }
}

/** The same license as it is given to a store. */
export function newLicense(licenseKey: string, fields: Partial<License> = {}): NewLicense {
  return withForm(license(licenseKey, fields))
}

/** A license with the compared form of its domain. */
export function withForm(row: License): NewLicense {
  return { ...row, comparedDomain: comparedDomain(row.domainOrIp) }
}
