/// What the header `Sec-WebSocket-Extensions` lists (RFC 6455, 9.1).
struct ExtensionList: Equatable {
    struct Parameter: Equatable {
        let name: String
        let value: String?
    }

    struct Member: Equatable {
        let name: String
        let parameters: [Parameter]
    }

    let members: [Member]

    /// Reads tokens between `,`, `;`, `=` and blanks.
    ///
    /// - Returns: `nil` for everything else: quoted values, which nobody needs here, and what the library could understand in
    ///   another way than we do.
    init?(_ header: String) {
        var members: [Member] = []
        for text in header.utf8.split(separator: UInt8(ascii: ",")) {
            let parts = text.split(separator: UInt8(ascii: ";"), omittingEmptySubsequences: false)
            // Empty members are allowed in every list (RFC 9110, 5.6.1).
            if parts.count == 1, parts[0].allSatisfy({ $0 == UInt8(ascii: " ") }) { continue }
            let name = ExtensionList.trimmed(parts[0])
            guard HeaderField.isToken(name) else { return nil }
            var parameters: [Parameter] = []
            for part in parts.dropFirst() {
                guard let parameter = ExtensionList.parameter(part) else { return nil }
                parameters.append(parameter)
            }
            members.append(Member(name: name, parameters: parameters))
        }
        self.members = members
    }

    private static func parameter(_ text: Substring.UTF8View) -> Parameter? {
        let halves = trimmed(text).split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(
            String.init
        )
        guard halves.allSatisfy(HeaderField.isToken), let name = halves.first else { return nil }
        return Parameter(name: name, value: halves.count == 2 ? halves[1] : nil)
    }

    private static func trimmed(_ text: Substring.UTF8View) -> String {
        let blank = UInt8(ascii: " ")
        let head = text.drop { $0 == blank }
        let end = head.lastIndex { $0 != blank }.map { head.index(after: $0) } ?? head.startIndex
        return String(decoding: head[..<end], as: UTF8.self)
    }
}
