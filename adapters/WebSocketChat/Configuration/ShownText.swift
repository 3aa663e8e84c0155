/// Text from anywhere, for a line that people read.
enum ShownText {
    private static let limit = 128

    /// In quotes, with everything escaped that has no shape of its own or moves what stands around it; of a long text the
    /// beginning.
    static func quoted(_ text: String) -> String {
        var shown = "\""
        for scalar in text.unicodeScalars.prefix(limit) {
            if scalar == "\"" || scalar == "\\" {
                shown += "\\\(scalar)"
            } else if isVisible(scalar) {
                shown.unicodeScalars.append(scalar)
            } else {
                shown += "\\u{\(String(scalar.value, radix: 16, uppercase: true))}"
            }
        }
        return shown + (text.unicodeScalars.count > limit ? "\"..." : "\"")
    }

    private static func isVisible(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .surrogate, .unassigned: false
        default: true
        }
    }
}
