import SignalboxCore

/// Calendar time as text (RFC 3339), in UTC with milliseconds.
enum WallTimeText {
    /// Such as `2026-01-31T23:59:59.123Z`.
    static func utc(_ time: WallTime) -> String {
        let days = Int((Double(time.seconds) / 86_400).rounded(.down))
        let second = Int(time.seconds) - days * 86_400
        let (year, month, day) = date(daysSince1970: days)
        let date = "\(padded(year, 4))-\(padded(month, 2))-\(padded(day, 2))"
        let clock = [second / 3_600, second / 60 % 60, second % 60].map { padded($0, 2) }.joined(separator: ":")
        return "\(date)T\(clock).\(padded(Int(time.nanoseconds) / 1_000_000, 3))Z"
    }

    /// Gregorian, by eras of 400 years that begin in March, so that the leap day is the last of its year.
    private static func date(daysSince1970 days: Int) -> (year: Int, month: Int, day: Int) {
        let shifted = days + 719_468
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let marchMonth = (5 * dayOfYear + 2) / 153
        let month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9
        let day = dayOfYear - (153 * marchMonth + 2) / 5 + 1
        return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, day)
    }

    private static func padded(_ number: Int, _ width: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }
}
