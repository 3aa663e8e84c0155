import MQTTPush
import NavigationChain
import SignalboxCore
import SignalboxRoutes

/// Reads `tests`: messages and URLs with what must come of them.
extension ConfigurationReader {
    /// Reads the tests in a separate file.
    ///
    /// - Parameters:
    ///   - text: The file's content.
    ///   - configuration: The configuration that the tests are about. It has no errors.
    /// - Returns: The tests, or `nil` if there are errors, and the errors.
    static func tests(
        _ text: String,
        file: String,
        of configuration: RunConfiguration
    ) -> (tests: [ConfigurationTest]?, problems: ConfigurationProblems) {
        let folder = ConfigurationFile.folder(of: file)
        let reader = ConfigurationReader(environment: .process, use: .test, folder: folder, readsSecrets: false)
        let tests = reader.read(text, needed: "- name: ...") { reader.list(of: $0, in: configuration) }
        return (tests, reader.problems)
    }

    /// Reads the value of `tests`: a list, or the path of a file that has one.
    func readTests(_ value: YAMLValue, into configuration: inout RunConfiguration) {
        guard value.isList else {
            guard !value.isMapping, !value.isNull else {
                return value.reportError(
                    "expected a list of tests, or the path of a file that has one; found \(value.typeDescription)",
                    advice: ConfigurationTest.example
                )
            }
            configuration.testFile = namedFile(value)
            return
        }
        // The form of a test is checked even if the sources that it names have errors.
        configuration.tests = list(of: value, in: locations.isComplete ? configuration : nil) ?? []
    }

    private func list(of value: YAMLValue, in configuration: RunConfiguration?) -> [ConfigurationTest]? {
        value.list()?.compactMap { test($0, in: configuration) }
    }

    private func test(_ value: YAMLValue, in configuration: RunConfiguration?) -> ConfigurationTest? {
        let before = problems.count(.error)
        var written: WrittenTest?
        let expected = value.mapping("test") { keys -> (name: String, [TestMember: TestValue])? in
            let name = keys.required("name", "say in words what is tested")?.text()
            let test = writtenTest(keys, at: value)
            let advice = "write what must come of it, such as \(ConfigurationTest.exampleOfExpect)"
            let isNavigation = test.contentKey == "navigate"
            let expected = keys.required("expect", advice).flatMap { expectations($0, isNavigation: isNavigation) }
            written = test
            guard let name, let expected else { return nil }
            return (name, expected)
        }
        // A mistake in a key would make the message wrong, too.
        guard problems.count(.error) == before, let (name, members) = expected, let written, let configuration else {
            return nil
        }
        return subject(of: written, in: configuration).map {
            ConfigurationTest(name: name, line: value.line, subject: $0, expected: members)
        }
    }

    /// Reads all keys but `name` and `expect`.
    private func writtenTest(_ keys: YAMLMapping, at value: YAMLValue) -> WrittenTest {
        let (source, action, id) = (keys.optional("source"), keys.optional("action"), keys.optional("id"))
        let found = content(keys, isOptional: action != nil)
        let kind: NavigationKind? = keys.optional("kind")?.keyword("a kind of navigation")
        var written = WrittenTest(value: value, source: source, action: action, facts: facts(keys))
        written.contentKey = found?.key ?? "body"
        written.kind = kind ?? .link
        checkUse(of: keys, with: written.contentKey)
        if let action {
            written.content = envelope(action, id: id, body: keys.optional("body"))
        } else {
            written.content = found.flatMap { read($0.key, $0.value) }
        }
        return written
    }

    private func subject(of test: WrittenTest, in configuration: RunConfiguration) -> TestSubject? {
        switch test.content {
        case .navigation(let url):
            guard configuration.navigation != nil else {
                return test.value.refused("there is no navigation chain; add 'navigation'", .conflictingKeys)
            }
            return .navigation(url, test.kind, test.facts.frame ?? .main)
        case .link(let url): return linkSubject(url, test.source, in: configuration)
        case .message(let bytes): return message(bytes, test, in: configuration).map(TestSubject.message)
        case nil: return nil
        }
    }

    private func facts(_ keys: YAMLMapping) -> MessageFacts {
        var facts = MessageFacts()
        facts.areKeys = true
        facts.topic = keys.optional("topic")?.parsed(.badPattern) { try TopicName($0) }
        facts.qos = keys.optional("qos")?.integer(0...1)
        keys.read("retained", &facts.retained) { $0.flag() }
        facts.origin = keys.optional("origin")?.parsed { try WebOrigin($0).description }
        facts.frame = keys.optional("frame")?.keyword("a frame")
        facts.handler = keys.optional("handler")?.parsed(.badName) { try ActionName($0) }
        facts.principal = keys.optional("principal")?.text()
        keys.read("binary", &facts.binary) { $0.flag() }
        facts.path = keys.optional("path")?.text()
        facts.contentType = keys.optional("content_type")?.text()
        return facts
    }
}

/// What the user wrote in a test, besides its name and what it expects.
private struct WrittenTest {
    /// The test.
    let value: YAMLValue
    let source: YAMLValue?
    let action: YAMLValue?
    let facts: MessageFacts
    /// The key of the content.
    var contentKey = "body"
    /// The content, or `nil` if it has an error.
    var content: TestContent?
    var kind = NavigationKind.link
}

/// The content of a test.
private enum TestContent {
    case message([UInt8])
    case link(String)
    case navigation(String)
}

extension ConfigurationTest {
    fileprivate static let exampleOfExpect = "expect: { outcome: handled }"
    /// A short valid entry.
    static let example = "tests: [ { name: an example, url: \"myapp://cart\", \(exampleOfExpect) } ]"
}

/// Reads the content of a test.
extension ConfigurationReader {
    private static let contents = ["body", "text", "base64", "url", "navigate"]

    /// - Parameter isOptional: Whether a message without content can be made.
    private func content(_ keys: YAMLMapping, isOptional: Bool) -> (key: String, value: YAMLValue)? {
        let found = ConfigurationReader.contents.compactMap { keys.optional($0) }
        guard !found.isEmpty || !isOptional else { return nil }
        let advice = "add what arrives, such as body: { amount: 350 } or url: myapp://cart"
        return keys.required(oneOf: ConfigurationReader.contents, advice)
    }

    /// Reports keys that have no effect with the content that a test has.
    private func checkUse(of keys: YAMLMapping, with content: String) {
        func refuse(_ names: [String], _ reason: String) {
            for name in names {
                keys.optional(name)?.reportError("'\(name)' \(reason); remove it", .conflictingKeys)
            }
        }
        let isNavigation = content == "navigate"
        if isNavigation || content == "url" {
            let names = MessageFacts.names.filter { $0 != "frame" || !isNavigation } + ["action", "id"]
            refuse(names, "belongs to a message, not to a URL")
        } else {
            if content != "body" { refuse(["action"], "makes an envelope, whose body is JSON; write it as 'body'") }
            if keys.optional("action") == nil { refuse(["id"], "is a part of an envelope, which 'action' makes") }
        }
        if isNavigation { refuse(["source"], "has no effect on a navigation") }
        if !isNavigation { refuse(["kind"], "belongs to 'navigate'") }
    }

    private func read(_ key: String, _ value: YAMLValue) -> TestContent? {
        switch key {
        case "body": return reply(value).map { .message(TestValue.encoded($0)) }
        case "text": return value.anyText().map { .message(Array($0.utf8)) }
        case "base64":
            guard var text = value.anyText() else { return nil }
            let bytes = text.withUTF8 { Base64.decode(UnsafeRawBufferPointer($0)) }
            return bytes.map { .message($0) } ?? value.refused("expected Base64 with padding, such as aGVsbG8=")
        case "url": return value.text().map { .link($0) }
        default: return value.text().map { .navigation($0) }
        }
    }

    /// Returns a message that is a standard envelope.
    private func envelope(_ action: YAMLValue, id: YAMLValue?, body: YAMLValue?) -> TestContent? {
        guard let name = action.parsed(.badName, { try ActionName($0).text }) else { return nil }
        var members: [String: ReplyValue] = ["action": .text(name)]
        members["id"] = id?.text().map { .text($0) }
        members["body"] = body.flatMap(reply)
        return .message(TestValue.encoded(.object(members)))
    }

    /// Returns the message that the source makes of the bytes.
    private func message(
        _ bytes: [UInt8],
        _ test: WrittenTest,
        in configuration: RunConfiguration
    ) -> ExplainedMessage? {
        guard let source = source(test, in: configuration) else { return nil }
        do throws(CommandFailure) {
            let message = try ExplainedMessage(bytes, test.facts, of: source, in: configuration)
            guard test.action == nil || message.arrival.envelope == .standard else {
                return test.action?.refused(
                    "'action' makes a standard envelope, but '\(source.name)' reads this message with the envelope "
                        + "'\(message.arrival.envelope)'; remove it, and write the whole message as 'body' or 'text'",
                    .conflictingKeys
                )
            }
            return message
        } catch {
            return test.value.refused(error.description, .conflictingKeys)
        }
    }

    /// Returns the source that the test names, or the only one that has such messages.
    private func source(_ test: WrittenTest, in configuration: RunConfiguration) -> SourceSection? {
        if let written = test.source { return source(written, among: configuration.sources) }
        let given = test.facts.given
        let fitting = configuration.sources.filter { source in
            source.kind.links == nil && given.allSatisfy { $0.kinds.contains(source.kind.description) }
        }
        if fitting.count == 1 { return fitting.first }
        let properties = given.isEmpty ? "" : " with \(given.map(\.name).joined(separator: " and "))"
        let problem =
            fitting.isEmpty
            ? "no source has messages\(properties)"
            : "several sources have messages\(properties); add 'source', one of: "
                + fitting.map(\.name.text).joined(separator: ", ")
        return test.value.refused(problem, .missingKey)
    }

    private func source(_ written: YAMLValue, among sources: [SourceSection]) -> SourceSection? {
        guard let name = written.text() else { return nil }
        if let source = sources.first(where: { $0.name.text == name }) { return source }
        let names = sources.map(\.name.text)
        return written.refused(name, among: names, .unknownSource) {
            "there is no source '\(name.prefix(80))'\($0); sources are: \(names.joined(separator: ", "))"
        }
    }

    private func linkSubject(_ url: String, _ source: YAMLValue?, in configuration: RunConfiguration) -> TestSubject? {
        guard let source else { return .link(url, source: nil) }
        guard let section = self.source(source, among: configuration.sources) else { return nil }
        guard section.kind.links != nil else {
            return source.refused(
                "'\(section.name)' is \(section.kind.description), and has no links; name a source of links",
                .conflictingKeys
            )
        }
        return .link(url, source: section.name.text)
    }
}

/// Reads what a test expects.
extension ConfigurationReader {
    private static let rejections = ["malformed", "unknownAction", "sourceNotAllowed", "invalidBody"]
    private static let failures = ["threw", "timeout"]
    private static let outcomes = ["handled", "rejected", "failed", "held"]

    private func expectations(_ value: YAMLValue, isNavigation: Bool) -> [TestMember: TestValue]? {
        value.mapping("expect") { keys in
            var expected: [TestMember: TestValue] = [:]
            for member in TestMember.allCases {
                guard let written = keys.optional(member.rawValue) else { continue }
                guard member.isOfNavigation == isNavigation else {
                    let reason = isNavigation ? "has no effect with 'navigate'" : "needs 'navigate'"
                    written.reportError(
                        "'\(member.rawValue)' \(reason); remove it",
                        .conflictingKeys
                    )
                    continue
                }
                expected[member] = expectation(member, written)
            }
            if keys.entries.isEmpty {
                value.reportError(
                    "a test without expectations tests nothing; write \(ConfigurationTest.exampleOfExpect)",
                    .missingKey,
                    advice: ConfigurationTest.exampleOfExpect
                )
            }
            checkAgreement(expected, keys)
            return expected
        }
    }

    private func expectation(_ member: TestMember, _ value: YAMLValue) -> TestValue? {
        let word: String?
        switch member {
        case .outcome: word = value.keyword(of: ConfigurationReader.outcomes, "an outcome that a test can have")
        case .reason:
            let reasons = ConfigurationReader.rejections + ConfigurationReader.failures
            word = value.keyword(of: reasons, "a reason that a test can have")
        case .action: word = value.parsed(.badName) { try ActionName($0).text }
        case .droppedBy: word = value.keyword(of: PluginUse.dropping, "a step that drops messages")
        case .plugin: word = value.keyword(of: PluginUse.keywords, "a plugin")
        case .policy: word = value.keyword(of: NavigationPolicy.allCases.map(\.rawValue), "a policy")
        case .id, .path, .decider: word = value.text()
        case .body, .reply: return reply(value).map(TestValue.json)
        }
        return word.map(TestValue.text)
    }

    /// Reports expectations that cannot be met together.
    private func checkAgreement(_ expected: [TestMember: TestValue], _ keys: YAMLMapping) {
        let outcome = expected[.outcome]?.shown
        let reason = expected[.reason]?.shown
        let implied = reason.map { ConfigurationReader.failures.contains($0) ? "failed" : "rejected" }
        if let outcome, let reason, let implied, outcome != implied {
            keys.optional("reason")?.reportError(
                "the outcome with the reason '\(reason)' is '\(implied)', not '\(outcome)'; correct one of them",
                .conflictingKeys,
                advice: "outcome: \(implied)"
            )
        }
        let ends = outcome ?? implied
        if let ends, ends != "handled", expected[.reply] != nil {
            keys.optional("reply")?.reportError(
                "only a message with the outcome 'handled' has a reply; remove 'reply'",
                .conflictingKeys
            )
        }
        if let ends, ends != "rejected", expected[.path] != nil {
            keys.optional("path")?.reportError(
                "only a rejected message has the path of an error; remove 'path'",
                .conflictingKeys
            )
        }
    }
}
