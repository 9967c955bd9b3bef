package link

// Forge makes an envelope with whatever header and keys, as a hostile station can.
func Forge(k Keys, h Header, body []byte) ([]byte, error) { return k.seal(h, body, "") }
