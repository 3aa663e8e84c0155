@testable import BrokerKit

/// 8.1: what is UTF-8 (RFC 3629), also where a character is cut by a fragment's end.
extension FrameVectors {
    static var texts: [FrameVector] {
        let names: [(String, [UInt8])] = [
            ("U+0000", [0]),
            ("a byte order mark is kept", [0xEF, 0xBB, 0xBF, 0x61]),
            ("the first of two, three and four bytes", [0xC2, 0x80, 0xE0, 0xA0, 0x80, 0xF0, 0x90, 0x80, 0x80]),
            ("the last of one and two bytes", [0x7F, 0xDF, 0xBF]),
            ("the last of three and four bytes", [0xEF, 0xBF, 0xBF, 0xF4, 0x8F, 0xBF, 0xBF]),
            ("before and after the surrogates", [0xED, 0x9F, 0xBF, 0xEE, 0x80, 0x80]),
            ("noncharacters", [0xEF, 0xB7, 0x90, 0xEF, 0xBF, 0xBE]),
            ("Greek and a locomotive", Array("κόσμε\u{1F682}".utf8)),
        ]
        return names.flatMap { name, bytes in
            let whole = WireFrame(WireFrame.text, bytes)
            return [
                FrameVector(name, [whole], messages: [whole], .open),
                FrameVector("\(name), a byte a fragment", cut(bytes), messages: [whole], .open),
            ]
        }
    }

    static var brokenTexts: [FrameVector] {
        let names: [(String, [UInt8])] = [
            ("a continuation byte alone", [0x80]), ("an overlong slash", [0xC0, 0xAF]),
            ("an overlong U+007F", [0xC1, 0xBF]), ("an overlong slash of three", [0xE0, 0x80, 0xAF]),
            ("an overlong slash of four", [0xF0, 0x80, 0x80, 0xAF]), ("the first surrogate", [0xED, 0xA0, 0x80]),
            ("the last surrogate", [0xED, 0xBF, 0xBF]),
            ("a pair of surrogates", [0xED, 0xA0, 0x81, 0xED, 0xB0, 0x80]),
            ("beyond U+10FFFF", [0xF4, 0x90, 0x80, 0x80]), ("a beginning of five", [0xF8, 0x88, 0x80, 0x80, 0x80]),
            ("0xFE", [0xFE]), ("0xFF", [0xFF]), ("an end within two", [0xC3]), ("an end within three", [0xE2, 0x82]),
            ("an end within four", [0xF0, 0x9F, 0x9A]), ("Latin-1", [0x63, 0x61, 0x66, 0xE9, 0x21]),
        ]
        return names.flatMap { name, bytes in
            let text = Array("ab".utf8) + bytes
            return [
                FrameVector("\(name) is no UTF-8", [WireFrame(WireFrame.text, text)], .failed(1_007)),
                FrameVector("\(name) is no UTF-8, a byte a fragment", cut(text), .failed(1_007)),
            ]
        }
    }

    private static func cut(_ text: [UInt8]) -> [WireFrame] {
        text.indices.map { index in
            let opcode = index == 0 ? WireFrame.text : WireFrame.continuation
            return WireFrame(opcode, [text[index]], isFinal: index == text.count - 1)
        }
    }
}
