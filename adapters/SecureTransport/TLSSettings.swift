package import SignalboxCore

/// How a client uses TLS, which is version 1.2 or later.
package struct TLSSettings: Sendable, Hashable {
    /// How both sides prove who they are.
    package enum Authentication: Sendable, Hashable {
        /// With certificates. The client's own is needed only if the server requests one.
        case certificates(Trust, identity: Identity? = nil)
        /// With a key that both sides know. It is read again for each context, as hexadecimal digits.
        case preSharedKey(identity: String, key: Secret, allowsShort: Bool = false)
    }

    /// Which server certificates the client trusts.
    package enum Trust: Sendable, Hashable {
        /// Those of the system's authorities, for the server's host.
        case system
        /// Those of the authorities in this PEM file, for the server's host.
        case authority(file: String)
        /// All certificates, for any host.
        case insecure
    }

    /// A client certificate with its chain, and its private key, as PEM files.
    package struct Identity: Sendable, Hashable {
        package var certificateFile: String
        package var keyFile: String

        package init(certificateFile: String, keyFile: String) {
            self.certificateFile = certificateFile
            self.keyFile = keyFile
        }
    }

    package var authentication: Authentication
    /// The application protocols to offer (RFC 7301), in order of preference. Each has 1 to 255 bytes.
    package var protocols: [String]

    package init(_ authentication: Authentication, protocols: [String] = []) {
        self.authentication = authentication
        self.protocols = protocols
    }

    /// The protocols as the extension lists them, each after a byte with its length (RFC 7301, 3.1). A protocol whose
    /// length does not fit is left out.
    var protocolList: [UInt8] {
        protocols.filter { (1...255).contains($0.utf8.count) }.flatMap {
            [UInt8(truncatingIfNeeded: $0.utf8.count)] + $0.utf8
        }
    }
}

/// Decodes pre-shared keys from hexadecimal notation.
package enum PreSharedKey {
    /// The maximum length of a key in bytes, as accepted by OpenSSL.
    package static let maximumLength = 256
    /// The minimum length in bytes of a key that cannot be guessed (RFC 9257, 6).
    package static let minimumLength = 16

    /// Decodes a key.
    ///
    /// - Returns: `nil` unless the text is an even number of hexadecimal digits, from 2 to 512.
    package static func bytes(of text: String) -> [UInt8]? {
        // Each byte is read as a Latin-1 character. Only ASCII characters are digits in Latin-1.
        let digits = text.utf8.compactMap { Character(Unicode.Scalar($0)).hexDigitValue }
        guard digits.count == text.utf8.count, (2...2 * maximumLength).contains(digits.count),
            digits.count.isMultiple(of: 2)
        else { return nil }
        return stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
    }
}
