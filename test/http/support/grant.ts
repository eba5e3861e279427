/** Where the codes of tests are sent. */
export const redirectUri = 'https://client.example/callback'

/** Who exchanges a code. */
export interface Grantee {
  readonly clientId: string
  readonly clientSecret: string
}

/** The fields of the exchange of a code. */
export function grantFields(
  { clientId: client_id, clientSecret: client_secret }: Grantee,
  code: string,
  redirect_uri: string,
): Record<'grant_type' | 'code' | 'redirect_uri' | 'client_id' | 'client_secret', string> {
  return { grant_type: 'authorization_code', code, redirect_uri, client_id, client_secret }
}
