"""What a product does to check its license: python3 check.py LICENSE_KEY HOST

Needs PyJWT, cryptography and idna: pip install 'pyjwt[crypto]' idna
"""
import ipaddress
import json
import logging
import os
import re
import sys
import time
import unicodedata
import urllib.error
import urllib.parse
import urllib.request

import idna
import jwt

SERVER = os.environ.get("LICENSE_SERVER", "http://127.0.0.1:3000")
FOLDER = os.environ.get("LICENSE_FOLDER", ".")
STORED = os.path.join(FOLDER, "license.jwt")  # What the server said last.
GRACE_SECONDS = 3 * 86400  # How long the product runs on, with a warning, after the stored statement has expired; 0: not at all.
log = logging.getLogger(__name__)


def check(license_key, host):
    answer = ask(license_key)
    # Shipped with the product: keys that were fetched from the server would prove nothing.
    with open(os.path.join(FOLDER, "license-keys.json")) as file:
        keys = {key["kid"]: jwt.PyJWK(key).key for key in json.load(file)["keys"]}
    if answer == "unknown":
        claims = verified(stored(), keys)
        # A key that was mistyped says nothing of the license that is stored.
        if isinstance(claims, dict) and folded(str(claims.get("sub"))) == folded(license_key):
            os.remove(STORED)
        return "refused: there is no such license"
    claims = verified(answer, keys)
    grace = 0 if isinstance(claims, dict) else GRACE_SECONDS  # A server that answers has no need of it.
    if isinstance(claims, dict):
        store(answer)
    else:
        why = claims
        claims = verified(stored(), keys)
        # What is in the log is for you; a customer can do nothing about it.
        if isinstance(claims, str):
            log.warning("License check: the answer: %s; the stored statement: %s.", why, claims)
            return "refused: no statement holds; try again when the server can be reached"
        if answer != "":
            log.warning("License check: the stored statement holds, but the answer does not: %s.", why)
    if folded(str(claims.get("sub"))) != folded(license_key):
        return "refused: the statement is for another license key"
    status, domain_or_ip, expires = claims["status"], claims["domain_or_ip"], claims["exp"]
    if status != "valid" or time.time() >= expires + grace or not covers(domain_or_ip, host):
        return f"refused: the server last said: {status}, for {domain_or_ip}, until {utc(expires)}"
    if time.time() < expires:
        return "valid"
    log.warning("License check: grace: the server must be reached before %s.", utc(expires + grace))
    return f"grace: the server must be reached before {utc(expires + grace)}"


def utc(seconds):
    return time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(seconds))


def ask(license_key):
    """Returns a statement, "unknown" if the service says that the license does not exist, or "" if it says nothing."""
    url = f"{SERVER}/license/{urllib.parse.quote(license_key, safe='')}"
    try:
        with urllib.request.urlopen(url, timeout=5) as response:
            # A file that the command wrote ends in a line feed.
            return response.read(65536).decode("ascii", "replace").strip()
    except urllib.error.HTTPError as error:
        # Any other 404 may come from a proxy.
        is_ours = error.code == 404 and b'"license_not_found"' in error.read(65536)
        return "unknown" if is_ours else ""
    except OSError:
        return ""


def verified(statement, keys):
    """Returns the claims of a statement that a key of ours has signed for this product, also if it has expired; otherwise why not."""
    if statement == "":
        return "none"
    try:
        header = jwt.get_unverified_header(statement)
        if header.get("typ") != "license+jwt":
            return "not a license statement"
        if header.get("kid") not in keys:
            return "its key is not in license-keys.json"
        return jwt.decode(
            statement,
            keys[header["kid"]],
            algorithms=["EdDSA"],
            issuer="https://shop.example",
            audience="shop-plugin",
            options={"require": ["exp"], "verify_exp": False, "verify_iat": False},
        )
    except jwt.PyJWTError as error:
        return str(error)


def stored():
    try:
        with open(STORED) as file:
            return file.read().strip()
    except OSError:
        return ""


def folded(license_key):
    """Forms of one key are equal in it: a key may be typed in lower case, with blanks or dashes, or with O for 0."""
    separators = "\t\n\r\u00ad\u200b\u200c\u200d\u200e\u200f\u2060\u2212\ufeff"
    symbols = "".join(
        each
        for each in unicodedata.normalize("NFKC", license_key)
        if each not in separators and unicodedata.category(each) not in ("Zs", "Zl", "Zp", "Pd")
    )
    # In ASCII alone: other letters, such as a dotless i, become ASCII letters in upper case.
    upper = re.sub("[a-z]+", lambda found: found[0].upper(), symbols)
    return upper.translate(str.maketrans("OIL", "011"))


def store(statement):
    # Renamed, so that no crash leaves half a statement.
    with open(STORED + ".new", "w") as file:
        file.write(statement)
    os.replace(STORED + ".new", STORED)


def covers(licensed, host):
    """Tells whether a license for a name, a wildcard or an IP address covers the host that the product runs on."""
    is_wildcard = licensed.startswith("*.")
    own, wanted = compared(host), compared(licensed[2:] if is_wildcard else licensed)
    if not own or not wanted:
        return False
    if is_wildcard:
        return own.partition(".")[2] == wanted
    # To a customer, a name with www. and the same name without are one site.
    short, long = sorted((own, wanted), key=len)
    return own == wanted or (long == "www." + short and "." in short)


def compared(text):
    """Names in ASCII, in lower case and without final dot; IP addresses as their octets; no port. "" for what is no host."""
    found = re.fullmatch(r"\[([^\]]*:[^\]]*)\](?::0*([0-9]{0,5}))?|([^:]*):0*([0-9]{0,5})", text)
    host, port = (found[1] or found[3], found[2] or found[4]) if found else (text, None)
    if int(port or 0) > 65535:
        return ""
    try:
        address = ipaddress.ip_address(host)
        # An address with a zone is of one machine.
        return "" if "%" in host else "IP " + (getattr(address, "ipv4_mapped", None) or address).packed.hex()
    except ValueError:
        pass
    try:
        labels = re.sub(r"\.\Z", "", idna.uts46_remap(host, std3_rules=False)).split(".")
        name = ".".join(each if each.isascii() else idna.alabel(each).decode() for each in labels)
    except idna.IDNAError:
        return ""
    return name if re.fullmatch(r"[a-z0-9_-]+(\.[a-z0-9_-]+)*", name) else ""


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("Usage: python3 check.py LICENSE_KEY HOST")
    outcome = check(sys.argv[1], sys.argv[2])
    print(outcome)
    sys.exit(outcome.startswith("refused"))
