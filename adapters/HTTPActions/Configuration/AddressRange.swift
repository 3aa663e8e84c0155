import AdapterSupport

#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#else
internal import Darwin
#endif

/// A range of IP addresses, such as `10.0.0.0/8`, or a single one.
public struct AddressRange: Sendable, Hashable {
    /// The range as it was written.
    public let text: String
    /// The first address, as an IPv6 address. An IPv4 address is mapped (RFC 4291, 2.5.5.2).
    private let first: [UInt8]
    private let bits: Int

    /// Parses an IPv4 or IPv6 address with an optional number of leading bits (RFC 4632, 3.1), or returns `nil` if the text is
    /// neither, or if bits after the leading ones are set.
    public init?(_ text: String) {
        let halves = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard let address = halves.first, let bytes = AddressRange.bytes(of: String(address)) else { return nil }
        let isIPv4 = !address.contains(":")
        let width = isIPv4 ? 32 : 128
        var length = width
        if halves.count == 2 {
            guard let stated = Int(halves[1]), (0...width).contains(stated), !halves[1].hasPrefix("+") else {
                return nil
            }
            length = stated
        }
        bits = isIPv4 ? 96 + length : length
        first = bytes
        self.text = text
        guard (bits..<128).allSatisfy({ bytes[$0 / 8] & (0x80 >> UInt8($0 % 8)) == 0 }) else { return nil }
    }

    /// Returns whether the range contains a numeric address.
    func contains(_ address: String) -> Bool {
        guard let bytes = AddressRange.bytes(of: address) else { return false }
        return (0..<bits).allSatisfy { ((bytes[$0 / 8] ^ first[$0 / 8]) & (0x80 >> UInt8($0 % 8))) == 0 }
    }

    private static func bytes(of address: String) -> [UInt8]? {
        var four = in_addr()
        if inet_pton(AF_INET, address, &four) == 1 {
            return [UInt8](repeating: 0, count: 10) + [0xFF, 0xFF] + withUnsafeBytes(of: &four) { Array($0) }
        }
        var six = in6_addr()
        guard inet_pton(AF_INET6, address, &six) == 1 else { return nil }
        return withUnsafeBytes(of: &six) { Array($0) }
    }
}
