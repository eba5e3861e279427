import type { AdminStorage, UtilityStorage } from 'utility-api/storage'

/** The methods for provisioning. */
export type AdminMethods = Omit<AdminStorage, keyof UtilityStorage | 'listing' | 'close'>
