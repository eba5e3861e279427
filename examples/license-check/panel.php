<?php
// What a reseller's panel does when an order is paid, moved or suspended:
//   php panel.php sell ORDER NAME DOMAIN       prints the license key; the same order gets the same key
//   php panel.php move LICENSE_KEY DOMAIN
//   php panel.php suspend LICENSE_KEY          and unsuspend
// Needs PHP 8. The token comes from the environment, never from the command line, which others can read.
declare(strict_types=1);

const ATTEMPTS = 3;
const ARGUMENTS = ['sell' => 4, 'move' => 3, 'suspend' => 2, 'unsuspend' => 2];

if (count($argv) - 1 !== (ARGUMENTS[$argv[1] ?? ''] ?? null)) {
    fwrite(STDERR, "Usage: php panel.php sell ORDER NAME DOMAIN, move LICENSE_KEY DOMAIN, or suspend or unsuspend LICENSE_KEY\n");
    exit(2);
}
try {
    echo panel($argv), "\n";
} catch (RuntimeException $error) {
    fwrite(STDERR, $error->getMessage() . "\n");
    exit(1);
}

function panel(array $argv): string
{
    [, $action, $subject] = $argv;
    if ($action === 'sell') {
        $fields = ['X-Registered-To' => $argv[3], 'X-Domain-Or-IP' => $argv[4], 'X-Status' => 'valid'];
        // Whoever repeats the order, a person or this program, sells one license.
        $fields['Idempotency-Key'] = "order-$subject";
        return call('POST', '/v2/reseller/licenses/generate', $fields)['data']['license_key'];
    }
    $fields = match ($action) {
        'move' => ['X-Domain-Or-IP' => $argv[3]],
        'suspend' => ['X-Status' => 'invalid'],
        'unsuspend' => ['X-Status' => 'valid'],
    };
    return call('PUT', '/v2/reseller/' . rawurlencode($subject) . '/update', $fields)['message'];
}

/** Sends a request, again if there is no answer or the service failed, and returns what it says. */
function call(string $method, string $path, array $fields): array
{
    $server = getenv('LICENSE_SERVER') ?: 'http://127.0.0.1:3000';
    $headers = ['Authorization: Bearer ' . getenv('RESELLER_TOKEN')];
    foreach ($fields as $name => $value) {
        // UTF-8 as it is. A line feed would begin another header.
        $headers[] = "$name: " . preg_replace('/[\x00-\x1f\x7f]+/', ' ', $value);
    }
    $http = ['method' => $method, 'header' => $headers, 'timeout' => 10, 'ignore_errors' => true];
    for ($attempt = 1; ; $attempt++) {
        $stream = @fopen($server . $path, 'r', false, stream_context_create(['http' => $http]));
        $text = $stream === false ? '' : (string) stream_get_contents($stream);
        $status = $stream === false ? 0 : (int) explode(' ', stream_get_meta_data($stream)['wrapper_data'][0])[1];
        if ($status === 200) {
            return json_decode($text, true, 8, JSON_THROW_ON_ERROR);
        }
        $isRefused = $status >= 400 && $status < 500 && $status !== 408 && $status !== 429;
        if ($isRefused || $attempt === ATTEMPTS) {
            $said = json_decode($text, true)['message'] ?? 'no answer';
            throw new RuntimeException("The license service: $said ($status)");
        }
        sleep($attempt);
    }
}
