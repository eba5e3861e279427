// What a product does to check its license: go run check.go LICENSE_KEY HOST
//
// Needs golang.org/x/net and golang.org/x/text: go mod init license-check && go mod tidy
package main

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"

	"golang.org/x/net/idna"
	"golang.org/x/text/unicode/norm"
)

// How long the product runs on, with a warning, after the stored statement has expired; 0: not at all.
const grace = 3 * 24 * time.Hour

type claims struct {
	LicenseKey string `json:"sub"`
	Issuer     string `json:"iss"`
	Audience   string `json:"aud"`
	Expires    int64  `json:"exp"`
	Status     string `json:"status"`
	DomainOrIP string `json:"domain_or_ip"`
}

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "Usage: go run check.go LICENSE_KEY HOST")
		os.Exit(2)
	}
	outcome := check(os.Args[1], os.Args[2])
	fmt.Println(outcome)
	if strings.HasPrefix(outcome, "refused") {
		os.Exit(1)
	}
}

func check(licenseKey, host string) string {
	folder := os.Getenv("LICENSE_FOLDER")
	stored := filepath.Join(folder, "license.jwt") // What the server said last.
	answer := ask(licenseKey)
	keys := shippedKeys(filepath.Join(folder, "license-keys.json"))
	if answer == "unknown" {
		before, _ := os.ReadFile(stored)
		said, _ := verified(strings.TrimSpace(string(before)), keys)
		// A key that was mistyped says nothing of the license that is stored.
		if said != nil && folded(said.LicenseKey) == folded(licenseKey) {
			os.Remove(stored)
		}
		return "refused: there is no such license"
	}
	said, why := verified(answer, keys)
	tolerated := grace
	if said != nil {
		tolerated = 0 // A server that answers has no need of grace.
		// Renamed, so that no crash leaves half a statement.
		if os.WriteFile(stored+".new", []byte(answer), 0o600) == nil {
			os.Rename(stored+".new", stored)
		}
	} else {
		before, _ := os.ReadFile(stored)
		var whyNot string
		said, whyNot = verified(strings.TrimSpace(string(before)), keys)
		// What is in the log is for you; a customer can do nothing about it.
		if said == nil {
			log.Printf("License check: the answer: %s; the stored statement: %s.", why, whyNot)
			return "refused: no statement holds; try again when the server can be reached"
		}
		if answer != "" {
			log.Printf("License check: the stored statement holds, but the answer does not: %s.", why)
		}
	}
	if folded(said.LicenseKey) != folded(licenseKey) {
		return "refused: the statement is for another license key"
	}
	expires := time.Unix(said.Expires, 0)
	end := expires.Add(tolerated)
	const layout = "2006-01-02 15:04 UTC"
	if said.Status != "valid" || !time.Now().Before(end) || !covers(said.DomainOrIP, host) {
		return fmt.Sprintf("refused: the server last said: %s, for %s, until %s", said.Status, said.DomainOrIP, expires.UTC().Format(layout))
	}
	if time.Now().Before(expires) {
		return "valid"
	}
	outcome := "grace: the server must be reached before " + end.UTC().Format(layout)
	log.Printf("License check: %s.", outcome)
	return outcome
}

// ask returns a statement, "unknown" if the service says that the license does not exist, or "" if it says nothing.
func ask(licenseKey string) string {
	client := http.Client{Timeout: 5 * time.Second}
	response, err := client.Get(os.Getenv("LICENSE_SERVER") + "/license/" + url.PathEscape(licenseKey))
	if err != nil {
		return ""
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, 65536))
	if err == nil && response.StatusCode == 200 {
		// A file that the command wrote ends in a line feed.
		return strings.TrimSpace(string(text))
	}
	// Any other 404 may come from a proxy.
	if response.StatusCode == 404 && strings.Contains(string(text), `"license_not_found"`) {
		return "unknown"
	}
	return ""
}

// shippedKeys reads what is shipped with the product: keys that were fetched from the server would prove nothing.
func shippedKeys(file string) map[string]ed25519.PublicKey {
	var set struct{ Keys []struct{ Kid, X string } }
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, &set)
	}
	if err != nil {
		panic(err)
	}
	keys := map[string]ed25519.PublicKey{}
	for _, each := range set.Keys {
		if key, err := base64.RawURLEncoding.DecodeString(each.X); err == nil && len(key) == ed25519.PublicKeySize {
			keys[each.Kid] = key
		}
	}
	return keys
}

// verified returns the claims of a statement that a key of ours has signed for this product, also if it has expired; otherwise nil and why not.
func verified(statement string, keys map[string]ed25519.PublicKey) (*claims, string) {
	if statement == "" {
		return nil, "none"
	}
	parts := strings.Split(statement, ".")
	if len(parts) != 3 {
		return nil, "not three parts"
	}
	var header struct{ Alg, Typ, Kid string }
	if !decoded(parts[0], &header) || header.Alg != "EdDSA" || header.Typ != "license+jwt" {
		return nil, "not a license statement"
	}
	key, known := keys[header.Kid]
	if !known {
		return nil, "its key is not in license-keys.json"
	}
	signature, err := base64.RawURLEncoding.DecodeString(parts[2])
	if err != nil || !ed25519.Verify(key, []byte(parts[0]+"."+parts[1]), signature) {
		return nil, "its signature is wrong"
	}
	var said claims
	if !decoded(parts[1], &said) || said.Issuer != "https://shop.example" || said.Audience != "shop-plugin" {
		return nil, "its issuer or audience is not the one in this program"
	}
	return &said, ""
}

// folded makes forms of one key equal: a key may be typed in lower case, with blanks or dashes, or with O for 0.
func folded(licenseKey string) string {
	const separators = "\t\n\r\u00ad\u200b\u200c\u200d\u200e\u200f\u2060\u2212\ufeff"
	symbols := strings.Map(func(symbol rune) rune {
		switch {
		case unicode.In(symbol, unicode.Z, unicode.Pd) || strings.ContainsRune(separators, symbol):
			return -1
		// In ASCII alone: other letters, such as a dotless i, become ASCII letters in upper case.
		case 'a' <= symbol && symbol <= 'z':
			return symbol - 'a' + 'A'
		}
		return symbol
	}, norm.NFKC.String(licenseKey))
	return strings.NewReplacer("O", "0", "I", "1", "L", "1").Replace(symbols)
}

func decoded(part string, into any) bool {
	text, err := base64.RawURLEncoding.DecodeString(part)
	return err == nil && json.Unmarshal(text, into) == nil
}

// covers tells whether a license for a name, a wildcard or an IP address covers the host that the product runs on.
func covers(licensed, host string) bool {
	name := strings.TrimPrefix(licensed, "*.")
	own, wanted := compared(host), compared(name)
	if own == "" || wanted == "" {
		return false
	}
	if name != licensed {
		_, rest, _ := strings.Cut(own, ".")
		return rest == wanted
	}
	// To a customer, a name with www. and the same name without are one site.
	short, long := own, wanted
	if len(short) > len(long) {
		short, long = long, short
	}
	return short == long || long == "www."+short && strings.Contains(short, ".")
}

var (
	hostAndPort = regexp.MustCompile(`^(?:\[([^\]]*:[^\]]*)\](?::0*([0-9]{0,5}))?|([^:]*):0*([0-9]{0,5}))$`)
	hostName    = regexp.MustCompile(`^[a-z0-9_-]+(\.[a-z0-9_-]+)*$`)
	// Underscores are allowed, as in licenses.
	toASCII = idna.New(idna.MapForLookup(), idna.Transitional(false), idna.StrictDomainName(false))
)

// compared returns names in ASCII, in lower case and without final dot, and IP addresses as their octets; without port.
// It returns "" for what is no host.
func compared(text string) string {
	host, port := text, 0
	if found := hostAndPort.FindStringSubmatch(text); found != nil {
		host = found[1] + found[3]
		port, _ = strconv.Atoi(found[2] + found[4])
	}
	if port > 65535 {
		return ""
	}
	if ip := net.ParseIP(host); ip != nil {
		return fmt.Sprintf("IP %x", []byte(ip.To16()))
	}
	ascii, err := toASCII.ToASCII(host)
	name := strings.TrimSuffix(ascii, ".")
	if err != nil || !hostName.MatchString(name) {
		return ""
	}
	return name
}
