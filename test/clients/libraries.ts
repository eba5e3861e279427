/** Where a library is told to send the secret; `detected` leaves it to the library. */
export type Authentication = 'basic' | 'body' | 'detected' | 'encoded'

/** A client library, and what it can do. */
export interface Library {
  readonly name: string
  /** The file in `programs` that uses it, without its ending. */
  readonly program: string
  /** What to install: a package of Debian, or, for JavaScript, of npm. Default: the name. */
  readonly package?: string
  /** Default: both. */
  readonly auth?: readonly Authentication[]
  /** Whether it can send a verifier. Default: true. */
  readonly pkce?: false
  /** Whether it can do without one. Default: true. */
  readonly withoutPkce?: false
}

const js = (name: string, more: Partial<Library> = {}): Library => ({ name, program: 'javascript', ...more })

export const libraries: readonly Library[] = [
  js('oauth4webapi'),
  js('openid-client'),
  js('openid-client 5', { package: 'openid-client5' }),
  js('simple-oauth2'),
  js('client-oauth2', { auth: ['basic'] }),
  js('passport-oauth2', { pkce: false }),
  js('oidc-client-ts'),
  js('google-auth-library'),
  js('@badgateway/oauth2-client'),
  js('arctic', { auth: ['basic'] }),
  js('oslo'),
  js('oauth', { auth: ['body'] }),
  js('axios-oauth-client', { auth: ['body'], pkce: false }),
  js('@modelcontextprotocol/sdk', { withoutPkce: false }),
  js('@fastify/oauth2'),
  js('@hapi/bell'),
  { name: 'authlib', program: 'python', package: 'python3-authlib' },
  { name: 'requests-oauthlib', program: 'python', package: 'python3-requests-oauthlib' },
  { name: 'oauthlib', program: 'python', package: 'python3-oauthlib', auth: ['body'] },
  { name: 'oauth2client', program: 'python', package: 'python3-oauth2client' },
  { name: 'aiohttp-oauthlib', program: 'python', package: 'python3-aiohttp-oauthlib' },
  {
    name: 'golang.org/x/oauth2',
    program: 'go',
    package: 'golang-golang-x-oauth2-dev',
    auth: ['basic', 'body', 'detected'],
  },
  { name: 'oauth2', program: 'ruby', package: 'ruby-oauth2' },
  { name: 'rack-oauth2', program: 'ruby', package: 'ruby-rack-oauth2' },
  { name: 'Net::OAuth2', program: 'perl', package: 'libnet-oauth2-perl' },
  { name: 'LWP::Authen::OAuth2', program: 'perl', package: 'liblwp-authen-oauth2-perl', auth: ['body'] },
  {
    name: 'Mojolicious::Plugin::OAuth2',
    program: 'perl',
    package: 'libmojolicious-plugin-oauth2-perl',
    auth: ['body'],
    pkce: false,
  },
  { name: 'curl of PHP', program: 'php', package: 'php-curl', auth: ['basic', 'body', 'encoded'] },
  { name: 'google-oauth-client', program: 'java', package: 'libgoogle-oauth-client-java' },
  { name: 'oauth2 (crate)', program: 'rust', package: 'librust-oauth2-dev' },
  { name: 'hoauth2', program: 'haskell', package: 'libghc-hoauth2-dev', pkce: false },
  { name: 'curl', program: 'shell', package: 'curl' },
]
