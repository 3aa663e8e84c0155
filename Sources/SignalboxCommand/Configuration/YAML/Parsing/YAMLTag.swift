/// The type of a YAML node.
///
/// The type of a scalar without a tag follows from its form, by the rules of YAML 1.1: https://yaml.org/type/
enum YAMLTag: Hashable {
    case null, bool, int, float, timestamp, text
    /// Another tag, by its full name.
    case other(String)

    init(name: String) {
        self =
            switch name {
            case "tag:yaml.org,2002:null": .null
            case "tag:yaml.org,2002:bool": .bool
            case "tag:yaml.org,2002:int": .int
            case "tag:yaml.org,2002:float": .float
            case "tag:yaml.org,2002:timestamp": .timestamp
            case "tag:yaml.org,2002:str": .text
            default: .other(name)
            }
    }

    /// Returns the type of a scalar that has neither a tag nor quotes.
    init(implicit text: String) {
        self =
            switch text {
            case "", "~", "null", "Null", "NULL": .null
            case "true", "True", "TRUE", "false", "False", "FALSE": .bool
            case "yes", "Yes", "YES", "no", "No", "NO", "on", "On", "ON", "off", "Off", "OFF": .bool
            case ".nan", ".NaN", ".NAN": .float
            case "<<": .other("tag:yaml.org,2002:merge")
            case "=": .other("tag:yaml.org,2002:value")
            default: YAMLTag(number: text)
            }
    }

    /// Returns the type of text that may be a number or a point in time.
    private init(number text: String) {
        // Most scalars are words.
        guard let first = text.utf8.first, "+-.0123456789".utf8.contains(first) else {
            self = .text
            return
        }
        var (int, float, date) = (ScalarScan(text), ScalarScan(text), ScalarScan(text))
        self = int.isInteger() ? .int : float.isFloat() ? .float : date.isTimestamp() ? .timestamp : .text
    }
}

/// Reads the characters of a scalar from left to right. No form needs to look back, so the time grows with the length.
private struct ScalarScan {
    private var rest: Substring.UTF8View

    init(_ text: String) { rest = text[...].utf8 }

    private var isAtEnd: Bool { rest.isEmpty }

    /// Takes one of the characters, if it is next.
    private mutating func take(_ characters: StaticString) -> Bool {
        guard let next = rest.first, characters.contains(next) else { return false }
        rest.removeFirst()
        return true
    }

    /// Takes as many of the characters as follow, and returns how many these are.
    private mutating func takeAll(_ characters: StaticString, upTo limit: Int = .max) -> Int {
        var count = 0
        while count < limit, take(characters) { count += 1 }
        return count
    }

    /// Takes a number of digits in the range.
    private mutating func takeDigits(_ count: ClosedRange<Int>) -> Bool {
        count.contains(takeAll("0123456789", upTo: count.upperBound))
    }

    // MARK: Numbers: https://yaml.org/type/int.html and https://yaml.org/type/float.html

    mutating func isInteger() -> Bool {
        _ = take("+-")
        if take("0") {
            if take("b") { return takeAll("01_") > 0 && isAtEnd }
            if take("x") { return takeAll("0123456789abcdefABCDEF_") > 0 && isAtEnd }
            let needsDigits = take("o")
            return (takeAll("01234567_") > 0 || !needsDigits) && isAtEnd
        }
        guard take("123456789") else { return false }
        _ = takeAll("0123456789_")
        while take(":") {
            guard takeBase60() else { return false }
        }
        return isAtEnd
    }

    mutating func isFloat() -> Bool {
        let hasSign = take("+-")
        if take(".") {
            if isInfinity { return true }
            return !hasSign && takeAll("0123456789_") > 0 && takeExponent(needsSign: true) && isAtEnd
        }
        guard take("0123456789") else { return false }
        _ = takeAll("0123456789_")
        var groups = 0
        while take(":") {
            guard takeBase60() else { return false }
            groups += 1
        }
        let hasPoint = take(".")
        if hasPoint { _ = takeAll("0123456789_") }
        return groups > 0 ? hasPoint && isAtEnd : takeExponent(needsSign: false) && isAtEnd
    }

    private var isInfinity: Bool { ["inf", "Inf", "INF"].contains { rest.elementsEqual($0.utf8) } }

    /// Takes a digit of a number to the base of 60, which may have a leading zero.
    private mutating func takeBase60() -> Bool {
        if take("012345") {
            _ = take("0123456789")
            return true
        }
        return take("6789")
    }

    /// Takes an exponent if there is one.
    ///
    /// - Returns: Whether no exponent begins without an end.
    private mutating func takeExponent(needsSign: Bool) -> Bool {
        guard take("eE") else { return true }
        guard take("+-") || !needsSign else { return false }
        return takeDigits(1...Int.max)
    }

    // MARK: Points in time: https://yaml.org/type/timestamp.html

    mutating func isTimestamp() -> Bool {
        guard takeDigits(4...4), take("-") else { return false }
        let month = takeAll("0123456789", upTo: 2)
        guard month > 0, take("-") else { return false }
        let day = takeAll("0123456789", upTo: 2)
        // A date alone needs all digits.
        if isAtEnd { return month == 2 && day == 2 }
        guard day > 0, take("Tt") || takeAll(" \t") > 0 else { return false }
        guard takeDigits(1...2), take(":"), takeDigits(2...2), take(":"), takeDigits(2...2) else { return false }
        if take(".") { _ = takeAll("0123456789") }
        if isAtEnd { return true }
        _ = takeAll(" \t")
        return takeTimeZone() && isAtEnd
    }

    private mutating func takeTimeZone() -> Bool {
        if take("Z") { return true }
        guard take("+-"), takeDigits(1...2) else { return false }
        return take(":") ? takeDigits(2...2) : true
    }
}

extension StaticString {
    /// Whether the string has the ASCII character.
    fileprivate func contains(_ byte: UInt8) -> Bool {
        withUTF8Buffer { $0.contains(byte) }
    }
}
