#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// An IPv4 or IPv6 address as people write it, without brackets.
struct NumericAddress {
    /// Whether only this machine can reach it: 127.0.0.0/8 and ::1.
    let isLoopback: Bool
    let isIPv6: Bool
    /// As it stands in a URL.
    let inURL: String

    /// `nil` when the text is no address.
    init?(_ text: String) {
        var four = in_addr()
        var six = in6_addr()
        if inet_pton(AF_INET, text, &four) == 1 {
            isLoopback = withUnsafeBytes(of: &four) { $0[0] == 127 }
            isIPv6 = false
            inURL = text
        } else if inet_pton(AF_INET6, text, &six) == 1 {
            isLoopback = withUnsafeBytes(of: &six) { $0.dropLast().allSatisfy { $0 == 0 } && $0.last == 1 }
            isIPv6 = true
            inURL = "[\(text)]"
        } else {
            return nil
        }
    }
}
