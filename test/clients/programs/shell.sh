# Exchanges codes with curl, as documentation shows it. jq reads the jobs.
set -eu
jq -c '.[]' | while read -r job; do
  field() { printf '%s' "$job" | jq -rj ".$1 // \"\""; }
  set -- --data grant_type=authorization_code --data-urlencode "code=$(field code)" \
    --data-urlencode "redirect_uri=$(field redirectUri)"
  if [ "$(field auth)" = basic ]; then
    set -- "$@" --user "$(field clientId):$(field clientSecret)"
  else
    set -- "$@" --data-urlencode "client_id=$(field clientId)" --data-urlencode "client_secret=$(field clientSecret)"
  fi
  if [ -n "$(field verifier)" ]; then set -- "$@" --data-urlencode "code_verifier=$(field verifier)"; fi
  curl --silent "$(field tokenUrl)" "$@" | jq -c --arg id "$(field id)" '{ id: $id, token: .access_token, error: .error }'
done
