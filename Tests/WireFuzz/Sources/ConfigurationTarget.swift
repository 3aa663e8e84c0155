@testable import SignalboxCommand

/// Each finding about a configuration has a place in the text and is one line; a configuration that is refused has one.
enum ConfigurationTarget {
    private static let surroundings = Surroundings(
        variable: { $0 == "SET" ? "value" : nil },
        content: { _ in .failure(FileReadError(description: "no such file")) },
        presence: { _ in .nothing },
        isOpenToOthers: { _ in false }
    )

    static func run(_ input: [UInt8]) {
        let text = String(decoding: input, as: UTF8.self)
        let (configuration, findings) = ConfigurationReader.reviewed(text, surroundings: surroundings)
        require(configuration != nil || findings.contains { $0.severity == .error }, "what is refused has a reason")
        for finding in findings {
            require(finding.line >= 1 && finding.column >= 1, "\(finding) has a place")
            require(!finding.description.contains("\n"), "a finding is one line")
        }
    }
}
