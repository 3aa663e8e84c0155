import AdapterSupport
package import SignalboxCore

/// Reads the header `Retry-After` (RFC 9110, 10.2.3).
package enum RetryAfter {
    /// Returns how long to wait, from a number of seconds or a date, or `nil` for any other text. A date in the past means no
    /// wait.
    package static func delay(_ text: String, now: WallTime) -> Duration? {
        if !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) {
            return .seconds(min(Int64(text) ?? longest, longest))
        }
        guard let date = seconds(ofDate: text) else { return nil }
        return .seconds(min(max(0, date - now.seconds), longest))
    }

    /// A century, so that no later sum can overflow.
    private static let longest: Int64 = 100 * 366 * 86_400

    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    /// Returns the seconds since 1970 of a date such as `Sun, 06 Nov 1994 08:49:37 GMT`, the only form that servers may send
    /// (RFC 9110, 5.6.7).
    private static func seconds(ofDate text: String) -> Int64? {
        let parts = text.split(separator: " ", omittingEmptySubsequences: false)
        guard parts.count == 6, parts[0].utf8.count == 4, parts[0].hasSuffix(","), parts[5] == "GMT",
            let month = months.firstIndex(where: { $0 == parts[2] }),
            let day = number(parts[1], digits: 2), (1...31).contains(day), let year = number(parts[3], digits: 4)
        else { return nil }
        let time = parts[4].split(separator: ":", omittingEmptySubsequences: false).compactMap { number($0, digits: 2) }
        guard time.count == 3, parts[4].utf8.count == 8, time[0] < 24, time[1] < 60, time[2] <= 60 else { return nil }
        var date = tm()
        (date.tm_year, date.tm_mon, date.tm_mday) = (Int32(year - 1_900), Int32(month), Int32(day))
        (date.tm_hour, date.tm_min, date.tm_sec) = (Int32(time[0]), Int32(time[1]), Int32(time[2]))
        return Int64(timegm(&date))
    }

    private static func number(_ text: Substring, digits: Int) -> Int64? {
        guard text.utf8.count == digits, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        return Int64(text)
    }
}
