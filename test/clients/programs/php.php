<?php
// Exchanges codes with PHP's curl, as the common PHP client libraries do underneath.
foreach (json_decode(stream_get_contents(STDIN), true) as $job) {
    $fields = [
        'grant_type' => 'authorization_code',
        'code' => $job['code'],
        'redirect_uri' => $job['redirectUri'],
    ];
    if ($job['verifier'] !== null) {
        $fields['code_verifier'] = $job['verifier'];
    }
    $curl = curl_init($job['tokenUrl']);
    if ($job['auth'] === 'basic') {
        curl_setopt($curl, CURLOPT_USERPWD, $job['clientId'] . ':' . $job['clientSecret']);
    } elseif ($job['auth'] === 'encoded') {
        curl_setopt($curl, CURLOPT_USERPWD, urlencode($job['clientId']) . ':' . urlencode($job['clientSecret']));
    } else {
        $fields += ['client_id' => $job['clientId'], 'client_secret' => $job['clientSecret']];
    }
    curl_setopt_array($curl, [CURLOPT_POSTFIELDS => http_build_query($fields), CURLOPT_RETURNTRANSFER => true]);
    $answer = curl_exec($curl);
    $body = json_decode((string) $answer, true);
    $outcome = isset($body['access_token']) ? ['token' => $body['access_token']] : ['error' => $answer ?: curl_error($curl)];
    echo json_encode(['id' => $job['id']] + $outcome), "\n";
}
