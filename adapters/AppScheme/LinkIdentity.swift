import AdapterSupport
import SignalboxCore
import SignalboxRoutes

/// Identifies a one-time link by everything that its route reads, in a canonical form.
///
/// The identity covers the scheme, host and port, the decoded path segments, and the values of captures and members.
/// The identity ignores the fragment, unlisted query items, the order of query items, the letter case of a literal
/// host, and a trailing slash.
struct LinkIdentity {
    private var bytes: [UInt8] = []

    /// A list of which only one value can be read is another link than the value alone.
    ///
    /// - Parameter members: The captures and query items, with unique names, that form the action and the body.
    init(_ url: URLText, members: [RouteNaming.Capture]) {
        add(url.scheme)
        add(url.decodedHost.map { [$0.lowercased()] } ?? [])
        add(url.port.map { ["\($0)"] } ?? [])
        add(url.hasOpaquePath ? "opaque" : "")
        let segments = url.segments
        add(segments.last == "" ? segments.dropLast() : segments)
        let sorted = members.sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
        add(sorted.flatMap { item in ([item.value] + item.moreValues).flatMap { [item.name, $0] } })
        let cut = sorted.filter { $0.isList && $0.moreValues.isEmpty }
        if !cut.isEmpty { add(cut.map(\.name)) }
    }

    var id: ActionID {
        ActionID(unchecked: Bytes("link-\(LinkDigest.digest(bytes).hexadecimal)"))
    }

    private mutating func add(_ texts: [String]) {
        add("\(texts.count)")
        for text in texts { add(text) }
    }

    /// Adds a text, preceded by its length so that different lists of texts always produce different bytes.
    private mutating func add(_ text: String) {
        bytes += Array("\(text.utf8.count):".utf8)
        bytes += Array(text.utf8)
    }
}

/// An implementation of SHA-256 (FIPS 180-4), so that link ids do not require an additional package.
///
/// A one-time link cannot serve as its own id, because ids are logged and stored, whereas the link is a secret and may
/// be longer than the 128 bytes allowed for an id. The digest identifies the link without revealing it, provided that
/// the secret in the link is long and random. A short code is not protected, because an attacker can try all codes.
package enum LinkDigest {
    /// Returns the digest of a text, encoded as UTF-8, as 64 lowercase hexadecimal digits.
    package static func hexadecimal(_ text: String) -> String {
        digest(Array(text.utf8)).hexadecimal
    }

    /// Returns the 32-byte digest of a message. The message must be shorter than 2^61 bytes.
    package static func digest(_ message: [UInt8]) -> [UInt8] {
        let padded = padded(message)
        var hash = initialHash
        for block in stride(from: 0, to: padded.count, by: 64) {
            add(schedule(of: padded[block..<block + 64]), to: &hash)
        }
        return hash.flatMap(bigEndian)
    }

    /// Returns the message followed by a one bit, zeros up to 8 bytes before the end of a block, and the message's
    /// length in bits (section 5.1.1).
    private static func padded(_ message: [UInt8]) -> [UInt8] {
        let zeros = (119 - message.count % 64) % 64
        return message + [0x80] + repeatElement(0, count: zeros) + bigEndian(UInt64(message.count) * 8)
    }

    /// Returns the message schedule of a block (section 6.2.2, step 1).
    private static func schedule(of block: ArraySlice<UInt8>) -> [UInt32] {
        var words = stride(from: block.startIndex, to: block.endIndex, by: 4).map { offset in
            block[offset..<offset + 4].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        }
        for index in 16..<64 {
            let (late, early) = (words[index - 2], words[index - 15])
            let sigma1 = rotated(late, 17) ^ rotated(late, 19) ^ late >> 10
            let sigma0 = rotated(early, 7) ^ rotated(early, 18) ^ early >> 3
            words.append(sigma1 &+ words[index - 7] &+ sigma0 &+ words[index - 16])
        }
        return words
    }

    /// Adds the words of a block to the hash (section 6.2.2, steps 2 to 4). The variable names are those used in the
    /// standard.
    private static func add(_ words: [UInt32], to hash: inout [UInt32]) {
        var (a, b, c, d) = (hash[0], hash[1], hash[2], hash[3])
        var (e, f, g, h) = (hash[4], hash[5], hash[6], hash[7])
        for index in 0..<64 {
            let choice = (e & f) ^ (~e & g)
            let majority = (a & b) ^ (a & c) ^ (b & c)
            let sum1 = rotated(e, 6) ^ rotated(e, 11) ^ rotated(e, 25)
            let sum0 = rotated(a, 2) ^ rotated(a, 13) ^ rotated(a, 22)
            let first = h &+ sum1 &+ choice &+ constants[index] &+ words[index]
            (h, g, f, e) = (g, f, e, d &+ first)
            (d, c, b, a) = (c, b, a, first &+ sum0 &+ majority)
        }
        for (index, word) in [a, b, c, d, e, f, g, h].enumerated() { hash[index] &+= word }
    }

    private static func rotated(_ word: UInt32, _ count: UInt32) -> UInt32 {
        word >> count | word << (32 - count)
    }

    private static func bigEndian(_ value: some FixedWidthInteger) -> [UInt8] {
        stride(from: value.bitWidth - 8, through: 0, by: -8).map { UInt8(truncatingIfNeeded: value >> $0) }
    }

    /// The first 32 bits of the fractional parts of the square roots of the first 8 primes (section 5.3.3).
    private static let initialHash: [UInt32] = [
        0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a, 0x510e_527f, 0x9b05_688c, 0x1f83_d9ab, 0x5be0_cd19,
    ]

    /// The first 32 bits of the fractional parts of the cube roots of the first 64 primes (section 4.2.2).
    private static let constants: [UInt32] = [
        0x428a_2f98, 0x7137_4491, 0xb5c0_fbcf, 0xe9b5_dba5, 0x3956_c25b, 0x59f1_11f1, 0x923f_82a4, 0xab1c_5ed5,
        0xd807_aa98, 0x1283_5b01, 0x2431_85be, 0x550c_7dc3, 0x72be_5d74, 0x80de_b1fe, 0x9bdc_06a7, 0xc19b_f174,
        0xe49b_69c1, 0xefbe_4786, 0x0fc1_9dc6, 0x240c_a1cc, 0x2de9_2c6f, 0x4a74_84aa, 0x5cb0_a9dc, 0x76f9_88da,
        0x983e_5152, 0xa831_c66d, 0xb003_27c8, 0xbf59_7fc7, 0xc6e0_0bf3, 0xd5a7_9147, 0x06ca_6351, 0x1429_2967,
        0x27b7_0a85, 0x2e1b_2138, 0x4d2c_6dfc, 0x5338_0d13, 0x650a_7354, 0x766a_0abb, 0x81c2_c92e, 0x9272_2c85,
        0xa2bf_e8a1, 0xa81a_664b, 0xc24b_8b70, 0xc76c_51a3, 0xd192_e819, 0xd699_0624, 0xf40e_3585, 0x106a_a070,
        0x19a4_c116, 0x1e37_6c08, 0x2748_774c, 0x34b0_bcb5, 0x391c_0cb3, 0x4ed8_aa4a, 0x5b9c_ca4f, 0x682e_6ff3,
        0x748f_82ee, 0x78a5_636f, 0x84c8_7814, 0x8cc7_0208, 0x90be_fffa, 0xa450_6ceb, 0xbef9_a3f7, 0xc671_78f2,
    ]
}
