import SignalboxCore

/// Names and ids are what their grammars say.
enum NameTarget {
    static func run(_ input: [UInt8]) {
        let text = String(decoding: input, as: UTF8.self)
        let isName = (1...64).contains(text.utf8.count) && isInGrammar(text.utf8) && !text.hasPrefix("signalbox.")
        require((try? ActionName(text).text) == (isName ? text : nil), "\(text) as the name of an action")
        require((try? SourceName(text).text) == (isName ? text : nil), "\(text) as the name of a source")
        let isID = (1...128).contains(text.utf8.count)
        require(ActionID(text).map { Array($0.text.utf8) } == (isID ? Array(text.utf8) : nil), "\(text) as an id")
    }

    private static func isInGrammar(_ text: String.UTF8View) -> Bool {
        let letters = Set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ".utf8)
        let others = Set("0123456789._-".utf8)
        return text.first.map(letters.contains) == true
            && text.allSatisfy { letters.contains($0) || others.contains($0) }
    }
}
