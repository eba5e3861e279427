# Exchanges codes with the client libraries of Ruby, each used as its documentation says.
require 'json'
require 'oauth2'
require 'rack/oauth2'

# So that plain http on loopback is taken.
Rack::OAuth2.http_config { |config| config } if Rack::OAuth2.respond_to?(:http_config)

def with_oauth2(job)
  client = OAuth2::Client.new(job['clientId'], job['clientSecret'],
                              token_url: job['tokenUrl'],
                              auth_scheme: job['auth'] == 'basic' ? :basic_auth : :request_body)
  pkce = job['verifier'] ? { code_verifier: job['verifier'] } : {}
  client.auth_code.get_token(job['code'], redirect_uri: job['redirectUri'], **pkce).token
end

def with_rack_oauth2(job)
  client = Rack::OAuth2::Client.new(identifier: job['clientId'], secret: job['clientSecret'],
                                    redirect_uri: job['redirectUri'], token_endpoint: job['tokenUrl'])
  client.authorization_code = job['code']
  method = job['auth'] == 'basic' ? :basic : :post
  pkce = job['verifier'] ? { code_verifier: job['verifier'] } : {}
  client.access_token!(method, **pkce).access_token
end

JSON.parse($stdin.read).each do |job|
  outcome =
    begin
      { token: job['library'] == 'oauth2' ? with_oauth2(job) : with_rack_oauth2(job) }
    rescue StandardError => e
      { error: "#{e.class}: #{e.message}"[0, 2000] }
    end
  puts JSON.generate({ id: job['id'] }.merge(outcome))
  $stdout.flush
end
