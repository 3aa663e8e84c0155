/// Dates and times of RFC 3339 section 5.6, such as `2018-04-05T17:31:00.5+02:00`.
enum TimestampText {
    /// Whether the text is one, and names a day and an hour that exist. A second 60 exists in the last minute of a day
    /// of UTC alone; whether a leap second was announced for it is not asked.
    static func isTimestamp(_ text: String) -> Bool {
        var rest = Array(text.utf8)[...]
        guard let year = number(4, &rest), take("-", &rest), let month = number(2, &rest), take("-", &rest),
            let day = number(2, &rest), isDay(day, month, year), take("Tt", &rest), let hour = number(2, &rest),
            hour < 24, take(":", &rest), let minute = number(2, &rest), minute < 60, take(":", &rest),
            let second = number(2, &rest), second <= 60
        else { return false }
        if take(".", &rest) {
            let digits = rest.prefix(while: isDigit)
            guard !digits.isEmpty else { return false }
            rest = rest.dropFirst(digits.count)
        }
        guard let offset = offset(&rest), rest.isEmpty else { return false }
        let minutesOfDay = 24 * 60
        let minuteOfUTC = (hour * 60 + minute - offset + 2 * minutesOfDay) % minutesOfDay
        return second < 60 || minuteOfUTC == minutesOfDay - 1
    }

    /// Minutes east of UTC.
    private static func offset(_ rest: inout ArraySlice<UInt8>) -> Int? {
        if take("Zz", &rest) { return 0 }
        let isWest = rest.first == UInt8(ascii: "-")
        guard take("+-", &rest), let hours = number(2, &rest), hours < 24, take(":", &rest),
            let minutes = number(2, &rest), minutes < 60
        else { return nil }
        return isWest ? -(hours * 60 + minutes) : hours * 60 + minutes
    }

    private static func isDay(_ day: Int, _ month: Int, _ year: Int) -> Bool {
        let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
        let lengths = [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
        return (1...12).contains(month) && (1...lengths[month - 1]).contains(day)
    }

    private static func number(_ digits: Int, _ rest: inout ArraySlice<UInt8>) -> Int? {
        let taken = rest.prefix(digits)
        guard taken.count == digits, taken.allSatisfy(isDigit) else { return nil }
        rest = rest.dropFirst(digits)
        return taken.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
    }

    private static func take(_ one: StaticString, _ rest: inout ArraySlice<UInt8>) -> Bool {
        guard let first = rest.first, one.withUTF8Buffer({ $0.contains(first) }) else { return false }
        rest = rest.dropFirst()
        return true
    }

    private static func isDigit(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }
}
