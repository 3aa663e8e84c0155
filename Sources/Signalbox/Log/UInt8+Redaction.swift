/// What ``Redaction`` asks about single bytes of UTF-8.
extension UInt8 {
    var inLowerCase: UInt8 {
        self >= UInt8(ascii: "A") && self <= UInt8(ascii: "Z") ? self | 0x20 : self
    }

    /// `-`, `_`, `.`: they join the words of a key.
    var joinsWords: Bool {
        self == UInt8(ascii: "-") || self == UInt8(ascii: "_") || self == UInt8(ascii: ".")
    }

    var isInWord: Bool {
        let small = inLowerCase
        return (small >= UInt8(ascii: "a") && small <= UInt8(ascii: "z"))
            || (self >= UInt8(ascii: "0") && self <= UInt8(ascii: "9")) || joinsWords
    }

    var isBlank: Bool {
        self == UInt8(ascii: " ") || (self >= 0x09 && self <= 0x0d)
    }

    var opensBracket: Bool {
        self == UInt8(ascii: "(") || self == UInt8(ascii: "[") || self == UInt8(ascii: "{")
    }

    var closesBracket: Bool {
        self == UInt8(ascii: ")") || self == UInt8(ascii: "]") || self == UInt8(ascii: "}")
    }

    /// `, ; : . ! ?`
    var isSentenceMark: Bool {
        switch self {
        case UInt8(ascii: ","), UInt8(ascii: ";"), UInt8(ascii: ":"), UInt8(ascii: "."), UInt8(ascii: "!"),
            UInt8(ascii: "?"):
            true
        default: false
        }
    }

    /// Whether a value without quotes cannot have it.
    var endsValue: Bool {
        isBlank || self == UInt8(ascii: "&") || self == UInt8(ascii: "<") || self == UInt8(ascii: ">")
    }

    /// Whether a URL's authority ends before it, in whatever text the URL stands.
    var endsAuthority: Bool {
        switch self {
        case UInt8(ascii: "/"), UInt8(ascii: "?"), UInt8(ascii: "#"), UInt8(ascii: "\\"), UInt8(ascii: "\""),
            UInt8(ascii: "<"), UInt8(ascii: ">"):
            true
        default: false
        }
    }
}
