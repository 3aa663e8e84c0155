extension YAMLValue {
    /// A whole number in decimal digits.
    func integer(_ range: ClosedRange<Int>) -> Int? {
        guard let number = characters.flatMap(SizeText.digits) else {
            complain("expected a whole number, found \(found)")
            return nil
        }
        guard range.contains(number) else {
            complain("expected \(range.lowerBound) to \(range.upperBound), found \(number)")
            return nil
        }
        return number
    }

    /// A number of bytes: digits, or digits with KiB, MiB or GiB.
    func size(_ range: ClosedRange<Int>) -> Int? {
        guard let characters else {
            complain("expected a size such as 64KiB, found \(found)")
            return nil
        }
        do {
            let bytes = try SizeText.bytes(in: characters)
            guard range.contains(bytes) else {
                complain("expected \(range.lowerBound) to \(range.upperBound) bytes, found \(bytes)")
                return nil
            }
            return bytes
        } catch {
            complain(error.description)
            return nil
        }
    }

    /// A duration: digits and a unit.
    func duration(_ range: ClosedRange<Duration>) -> Duration? {
        guard let characters else {
            complain("expected a duration such as 3s, found \(found)")
            return nil
        }
        do {
            let duration = try DurationText.duration(in: characters)
            guard range.contains(duration) else {
                complain("expected \(DurationText.text(range.lowerBound)) to \(DurationText.text(range.upperBound))")
                return nil
            }
            return duration
        } catch {
            complain(error.description)
            return nil
        }
    }

    /// `true` or `false`, and no other of YAML's words for them.
    func flag() -> Bool? {
        switch characters {
        case "true": return true
        case "false": return false
        default:
            complain("expected true or false, found \(found)")
            return nil
        }
    }

    /// Whether it is this word.
    func isWord(_ word: String) -> Bool { characters == word }

    /// One of a few words.
    func word(of words: [String], meaning: String) -> String? {
        guard let characters else {
            complain("expected \(meaning): \(words.joined(separator: ", ")); found \(found)")
            return nil
        }
        guard words.contains(characters) else {
            let advice = NameSuggestion.advice(for: characters, among: words)
            complain(
                "'\(characters.prefix(64))' is not \(meaning); expected \(words.joined(separator: ", "))\(advice)",
                suggestion: NameSuggestion.nearest(to: characters, among: words)
            )
            return nil
        }
        return characters
    }

    /// Text made into something that has rules of its own; the rule that was broken is noted.
    func parsed<Value, Fault: Error>(
        _ code: ProblemCode = .invalidValue,
        _ make: (String) throws(Fault) -> Value
    ) -> Value? {
        guard let text = text() else { return nil }
        do {
            return try make(text)
        } catch {
            complain("\(error)", code)
            return nil
        }
    }
}
