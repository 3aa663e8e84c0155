import NavigationChain
import Signalbox
import SignalboxCore
import SignalboxRoutes

/// Runs tests of a configuration. Nothing is opened, connected, started or written.
struct TestRun {
    private let explainer: ConfigurationExplainer

    /// - Parameter file: The configuration's path, for error messages.
    init(_ configuration: RunConfiguration, file: String) {
        explainer = ConfigurationExplainer(configuration: configuration, file: file)
    }

    /// - Throws: The error that prevented the configuration from being set up.
    func result(of test: ConfigurationTest) async throws -> TestResult {
        let clock = ContinuousClock()
        let start = clock.now
        let finding: TestFinding
        switch test.subject {
        case .message(let message): finding = try await self.finding(about: message)
        case .link(let link, let source):
            switch try explainer.reading(of: link, from: source).0 {
            case .success(let message): finding = try await self.finding(about: message)
            case .failure(let rejection): finding = TestFinding(ExplanationLine(unmatched: rejection))
            }
        case .navigation(let url, let kind, let frame):
            guard let router = explainer.configuration.navigation else {
                throw CommandFailure(.invalidConfiguration, "\(explainer.file): there is no navigation chain")
            }
            finding = TestFinding(await router.decide(url, kind: kind, frame: frame))
        }
        return TestResult(test: test, finding: finding, duration: clock.now - start)
    }

    /// Follows the message through all stages and, if its plugin has no effects, calls the plugin.
    private func finding(about message: ExplainedMessage) async throws -> TestFinding {
        let line = try explainer.line(about: message)
        var finding = TestFinding(line)
        guard let action = message.action,
            let plugin = explainer.configuration.plugins.first(where: { $0.action == action.name })
        else { return finding }
        finding.values[.plugin] = .text(plugin.use.keyword)
        guard line.isCalled else { return finding }
        let body = line.body(of: action)
        switch plugin.use {
        case .reply, .fail, .map: finding.add(try await explainer.outcome(of: message, from: plugin))
        case .echo where body.kind == .json: finding.add(try await explainer.outcome(of: message, from: plugin))
        case .suspend:
            let detail = "the plugin 'suspend' never returns"
            finding.add(.failed(Outcome.Failure(.timeout, detail: detail)))
        case .chain:
            try await follow(line.chain?.steps ?? [], of: plugin, message, isJSON: body.kind == .json, &finding)
        // These have no reply.
        case .log, .print, .file, .join, .leave, .publish, .echo, .send(_, reply: false): break
        case .filter, .throttle, .aggregate, .sample, .deliver: break
        case .broadcast, .send, .exec, .process, .http: finding.addUnknownReply(of: plugin.use)
        }
        return finding
    }

    /// Calls the steps of a chain that have no effects.
    ///
    /// - Parameters:
    ///   - steps: The steps that the message reaches.
    ///   - isJSON: Whether the message has JSON as its body.
    private func follow(
        _ steps: [ChainExplanation.Step],
        of plugin: PluginSection,
        _ message: ExplainedMessage,
        isJSON: Bool,
        _ finding: inout TestFinding
    ) async throws {
        if case .suspend? = steps.last?.use {
            return finding.add(.failed(Outcome.Failure(.timeout, detail: "the plugin 'suspend' never returns")))
        }
        var effectless = plugin
        let isMade = steps.contains { $0.body != nil }
        let uses = steps.map { $0.use.withoutEffect(isJSON: isJSON || isMade) }
        effectless.use = .chain(uses.compactMap { $0 })
        if !effectless.use.parts.isEmpty {
            finding.add(try await explainer.outcome(of: message, from: effectless))
        }
        guard finding.values[.outcome] == .text("handled"), let last = steps.last else { return }
        if case .drops = last.end {
            return finding.addDrop(by: last.use, "steps[\(steps.count - 1)]", last.detail)
        }
        guard uses.last == .some(nil) else { return }
        switch last.use {
        case .broadcast, .exec, .process, .http, .send(_, reply: true): finding.addUnknownReply(of: last.use)
        default: finding.values[.reply] = .json(.null)
        }
    }
}

/// What came of a message or URL.
struct TestFinding {
    var values: [TestMember: TestValue] = [:]
    /// The stage or handler that decided.
    private(set) var stage: String
    /// Why it decided so.
    private(set) var detail: String

    /// Creates the finding about a message whose plugin has not been called. If the plugin would be called, the message
    /// counts as handled.
    fileprivate init(_ line: ExplanationLine) {
        let decisive = line.steps.first { !$0.passes } ?? line.steps.first { $0.stage == .plugin }
        stage = decisive?.stage.description ?? ExplanationStage.envelope.description
        detail = decisive?.detail ?? line.verdict.detail
        if line.isCalled {
            values = [.outcome: .text("handled"), .reply: .json(.null)]
        } else if line.verdict.code == "held" {
            values[.outcome] = .text("held")
        } else {
            values = [.outcome: .text("rejected"), .reason: .text(line.verdict.code)]
        }
        guard let action = line.action else {
            values[.path] = line.errorPath.map(TestValue.text)
            return
        }
        values[.action] = .text(action.name.text)
        values[.id] = action.senderID.map(TestValue.text)
        values[.body] = TestValue(line.body(of: action))
    }

    fileprivate init(_ verdict: NavigationVerdict) {
        values = [.policy: .text(verdict.policy.rawValue), .decider: .text(verdict.decider)]
        (stage, detail) = (verdict.decider, verdict.reason)
    }

    /// Says that the reply depends on what a test does not call.
    fileprivate mutating func addUnknownReply(of use: PluginUse) {
        values[.reply] = .unknown("the plugin '\(use.keyword)' is not called in a test")
    }

    /// Adds the step of a chain that drops the message.
    fileprivate mutating func addDrop(by use: PluginUse, _ step: String, _ reason: String) {
        values[.droppedBy] = .text(use.keyword)
        (stage, detail) = (step, reason)
    }

    /// Adds what came of the call of a plugin.
    fileprivate mutating func add(_ outcome: Outcome?) {
        guard let outcome else { return }
        values[.outcome] = .text(outcome.name)
        values[.reply] = nil
        switch outcome {
        case .handled(let reply): values[.reply] = reply.map(TestValue.init(json:)) ?? .json(.null)
        case .rejected, .failed, .abandoned:
            values[.reason] = .text(outcome.code)
            (stage, detail) = ("plugin", outcome.text)
        }
    }
}

extension PluginUse {
    /// Returns the step as a test calls it, or `nil` if it has effects.
    ///
    /// - Parameter isJSON: Whether the body is JSON. Other bodies are sent back on a connection.
    fileprivate func withoutEffect(isJSON: Bool) -> PluginUse? {
        switch self {
        case .filter, .map, .throttle, .sample, .reply, .fail: self
        case .echo: isJSON ? self : nil
        case .aggregate(let aggregate):
            // Each test is alone, so no other body comes.
            .aggregate(AggregateSection(count: 1, within: aggregate.within, maximumBytes: aggregate.maximumBytes))
        default: nil
        }
    }
}

extension TestValue {
    /// Creates the value for the body that a plugin receives: JSON, text, or Base64 of other bytes.
    fileprivate init(_ body: RawBody) {
        guard body.kind != .json else {
            self.init(json: body.bytes)
            return
        }
        self = .json(.text(body.bytes.text ?? Base64.encoded(body.bytes)))
    }
}

/// What came of one test.
struct TestResult {
    /// An expectation that was not met.
    struct Difference {
        let member: TestMember
        let expected: TestValue
        /// What was found, or `nil` for nothing.
        let found: TestValue?

        var description: String {
            "\(member.rawValue): expected \(expected.shown), found \(found?.shown ?? "none")"
        }
    }

    let test: ConfigurationTest
    let finding: TestFinding
    /// The expectations that were not met, in the order of ``TestMember``.
    let differences: [Difference]
    /// How long the test took.
    let duration: Duration

    init(test: ConfigurationTest, finding: TestFinding, duration: Duration) {
        (self.test, self.finding, self.duration) = (test, finding, duration)
        differences = TestMember.allCases.compactMap { member in
            guard let expected = test.expected[member], expected != finding.values[member] else { return nil }
            return Difference(member: member, expected: expected, found: finding.values[member])
        }
    }

    var passes: Bool { differences.isEmpty }

    /// The stage that decided, and why.
    var reason: String { finding.detail.isEmpty ? finding.stage : "\(finding.stage): \(finding.detail)" }
}
