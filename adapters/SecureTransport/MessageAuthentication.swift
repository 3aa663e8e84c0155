import COpenSSL

/// Authenticates messages with a key that both sides know.
package enum MessageAuthentication {
    /// Returns the HMAC of a message with SHA-256 (RFC 2104), 32 bytes, or `nil` if the system has no memory for it.
    package static func sha256(of message: [UInt8], key: [UInt8]) -> [UInt8]? {
        var code = [UInt8](repeating: 0, count: 32)
        var length: UInt32 = 0
        guard HMAC(EVP_sha256(), key, Int32(clamping: key.count), message, message.count, &code, &length) != nil,
            length == code.count
        else { return nil }
        return code
    }

    /// Returns whether two codes are equal. How long this takes depends only on their length.
    package static func areEqual(_ code: [UInt8], _ other: [UInt8]) -> Bool {
        code.count == other.count && CRYPTO_memcmp(code, other, code.count) == 0
    }
}
