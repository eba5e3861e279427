# Exchanges codes with the client libraries of Perl, each used as its documentation says.
use strict;
use warnings;
use JSON::PP;

sub net_oauth2 {
    my ($job) = @_;
    require Net::OAuth2::Profile::WebServer;
    my $profile = Net::OAuth2::Profile::WebServer->new(
        client_id            => $job->{clientId},
        client_secret        => $job->{clientSecret},
        site                 => $job->{pageUrl},
        access_token_url     => $job->{tokenUrl},
        redirect_uri         => $job->{redirectUri},
        secrets_in_params    => $job->{auth} eq 'body' ? 1 : 0,
    );
    my @pkce = $job->{verifier} ? (code_verifier => $job->{verifier}) : ();
    return $profile->get_access_token($job->{code}, redirect_uri => $job->{redirectUri}, @pkce)->access_token;
}

sub lwp_authen_oauth2 {
    my ($job) = @_;
    require LWP::Authen::OAuth2;
    my $client = LWP::Authen::OAuth2->new(
        client_id              => $job->{clientId},
        client_secret          => $job->{clientSecret},
        authorization_endpoint => $job->{pageUrl},
        token_endpoint         => $job->{tokenUrl},
        redirect_uri           => $job->{redirectUri},
        request_optional_params => ['redirect_uri', 'code_verifier'],
    );
    my @pkce = $job->{verifier} ? (code_verifier => $job->{verifier}) : ();
    $client->request_tokens(code => $job->{code}, redirect_uri => $job->{redirectUri}, @pkce);
    return decode_json($client->token_string)->{access_token};
}

sub mojolicious {
    my ($job) = @_;
    require Mojolicious;
    my $app = Mojolicious->new;
    $app->log->level('fatal');
    $app->plugin(OAuth2 => { tried => {
        key           => $job->{clientId},
        secret        => $job->{clientSecret},
        authorize_url => $job->{pageUrl},
        token_url     => $job->{tokenUrl},
    } });
    my $c = $app->build_controller;
    $c->req->param(code => $job->{code});
    my ($token, $error);
    $c->oauth2->get_token_p('tried', { redirect_uri => $job->{redirectUri} })
      ->then(sub { $token = shift->{access_token} }, sub { $error = shift })->wait;
    die $error if defined $error;
    return $token;
}

my %clients = (
    'Net::OAuth2' => \&net_oauth2,
    'LWP::Authen::OAuth2' => \&lwp_authen_oauth2,
    'Mojolicious::Plugin::OAuth2' => \&mojolicious,
);
$| = 1;
for my $job (@{ decode_json(do { local $/; <STDIN> }) }) {
    my $token = eval { $clients{ $job->{library} }->($job) };
    my $outcome = defined $token ? { token => "$token" } : { error => substr("$@", 0, 2000) };
    print encode_json({ id => $job->{id}, %$outcome }), "\n";
}
