/// Texts that break lines, terminals or JSON when they are written as they are.
enum NaughtyText {
    static let all = [
        "", "plain", "a\nb", "a\r\nb", "\u{1B}[31mred\u{1B}[0m", "\u{9B}31m", "\u{0}", "\u{7F}", "\u{85}",
        "a\u{2028}b\u{2029}",
        "\u{202E}txt.exe", "\u{2066}x\u{2069}", "\"quoted\"", "back\\slash", "\\n", "tab\there", "👩‍👩‍👧", "e\u{301}",
        "\u{FEFF}",
        "\u{FFFF}", "}{\"a\":1}", "ｱｲｳ", "\u{10FFFF}",
    ]
}
