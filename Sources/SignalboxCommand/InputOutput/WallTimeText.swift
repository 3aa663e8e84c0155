import AdapterSupport
import SignalboxCore
import SignalboxRoutes

/// Formats and reads calendar time as RFC 3339 text.
enum WallTimeText {
    /// Returns text such as `2026-01-31T23:59:59.123Z`.
    static func utc(_ time: WallTime) -> String {
        "\(secondsText(time)).\(String(1_000 + time.nanoseconds / 1_000_000).dropFirst())Z"
    }

    /// Returns text such as `2026-01-31T23:59:59.123456789Z`, from which ``time(in:)`` reads the same time.
    static func exact(_ time: WallTime) -> String {
        "\(secondsText(time)).\(String(1_000_000_000 + time.nanoseconds).dropFirst())Z"
    }

    private static func secondsText(_ time: WallTime) -> String {
        var seconds = time_t(time.seconds)
        var date = tm()
        gmtime_r(&seconds, &date)
        return String(unsafeUninitializedCapacity: 64) { buffer in
            buffer.withMemoryRebound(to: CChar.self) { text in
                text.baseAddress.map { strftime($0, text.count, "%Y-%m-%dT%H:%M:%S", &date) } ?? 0
            }
        }
    }

    /// Returns the time in a text such as `2026-01-31T23:59:59Z` or `2026-01-31T23:59:59.5+01:00`, or `nil` if the text has another form.
    static func time(in text: String) -> WallTime? {
        var rest = text.utf8[...]
        guard let year = rest.number(4), rest.skip("-"), let month = rest.number(2), rest.skip("-"),
            let day = rest.number(2), rest.skip("T"), let hour = rest.number(2), rest.skip(":"),
            let minute = rest.number(2), rest.skip(":"), let second = rest.number(2), minute < 60, second < 60,
            let nanoseconds = rest.fraction(), let offset = rest.offset(), rest.isEmpty
        else { return nil }
        var date = tm()
        (date.tm_year, date.tm_mon, date.tm_mday) = (year - 1900, month - 1, day)
        (date.tm_hour, date.tm_min, date.tm_sec) = (hour, minute, second)
        let seconds = timegm(&date)
        // A day that the month does not have becomes one of the next month.
        guard (date.tm_mon, date.tm_mday) == (month - 1, day) else { return nil }
        return WallTime(seconds: Int64(seconds) - offset, nanoseconds: nanoseconds)
    }

    /// Returns the time of day, such as `23:59:59.123Z`.
    static func time(_ time: WallTime) -> String {
        String(utc(time).dropFirst(11))
    }
}

extension Substring.UTF8View {
    /// Removes the character from the start, if it is there.
    fileprivate mutating func skip(_ character: Unicode.Scalar) -> Bool {
        guard first == UInt8(ascii: character) else { return false }
        removeFirst()
        return true
    }

    /// Removes that many ASCII digits from the start, and returns their value.
    fileprivate mutating func number(_ count: Int) -> Int32? {
        let digits = prefix(count)
        guard digits.count == count, digits.allSatisfy(\.isASCIIDigit) else { return nil }
        removeFirst(count)
        return Int32(Substring(digits))
    }

    /// Removes a period and one to nine digits, and returns them as nanoseconds. Without a period, the result is zero.
    fileprivate mutating func fraction() -> UInt32? {
        guard skip(".") else { return 0 }
        let count = prefix { $0.isASCIIDigit }.count
        guard (1...9).contains(count), let number = number(count) else { return nil }
        return (count..<9).reduce(UInt32(number)) { number, _ in number * 10 }
    }

    /// Removes the offset from UTC, such as `Z` or `+01:00`, and returns it in seconds.
    fileprivate mutating func offset() -> Int64? {
        if skip("Z") { return 0 }
        let isWest = skip("-")
        guard isWest || skip("+"), let hours = number(2), skip(":"), let minutes = number(2), hours < 24, minutes < 60
        else { return nil }
        return Int64(hours * 3_600 + minutes * 60) * (isWest ? -1 : 1)
    }
}
