package metrics

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/bcrypt"

	"gorun/internal/tests"
)

// certificate writes a self-signed one for 127.0.0.1 into dir, and returns a client's pool that trusts it.
func certificate(t *testing.T, dir string) *x509.CertPool {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	require.NoError(t, err)
	private, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	for name, block := range map[string]*pem.Block{
		"cert.pem": {Type: "CERTIFICATE", Bytes: cert}, "key.pem": {Type: "PRIVATE KEY", Bytes: private},
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(block), 0o600))
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert}))
	return pool
}

func writeWebConfig(t *testing.T, dir, text string) string {
	t.Helper()
	path := filepath.Join(dir, "web.yml")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

const tlsConfig = "tls_server_config:\n  cert_file: cert.pem\n  key_file: key.pem\n"

func TestWebConfig(t *testing.T) {
	dir := t.TempDir()
	pool := certificate(t, dir)
	hash, err := bcrypt.GenerateFromPassword([]byte("secret"), bcrypt.MinCost)
	require.NoError(t, err)
	users := fmt.Sprintf("basic_auth_users:\n  me: %s\n", hash)
	for _, c := range []struct{ name, text, scheme string }{
		{"nothing is asked for", "{}", "http"},
		{"users", users, "http"},
		{"TLS", tlsConfig, "https"},
		{"both", tlsConfig + users, "https"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := NewExporter(fixedLive, fixedInfo).serve("127.0.0.1:0", writeWebConfig(t, dir, c.text), endless)
			require.NoError(t, err)
			defer func() { require.NoError(t, s.Close()) }()
			assert.Equal(t, c.scheme+"://"+s.Addr()+"/metrics", s.URL())
			transport := &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{RootCAs: pool}}
			client := http.Client{Transport: transport, Timeout: tests.Hang}
			ask := func(password string) int {
				request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL(), nil)
				require.NoError(t, err)
				request.SetBasicAuth("me", password)
				response, err := client.Do(request)
				require.NoError(t, err)
				require.NoError(t, response.Body.Close())
				return response.StatusCode
			}
			assert.Equal(t, http.StatusOK, ask("secret"))
			if c.text == users || c.text == tlsConfig+users {
				assert.Equal(t, http.StatusUnauthorized, ask("guess"))
			}
			if c.scheme == "https" {
				response, err := http.Get("http://" + s.Addr() + "/metrics")
				require.NoError(t, err)
				require.NoError(t, response.Body.Close())
				assert.Equal(t, http.StatusBadRequest, response.StatusCode, "not in the clear")
				http.DefaultClient.CloseIdleConnections()
			}
		})
	}
}

func TestWebConfigThatIsWrong(t *testing.T) {
	dir := t.TempDir()
	certificate(t, dir)
	for name, text := range map[string]string{
		"an unknown word":            "tls:\n  cert: x\nuser: y\n",
		"no YAML":                    "\t:",
		"half of TLS":                "tls_server_config:\n  cert_file: cert.pem\n",
		"a certificate is missing":   "tls_server_config:\n  cert_file: none.pem\n  key_file: key.pem\n",
		"the key is no key":          "tls_server_config:\n  cert_file: cert.pem\n  key_file: cert.pem\n",
		"a password that is no hash": "basic_auth_users:\n  me: secret\n",
		"a header of its own":        "http_server_config:\n  headers:\n    X-Mine: 1\n",
	} {
		t.Run(name, func(t *testing.T) {
			_, err := NewExporter(fixedLive, fixedInfo).Serve("127.0.0.1:0", writeWebConfig(t, dir, text))
			require.ErrorIs(t, err, ErrWebConfig)
			assert.NotContains(t, err.Error(), "\n")
			assert.NotContains(t, err.Error(), "secret")
			assert.NotEmpty(t, hintOf(t, err))
		})
	}
	_, err := NewExporter(fixedLive, fixedInfo).Serve("127.0.0.1:0", filepath.Join(dir, "none.yml"))
	require.ErrorIs(t, err, ErrWebConfig)
}
