<?php
// What a product does to check its license: php check.php LICENSE_KEY HOST
// Needs PHP 8 with sodium, and intl for domains and keys that are not ASCII.
declare(strict_types=1);

const GRACE_SECONDS = 3 * 86400; // How long the product runs on, with a warning, after the stored statement has expired; 0: not at all.

if (count($argv) !== 3) {
    fwrite(STDERR, "Usage: php check.php LICENSE_KEY HOST\n");
    exit(2);
}
$server = getenv('LICENSE_SERVER') ?: 'http://127.0.0.1:3000';
$folder = getenv('LICENSE_FOLDER') ?: '.';
$outcome = check($argv[1], $argv[2], $server, $folder);
echo $outcome, "\n";
exit(str_starts_with($outcome, 'refused') ? 1 : 0);

function check(string $licenseKey, string $host, string $server, string $folder): string
{
    $stored = "$folder/license.jwt"; // What the server said last.
    $answer = ask($server, $licenseKey);
    // Shipped with the product: keys that were fetched from the server would prove nothing.
    $keys = json_decode((string) @file_get_contents("$folder/license-keys.json"), true)['keys'] ?? null;
    if ($keys === null) {
        throw new RuntimeException("$folder/license-keys.json is missing, or is not what `utility-api license jwks` prints.");
    }
    if ($answer === 'unknown') {
        $claims = verified(trim((string) @file_get_contents($stored)), $keys);
        // A key that was mistyped says nothing of the license that is stored.
        if (is_array($claims) && folded((string) ($claims['sub'] ?? '')) === folded($licenseKey)) {
            unlink($stored);
        }
        return 'refused: there is no such license';
    }
    $claims = verified($answer, $keys);
    $grace = is_array($claims) ? 0 : GRACE_SECONDS; // A server that answers has no need of it.
    if (is_array($claims)) {
        // Renamed, so that no crash leaves half a statement.
        file_put_contents("$stored.new", $answer);
        rename("$stored.new", $stored);
    } else {
        $why = $claims;
        $claims = verified(trim((string) @file_get_contents($stored)), $keys);
        // What is in the log is for you; a customer can do nothing about it.
        if ($answer !== '' && is_array($claims)) {
            error_log("License check: the stored statement holds, but the answer does not: $why.");
        }
    }
    if (is_string($claims)) {
        error_log("License check: the answer: $why; the stored statement: $claims.");
        return 'refused: no statement holds; try again when the server can be reached';
    }
    if (folded((string) ($claims['sub'] ?? '')) !== folded($licenseKey)) {
        return 'refused: the statement is for another license key';
    }
    ['status' => $status, 'domain_or_ip' => $domainOrIp, 'exp' => $expires] = $claims;
    if ($status !== 'valid' || time() >= $expires + $grace || !covers($domainOrIp, $host)) {
        return "refused: the server last said: $status, for $domainOrIp, until " . gmdate('Y-m-d H:i', $expires) . ' UTC';
    }
    if (time() < $expires) {
        return 'valid';
    }
    $outcome = 'grace: the server must be reached before ' . gmdate('Y-m-d H:i', $expires + $grace) . ' UTC';
    error_log("License check: $outcome.");
    return $outcome;
}

/** Returns a statement, 'unknown' if the service says that the license does not exist, or '' if it says nothing. */
function ask(string $server, string $licenseKey): string
{
    $context = stream_context_create(['http' => ['timeout' => 5, 'ignore_errors' => true]]);
    $stream = @fopen("$server/license/" . rawurlencode($licenseKey), 'r', false, $context);
    if ($stream === false) {
        return '';
    }
    $text = (string) stream_get_contents($stream, 65536);
    $status = (int) explode(' ', stream_get_meta_data($stream)['wrapper_data'][0])[1];
    if ($status === 200) {
        return trim($text); // A file that the command wrote ends in a line feed.
    }
    // Any other 404 may come from a proxy.
    return $status === 404 && str_contains($text, '"license_not_found"') ? 'unknown' : '';
}

/** Returns the claims of a statement that a key of ours has signed for this product, also if it has expired; otherwise why not. */
function verified(string $statement, array $keys): array|string
{
    if ($statement === '') {
        return 'none';
    }
    try {
        [$head, $body, $signature] = array_pad(explode('.', $statement), 3, '');
        $header = json_decode(decoded($head), true, 8, JSON_THROW_ON_ERROR);
        if (!is_array($header) || [$header['alg'] ?? '', $header['typ'] ?? ''] !== ['EdDSA', 'license+jwt']) {
            return 'not a license statement';
        }
        $key = array_column($keys, 'x', 'kid')[$header['kid'] ?? ''] ?? null;
        $signed = substr($statement, 0, strlen($statement) - strlen($signature) - 1);
        if ($key === null || $signed !== "$head.$body") {
            return $key === null ? 'its key is not in license-keys.json' : 'not three parts';
        }
        if (!sodium_crypto_sign_verify_detached(decoded($signature), $signed, decoded($key))) {
            return 'its signature is wrong';
        }
        $claims = json_decode(decoded($body), true, 8, JSON_THROW_ON_ERROR);
    } catch (SodiumException | JsonException) {
        return 'not a license statement';
    }
    if ($claims['iss'] !== 'https://shop.example' || !in_array('shop-plugin', (array) ($claims['aud'] ?? []), true)) {
        return 'its issuer or audience is not the one in this program';
    }
    return is_int($claims['exp'] ?? null) ? $claims : 'it never expires';
}

/** Forms of one key are equal in it: a key may be typed in lower case, with blanks or dashes, or with O for 0. */
function folded(string $licenseKey): string
{
    // Without intl, full-width symbols are not read.
    $text = class_exists('Normalizer') ? Normalizer::normalize($licenseKey, Normalizer::FORM_KC) : $licenseKey;
    $separators = '/[\t\n\r\p{Z}\p{Pd}\x{ad}\x{200b}-\x{200f}\x{2060}\x{2212}\x{feff}]/u';
    return strtr(strtoupper((string) preg_replace($separators, '', (string) $text)), 'OIL', '011');
}

function decoded(string $text): string
{
    return sodium_base642bin($text, SODIUM_BASE64_VARIANT_URLSAFE_NO_PADDING);
}

/** Tells whether a license for a host name, a wildcard or an IP address covers the host that the product runs on. */
function covers(string $licensed, string $host): bool
{
    $isWildcard = str_starts_with($licensed, '*.');
    [$own, $wanted] = [compared($host), compared($isWildcard ? substr($licensed, 2) : $licensed)];
    if ($own === '' || $wanted === '') {
        return false;
    }
    if ($isWildcard) {
        return strstr($own, '.') === ".$wanted";
    }
    // To a customer, a name with www. and the same name without are one site.
    [$short, $long] = strlen($own) < strlen($wanted) ? [$own, $wanted] : [$wanted, $own];
    return $own === $wanted || ($long === "www.$short" && str_contains($short, '.'));
}

/** Names in ASCII, in lower case and without final dot; IP addresses as their octets; no port. '' for what is no host. */
function compared(string $text): string
{
    $pattern = '/^(?|\[([^\]]*:[^\]]*)\](?::0*(\d{0,5}))?|([^:]*):0*(\d{0,5}))\z/';
    [, $host, $port] = preg_match($pattern, $text, $found) === 1 ? $found + ['', '', ''] : ['', $text, ''];
    if ((int) $port > 65535 || str_contains($host, "\0")) {
        return '';
    }
    $octets = @inet_pton($host);
    if ($octets !== false) {
        $isMapped = strlen($octets) === 16 && str_starts_with($octets, str_repeat("\0", 10) . "\xff\xff");
        return 'IP ' . bin2hex($isMapped ? substr($octets, 12) : $octets);
    }
    if (preg_match('/[^\x00-\x7f]/', $host)) {
        // Without intl, a license for such a domain has to be sold in its ASCII form.
        $flags = function_exists('idn_to_ascii') ? IDNA_NONTRANSITIONAL_TO_ASCII | IDNA_CHECK_BIDI : 0;
        $host = $flags === 0 ? '' : (string) idn_to_ascii($host, $flags, INTL_IDNA_VARIANT_UTS46);
    }
    $name = strtolower(preg_replace('/\.\z/', '', $host));
    return preg_match('/^[a-z0-9_-]+(\.[a-z0-9_-]+)*\z/', $name) === 1 ? $name : '';
}
