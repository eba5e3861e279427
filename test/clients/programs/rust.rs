// Exchanges codes with the crate oauth2.
use oauth2::basic::BasicClient;
use oauth2::*;
use serde_json::{json, Value};

fn exchange(job: &Value) -> Result<String, String> {
    let text = |name: &str| job[name].as_str().unwrap_or_default().to_string();
    let url = |name: &str| job[name].as_str().unwrap_or_default().to_string();
    let client = BasicClient::new(
        ClientId::new(text("clientId")),
        Some(ClientSecret::new(text("clientSecret"))),
        AuthUrl::new(url("pageUrl")).map_err(|error| error.to_string())?,
        Some(TokenUrl::new(url("tokenUrl")).map_err(|error| error.to_string())?),
    )
    .set_auth_type(if job["auth"] == "basic" { AuthType::BasicAuth } else { AuthType::RequestBody })
    .set_redirect_uri(RedirectUrl::new(url("redirectUri")).map_err(|error| error.to_string())?);
    let mut request = client.exchange_code(AuthorizationCode::new(text("code")));
    if let Some(verifier) = job["verifier"].as_str() {
        request = request.set_pkce_verifier(PkceCodeVerifier::new(verifier.to_string()));
    }
    let token = request.request(oauth2::ureq::http_client).map_err(|error| format!("{error:?}"))?;
    Ok(token.access_token().secret().clone())
}

fn main() {
    let jobs: Vec<Value> = serde_json::from_reader(std::io::stdin()).expect("jobs");
    for job in jobs {
        let outcome = match exchange(&job) {
            Ok(token) => json!({ "id": job["id"], "token": token }),
            Err(error) => json!({ "id": job["id"], "error": error }),
        };
        println!("{outcome}");
    }
}
