package hub

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"math/big"
	"time"

	"github.com/postroom/postroom/internal/link/natslink"
)

// makeCertificate makes the key that join lines pin. The dates matter to nobody
// who pins it; they are wide for whoever looks all the same.
func (k *keys) makeCertificate(now time.Time) error {
	pub, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return err
	}
	template := &x509.Certificate{SerialNumber: serial, Subject: pkix.Name{CommonName: "postroom hub"},
		NotBefore: now.Add(-48 * time.Hour), NotAfter: now.AddDate(10, 0, 0),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	if k.Cert, err = x509.CreateCertificate(rand.Reader, template, template, pub, key); err != nil {
		return err
	}
	k.TLS, err = x509.MarshalPKCS8PrivateKey(key)
	return err
}

// private is the hub's own key: of TLS, and of revocations.
func (k *keys) private() (ed25519.PrivateKey, error) {
	key, err := x509.ParsePKCS8PrivateKey(k.TLS)
	if err != nil {
		return nil, err
	}
	private, ok := key.(ed25519.PrivateKey)
	if !ok {
		return nil, errors.New("the hub's TLS key is no ed25519 key")
	}
	return private, nil
}

func (k *keys) pin() (string, error) {
	cert, err := x509.ParseCertificate(k.Cert)
	if err != nil {
		return "", err
	}
	return natslink.PinOf(cert), nil
}

func (k *keys) tlsConfig() (*tls.Config, error) {
	key, err := k.private()
	if err != nil {
		return nil, err
	}
	return &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{{Certificate: [][]byte{k.Cert}, PrivateKey: key}}}, nil
}
